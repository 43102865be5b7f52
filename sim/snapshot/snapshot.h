/// The state that the screen shows at one step: an immutable snapshot of the simulation, published
/// by the worker and read by panels without a lock. Everything here is modelled from the schedule
/// and the device description, with actual values from the numeric executor.
#pragma once

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "reference/head_tensor.h"
#include "reference/inputs.h"
#include "reference/row_softmax.h"
#include "sim/device/gpu_description.h"
#include "sim/observers/occupancy.h"
#include "sim/observers/traffic_counter.h"
#include "sim/observers/warp_counter.h"
#include "sim/schedule/algorithm.h"
#include "sim/simulation.h"

namespace attnscope {

/// Problems with more scores than this have only the values of the displayed row tile and of the
/// followed row (RunInfo::has_tile_values), or none (only geometry, bytes and pseudo-code) if these
/// take too long to compute.
inline constexpr Index kMaxShownScores = Index{1} << 22;

/// The run and the head to step through.
struct SteppedRequest {
  ResolvedRun run;
  GpuDescription gpu;
  std::optional<AttentionInputs> given_inputs;  ///< instead of those drawn by the run
  Index batch = 0, head = 0;                    ///< the head to show
  Index most_scores = kMaxShownScores;
  double memory_share = 1.0;  ///< share of one run's memory limit, if several runs are kept
};

/// A rectangle of values, C order. NaN marks missing values (invalid or never written).
struct ValueTile {
  Index rows = 0;
  Index cols = 0;
  std::vector<double> values;
  double at(Index row, Index col) const {
    return values[static_cast<std::size_t>(row * cols + col)];
  }
};

/// One named slot on chip and its contents at this step.
struct SlotState {
  Tensor tensor = Tensor::Q;
  std::uint8_t slot = 1;
  OnChipSpace space = OnChipSpace::shared;
  Shape capacity;            ///< rows and columns that the slot can hold
  Index capacity_bytes = 0;  ///< at the precision in which the kernel keeps it
  bool valid = false;        ///< contains a tile; otherwise its memory is invalid
  Tile tile;                 ///< the tile, if valid, named by its contents: P in the slot of S
  ValueTile values;          ///< its values, if valid
};

/// A named range of steps [begin, end), for the scrub bar: launches, thread blocks, outer
/// loop iterations.
struct StepSpan {
  Index begin = 0;
  Index end = 0;
  std::string label;  ///< "scores", "i = 2", "j = 0", "rows 8-15"
};

/// First and last step that touch a tile of S or P; -1 if none does.
struct TileLife {
  std::int32_t first = -1;
  std::int32_t last = -1;
};

/// The tensors shown on the screen that have a value for each query and key.
inline constexpr std::array kScoreTensors{Tensor::S, Tensor::P, Tensor::dP, Tensor::dS};

/// One of these tensors, for the displayed head.
struct ScoreMatrix {
  /// [N, N_kv], in double precision: S = softmax_scale Q K^T with soft cap and bias, hidden keys at
  /// -inf; P = softmax S; dP = dO V^T after dropout; dS = P (dP - D), times the cap's slope. Empty
  /// if the pass has none, or if the problem is too large to show values.
  ValueTile values;
  /// The first step after which the pass has its values on chip, C order [groups of rows, Tc]; -1
  /// if it never has. Empty without values.
  std::vector<std::int32_t> first_steps;
  Index group_rows = 1;             ///< rows of a group
  std::int32_t complete_from = -1;  ///< the last of first_steps; -1: the pass never has all values

