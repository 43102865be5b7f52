/// The model of a whole problem: what `attnscope-cli simulate` answers.
#pragma once

#include <atomic>
#include <optional>
#include <string>
#include <vector>

#include "reference/attention_problem.h"
#include "reference/inputs.h"
#include "reference/naive_attention.h"
#include "reference/result.h"
#include "reference/tolerance.h"
#include "sim/device/gpu_description.h"
#include "sim/observers/traffic_counter.h"
#include "sim/on_chip_fit.h"
#include "sim/schedule/algorithm.h"
#include "sim/schedule/run_pass.h"
#include "sim/time_bound.h"

namespace attnscope {

/// What is asked.
struct SimulationRequest {
  AttentionProblem problem;
  std::string algorithm = "flash2";
  PassKind pass = PassKind::forward;
  std::optional<Tiling> tiling;  ///< nothing: default_tiling()
  Carry carry = Carry::problem;
  Index output_rows = 0;  ///< standard: rows of O that a thread block of P V makes; 0: Br
  ScheduleVariant variant;
  GpuDescription gpu;
  bool allow_overflow = false;  ///< count a tiling that does not fit on chip
  bool skip_unused_kv = false;  ///< see ScheduleOptions
  Index splits = 0;             ///< split_kv: parts of the keys; 0: what fills the SMs
};

/// One launch, summed over batch and heads.
struct LaunchReport {
  std::string name;
  Bytes paper;
  Bytes requested;
  BytesByTensor by_tensor{};  ///< requested
  Bytes dram;                 ///< compulsory: see SimulationReport::dram
  Flops flops;
  Index thread_blocks = 0;
};

/// Totals over batch and heads.
struct SimulationReport {
  AttentionProblem problem;
  std::string algorithm;
  PassKind pass = PassKind::forward;
  Tiling tiling;
  Carry carry = Carry::problem;
  Index output_rows = 0;        ///< standard: of P V's tile; 0: Br
  bool skip_unused_kv = false;  ///< see ScheduleOptions
  ScheduleVariant variant;
  Index splits = 1;  ///< split_kv: parts of the keys
  /// Query heads whose rows share a tile: more than 1 where the groups were packed
  /// (packed_groups.h).
  Index query_heads_per_tile = 1;
  std::string gpu;

  Bytes paper;
  Bytes requested;
  BytesByTensor by_tensor{};  ///< requested
  /// Compulsory bytes: each launch reads its operands once and writes its results once, but not
  /// what L2 holds: a tensor that fits in it whole is not read when an earlier launch of the pass,
  /// or what set its initial value, touched it, and not written when a later one reads it. No cache
  /// model: of a larger tensor a part may stay, and so may the last lines written.
  Bytes dram;

  Index matmul_flops = 0;
  Index non_matmul_flops = 0;  ///< exponentials included
  Index exponentials = 0;      ///< exp, tanh and log: see Flops
  Index tile_ops = 0;

  Index sram_bytes_per_block = 0;      ///< largest of the launches
  Index register_bytes_per_block = 0;  ///< largest of the launches
  bool fits = true;                    ///< see OnChipFit
  std::string overflow_reason;         ///< when it does not fit
  /// On-chip memory where a kernel pads d; nothing when it does not. Traffic is valid elements
  /// only.
  std::optional<PaddedOnChip> padded;
  Index peak_hbm_bytes = 0;  ///< inputs, outputs and workspace

  /// Lower bound of the time (time_bound.h): launch by launch, summed over launches.
  double bound_s = 0;
  GpuUnit bound_by = GpuUnit::tensor_cores;  ///< of the launch with the longest bound

  std::vector<LaunchReport> launches;
};

/// Most tiles of scores that a problem may be cut into, over all different key lengths.
inline constexpr Index kMaxTilePairs = Index{1} << 30;

/// The schedule's choices that follow from the problem and the device.
ScheduleOptions schedule_options(const AttentionProblem& problem, Carry carry,
                                 const GpuDescription& gpu);
/// The same, with those of the request, for the tiling that it settled on.
ScheduleOptions schedule_options(const SimulationRequest& request, const Tiling& tiling);

/// The request's tiling, else that of its block mask, else the default one. invalid_request for a
/// problem that cannot be computed, an unknown algorithm, a tiling that does not suit the problem.
Result<Tiling> settle_tiling(const SimulationRequest& request);

/// Counts without numbers, at any size. invalid_request for a problem that cannot be computed, an
/// unknown algorithm, or a tiling that does not fit on chip without allow_overflow. `cancel` set to
/// true by another thread gives Error failed "cancelled" within microseconds.
Result<SimulationReport> simulate(const SimulationRequest& request,
                                  const std::atomic<bool>* cancel = nullptr);

/// The largest square tiling, a multiple of 16, whose slots fit a thread block's shared memory and
/// an SM's registers. Nothing when not even 16 x 16 fits.
std::optional<Tiling> largest_tiling(const Algorithm& algorithm, const AttentionProblem& problem,
                                     Carry carry, const GpuDescription& gpu,
                                     PassKind pass = PassKind::forward,
                                     const ScheduleVariant& variant = {});

/// The paper's rule where the algorithm has one (flash1) and its tiles fit, else largest_tiling().
std::optional<Tiling> default_tiling(const Algorithm& algorithm, const AttentionProblem& problem,
                                     Carry carry, const GpuDescription& gpu,
                                     PassKind pass = PassKind::forward,
                                     const ScheduleVariant& variant = {});

/// How the numbers are computed.
struct NumericOptions {
  bool round_to_storage = false;   ///< round where a kernel rounds: stores and matrix operands
  bool fp32_accumulators = false;  ///< round accumulators to fp32 after every operation
  BlockOrder order;
};

/// Numbers of a whole problem.
struct NumericResult {
  ForwardResult output;  ///< O [B, H, N, d], LSE [B, H, N, 1]
  ErrorReport O_error;   ///< against the reference
  ErrorReport LSE_error;
  /// Of the backward pass, when it was asked for.
  std::optional<Gradients> gradients;
  ErrorReport dQ_error;
  ErrorReport dK_error;
  ErrorReport dV_error;
};

/// Most memory that numbers may take.
inline constexpr double kMaxNumericBytes = 8e9;

/// Refuses a problem whose numbers take too much memory: known before any work starts. A request
/// without a tiling means one that fits on chip.
std::optional<Error> check_numeric_memory(const SimulationRequest& request);

/// Runs the numbers of every head and compares them with naive_forward(). Refuses what
/// simulate() refuses, and problems whose numbers take too much memory.
Result<NumericResult> simulate_numbers(const SimulationRequest& request,
                                       const AttentionInputs& inputs,
                                       const NumericOptions& options);

}  // namespace attnscope
