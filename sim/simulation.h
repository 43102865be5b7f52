/// The model of a whole problem: the result of `attnscope-cli simulate`.
#pragma once

#include <atomic>
#include <optional>
#include <string>
#include <vector>

#include "reference/naive_attention.h"
#include "reference/run_spec.h"
#include "reference/tolerance.h"
#include "sim/device/gpu_description.h"
#include "sim/dram/dram_model.h"
#include "sim/observers/traffic_counter.h"
#include "sim/observers/warp_counter.h"
#include "sim/schedule/algorithm.h"
#include "sim/tiling_rules.h"
#include "sim/time_bound.h"
#include "sim/time_prediction.h"

namespace attnscope {

/// One launch, summed over batch and heads.
struct LaunchReport {
  std::string name;
  Bytes paper;
  Bytes requested;
  BytesByTensor by_tensor{};  ///< requested
  Bytes compulsory;           ///< of DRAM: see SimulationReport::compulsory
  Flops flops;
  Index thread_blocks = 0;
};

/// Totals over batch and heads.
struct SimulationReport {
  ResolvedRun run;
  std::string gpu;  ///< name of the description

  Bytes paper;
  Bytes requested;
  BytesByTensor by_tensor{};  ///< requested
  /// DRAM bytes without a model of L2: each launch reads its operands once and writes its results
  /// once, except for tensors in L2. A tensor that fits in L2 is not read if an earlier launch of
  /// the pass, or its initialisation, has touched it, and not written if a later launch reads it.
  /// In reality, part of a larger tensor, and the last lines written, may remain in L2 as well.
  Bytes compulsory;
  /// The result of predict_dram(), if it was called: simulate() does not call it.
  std::optional<DramPrediction> dram = {};
  /// The result of predict_time(), if it was called: simulate() does not call it.
  std::optional<TimePrediction> time = {};

  Index matmul_flops = 0;
  Index non_matmul_flops = 0;  ///< exponentials included
  Index exponentials = 0;      ///< exp, tanh and log: see Flops
  Index tile_ops = 0;

  Index sram_bytes_per_block = 0;      ///< largest of the launches
  Index register_bytes_per_block = 0;  ///< largest of the launches
  bool fits = true;                    ///< see OnChipFit
  std::string overflow_reason;         ///< if it does not fit
  /// On-chip memory if a kernel pads d, else nothing. Traffic counts valid elements only.
  std::optional<PaddedOnChip> padded;
  Index peak_hbm_bytes = 0;  ///< inputs, outputs and workspace

  /// Lower bound of the time (time_bound.h): launch by launch, summed over launches.
  double bound_s = 0;
  GpuUnit bound_by = GpuUnit::tensor_cores;  ///< of the launch with the longest bound

  std::vector<LaunchReport> launches;
};

/// Counts the run, whatever its size, without computing values. does_not_fit for a tiling that does
/// not fit on the chip, unless the run allows it. If another thread sets `cancel`, returns
/// ErrorCode::cancelled within microseconds. too_many if bytes or operations do not fit in 63 bits.
Result<SimulationReport> simulate(const ResolvedRun& run, const GpuDescription& gpu,
                                  const std::atomic<bool>* cancel = nullptr);
/// resolve(), then simulate().
Result<SimulationReport> resolve_and_simulate(const RunSpec& spec, const GpuDescription& gpu,
                                              const std::atomic<bool>* cancel = nullptr);

/// The warps of a whole problem's pass.
struct WarpReport {
  WarpLayout layout;
  WarpTraffic traffic;  ///< totals over thread blocks, batch and heads
};

/// Counts the pass of a run that simulate() accepted; both passes are summed. Nothing for
/// algorithms whose paper does not define a partition of the warps. too_many if the traffic does
/// not fit in 63 bits.
Result<std::optional<WarpReport>> count_warps(const ResolvedRun& run, const GpuDescription& gpu);

/// Options for computing the numbers.
struct NumericOptions {
  BlockOrder order;
};

/// Numbers of a whole problem.
struct NumericResult {
  ForwardResult output;  ///< O [B, H, N, d], LSE [B, H, N, 1]
  ErrorReport O_error;   ///< against the reference
  ErrorReport LSE_error;
  /// The backward pass, if it was requested.
  std::optional<Gradients> gradients;
  ErrorReport dQ_error;
  ErrorReport dK_error;
  ErrorReport dV_error;
};

/// The memory limit of numbers.
inline constexpr double kMaxNumericBytes = 8e9;

/// Rejects a run whose numbers take too much memory, before any work starts.
std::optional<Error> check_numeric_memory(const ResolvedRun& run);

/// Computes the values of every head and compares them with naive_forward(); `inputs` are those of
/// run.problem. Rejects the runs that simulate() rejects, and those whose numbers take too much
/// memory.
Result<NumericResult> simulate_numbers(const ResolvedRun& run, const GpuDescription& gpu,
                                       const AttentionInputs& inputs,
                                       const NumericOptions& options = {});

}  // namespace attnscope