  /// Whether a row's values of column tile j have been computed or loaded by this step.
  bool is_known(Index step, Index row, Index j, Index Tc) const {
    const auto at = static_cast<std::size_t>(row / group_rows * Tc + j);
    return at < first_steps.size() && first_steps[at] >= 0 && first_steps[at] <= step;
  }
};

/// One HBM tensor of the displayed head and its state at this step.
struct HbmTensorState {
  Tensor tensor = Tensor::Q;
  Shape shape;
  Index bytes = 0;
  bool input = false;         ///< has its values from the start
  bool never_stored = false;  ///< S and P of the flash algorithms: shown as an outline
  Index tile_rows = 0;        ///< rows of a tile along the first axis
  Index tile_cols = 0;  ///< columns of a tile; shape.cols if the tensor has only one column of
                        ///< tiles
  /// For each tile, C order over the tile grid: whether its values have been written. Inputs: all.
  std::vector<std::uint8_t> written;
  /// Atomic adds to each tile so far, and in the whole pass; empty if there are none.
  std::vector<std::int32_t> adds;
  std::vector<std::int32_t> adds_whole;
  Index tile_row_count() const { return ceil_div(shape.rows, tile_rows); }
  Index tile_col_count() const { return ceil_div(shape.cols, tile_cols); }
};

/// The running softmax of the chosen query row, around the last column tile folded into it. A field
/// is empty until its operation has run in that tile.
struct SoftmaxRow {
  bool known = false;  ///< a tile has begun; otherwise the fields below are unset
  Index query = 0;     ///< row of the head
  std::int32_t i = 0;  ///< its row tile
  Index row_in_tile = 0;
  std::int32_t j = -1;  ///< column tile being folded in; -1 before the first; combining: split
  Index keys_seen = 0;  ///< visible keys of the tiles folded in completely
  std::optional<double> m_prev, row_max, m, alpha;
  std::optional<double> beta;  ///< flash1: exp(m~ - m)
  std::optional<double> l_prev, row_sum, l;
  Index O_column = 0;                   ///< the chosen column of O
  std::optional<double> O_prev, PV, O;  ///< that element before, its addend, and the element after
  std::optional<double> undivided;      ///< O before it was divided by l; empty until then
  /// The largest absolute difference, over the row, between O / l (or O if it is kept normalised)
  /// and the reference of the keys folded in so far; empty if nothing has been folded in.
  std::optional<double> error;
};

/// The chosen query row of a backward pass in the last tile in which it was processed. Values not
/// yet computed in that tile are empty; with consumers that share the keys, NaN at the keys of a
/// consumer that has not computed them.
struct GradientRow {
  bool known = false;  ///< a tile has begun; otherwise the fields below are unset
  Index query = 0;     ///< row of the head
  std::int32_t i = 0;  ///< its row tile
  Index row_in_tile = 0;
  std::int32_t j = kAllColumns;  ///< column tile; kAllColumns for work on whole rows
  Index key_begin = 0;           ///< key of the first value of S, P, dP and dS
  std::vector<double> S, P, dP, dS;
  std::vector<double> T;  ///< derivative of the soft cap
  /// The operations that last computed S, P, dP and dS; each computation takes several steps.
  OpKind S_by = OpKind::scores, P_by = OpKind::normalize, dP_by = OpKind::product_transposed;
  OpKind dS_by = OpKind::softmax_gradient;
  std::optional<double> LSE, m, l;
  std::optional<double> D;
  Index column = 0;                            ///< the chosen column of dQ
  std::optional<double> dQ_prev, dQ_part, dQ;  ///< that element before, its addend, and the sum
};

/// The tensors of the operations of a line of pseudo-code, and the agents that execute them.
struct LineOperands {
  TensorSet all;
  TensorSet in_memory;        ///< loaded, stored or added to
  std::vector<Agent> agents;  ///< the first consumer represents all consumers; empty: one sequence
                              ///< of ops
};

/// Agents of a thread block that wait for each other forever, in a deliberately broken run.
struct Deadlock {
  Index step = 0;          ///< the first unreached operation
  std::size_t launch = 0;  ///< index into RunInfo::launches
  Index block = 0;         ///< within the head
  std::vector<StuckAgent> stuck;
};

/// The data that does not change from step to step: shared by all snapshots of one run.
struct RunInfo {
  const ResolvedRun& resolved() const { return totals.run; }
  const AttentionProblem& problem() const { return totals.run.problem; }
  const Tiling& tiling() const { return totals.run.tiling; }
  PassKind pass_kind() const { return totals.run.pass(); }

