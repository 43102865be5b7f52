/// The effect of a run's break on one head: the first operation with a different result, the first
/// wrong tile in HBM, the spread of the error, and the error of the result; or the reason why
/// nothing changes.
///
/// Errors are differences from the correct run: the same run without its break, whose operations
/// are executed beside those of the broken one. A difference counts if it exceeds rounding. In a
/// program of agents, a lost wait or arrive also changes the order of operations, so each agent's
/// operations are compared with its own in the correct run.
#pragma once

#include <atomic>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/snapshot/stepped_run.h"
#include "sim/studies/deviation.h"

namespace attnscope {

/// One operation of the head's run.
struct OpPlace {
  Index step = 0;          ///< as SteppedRun counts them, from 0
  std::size_t launch = 0;  ///< index into BreakEffect::pass
  Index block = 0;         ///< thread block within the head
  TileOp op;
};

/// Why an execution of the broken operation changes no result.
enum class NoChange : std::uint8_t {
  never_runs,       ///< the run has no such operation at that place
  first_iteration,  ///< it rescales zeros
  times_one,        ///< it multiplies by 1
  adds_zero,        ///< its addend is 0
  hides_nothing,    ///< the mask changes nothing
  same_value,       ///< its result equals the previous value
  masked,           ///< the mask replaces values that depend on it
  times_zero,       ///< values that depend on it are multiplied by 0
  cancelled,        ///< its effect is divided out again
  never_read,       ///< nothing reads its result
  was_complete,     ///< it would not have waited
  never_awaited,    ///< no agent waits for the arrival
};
constexpr std::array<std::string_view, 12> enum_names(NoChange) {
  return {"never_runs",    "first_iteration", "times_one",    "adds_zero",
          "hides_nothing", "same_value",      "masked",       "times_zero",
          "cancelled",     "never_read",      "was_complete", "never_awaited"};
}
/// The reason as a sentence.
std::string_view sentence_of(NoChange reason);

struct BreakEffect {
  Pass pass;                    ///< of the head; its launches name the steps
  std::vector<TileGrid> grids;  ///< of each launch
  Index step_count = 0;
  Index skipped_count = 0;               ///< dropped executions
  std::optional<OpPlace> first_skipped;  ///< unset if an operand is replaced

  /// The first operation that runs and leaves a wrong tile, or the first dropped store that leaves
  /// one in HBM.
  std::optional<OpPlace> first_difference;
  /// The first store or atomic add, executed or dropped, that leaves a wrong tile in HBM.
  std::optional<OpPlace> first_wrong_store;
  std::optional<Deadlock> deadlock;  ///< the first one; operations that it stops are not reached
  /// Every change of a tile's deviation, by step.
  std::vector<TileDeviation> spread;
  std::vector<ResultDeviation> results;  ///< O, LSE and the gradients that the pass stores

  bool changes_result() const;
  /// If the result is right: the reasons, and how many executions each explains; a replaced operand
  /// has one.
  std::vector<std::pair<NoChange, Index>> reasons;
};

/// Executes the head with and without its break, as a SteppedRun does. The run must have a break.
/// invalid_request if there are too many scores to show; errors of simulate(); ErrorCode::cancelled
/// if `cancel` is set.
Result<BreakEffect> break_effect(const SteppedRequest& request,
                                 const std::atomic<bool>* cancel = nullptr);

/// The largest deviation of each of the tensor's [rows, cols] tiles after `step`, in C order: in
/// HBM, or on chip at any time until then.
std::vector<Deviation> deviations_at(const BreakEffect& effect, Tensor tensor, bool in_hbm,
                                     Index rows, Index cols, Index step);

}  // namespace attnscope