  const Algorithm* algorithm = nullptr;
  ScheduleOptions options;
  GpuDescription gpu;
  Pass pass;
  std::vector<TileGrid> grids;     ///< of each launch
  std::size_t first_backward = 0;  ///< index of the first launch of the backward pass
  Index step_count = 0;            ///< operations of the displayed head, all launches
  std::vector<StepSpan> launches;  ///< one for each launch
  std::vector<StepSpan> outer;     ///< outer loop: thread blocks, or iterations of flash1's j loop
  std::vector<std::vector<LineOperands>> line_operands;  ///< of each launch, by line
  std::optional<Deadlock> deadlock;                      ///< the first one
  /// Steps at which a new tile step begins (the granularity "tile"), ascending, including 0.
  std::vector<std::int32_t> tile_steps;
  /// Bytes requested by all operations before each of tile_steps.
  std::vector<Index> tile_bytes;
  /// The lifetime of each tile (i, j) of S on the plain grid, C order [Tr, Tc].
  std::vector<TileLife> score_tiles;
  Index Tr = 0;
  Index Tc = 0;
  Index batch = 0, head = 0;                                     ///< the displayed head
  std::array<ScoreMatrix, kScoreTensors.size()> score_matrices;  ///< in the order of kScoreTensors
  const ScoreMatrix& scores(Tensor tensor) const {
    return score_matrices[static_cast<std::size_t>(std::ranges::find(kScoreTensors, tensor) -
                                                   kScoreTensors.begin())];
  }
  bool has_values = false;
  /// Whether the problem is too large for the values of the whole head: then only those of the row
  /// tile under the playhead are computed, without the gradients of keys, which sum over all row
  /// tiles.
  bool has_tile_values = false;
  SimulationReport totals;     ///< whole pass, all heads
  BytesByTensor head_bytes{};  ///< requested, whole pass, this head
  /// With kPaperWarps warps, whole pass, this head; zero for an algorithm without a partition.
  WarpsByPartition head_warps{};
};

struct BreakEffect;  // sim/studies/break_effect.h

/// One step. The state is that after `op` has run; step -1 is before the first operation.
struct Snapshot {
  bool in_backward() const {
    return run && static_cast<std::size_t>(launch) >= run->first_backward;
  }

  std::shared_ptr<const RunInfo> run;
  std::shared_ptr<const BreakEffect> effect;  ///< of a broken run with values
  std::optional<Error> error;                 ///< set instead of a run if the request failed
  std::uint64_t request = 0;                  ///< the request that this snapshot belongs to

  Index step = -1;          ///< the last operation that has run
  TileOp op;                ///< that operation; meaningless at step -1
  TileOp next_op;           ///< the one after it; meaningless at the last step
  int launch = 0;           ///< index of the launch of `op` (of `next_op` at step -1)
  Index block = 0;          ///< thread block within the head
  std::int32_t i = 0;       ///< row tile being worked on
  std::int32_t j = 0;       ///< column tile; kAllColumns if there is none, or all of them
  std::int32_t split = -1;  ///< split of the keys, in launches with splits; else -1
  Index op_bytes = 0;       ///< bytes that `op` moved between HBM and SRAM, else 0
  Index next_op_bytes = 0;

  std::vector<SlotState> slots;  ///< all slots that this launch uses, in order of first use
  std::vector<HbmTensorState> hbm;
  /// The last operation so far that processed the chosen row, whose state is in softmax_row or
  /// gradient_row; -1: none.
  Index row_step = -1;
  SoftmaxRow softmax_row;
  /// The softmaxes of the chosen row; null if there are no values, or the row is longer than
  /// kMaxComparedKeys.
  std::shared_ptr<const SoftmaxMethods> softmax_methods;
  GradientRow gradient_row;          ///< of a launch of the backward pass
  std::vector<std::int32_t> adders;  ///< thread blocks that have added to the row's tile of dQ
  std::int32_t adders_whole = 0;     ///< thread blocks that add to it in the whole pass
  BytesByTensor bytes_so_far{};      ///< requested, this head
  WarpsByPartition op_warps{};       ///< of `op`, as RunInfo::head_warps
  Index matmul_flops_so_far = 0;     ///< this head
  Index other_flops_so_far = 0;
  std::string what;  ///< one sentence: the effect of `op`, with its sizes
  std::string why;   ///< one sentence: the reason for `op`
};

}  // namespace attnscope
