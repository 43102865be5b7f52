/// A deliberate error in a run, to show what depends on it: an operation of the schedule is
/// dropped, or a row statistic is replaced by a number.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "reference/tiling.h"

namespace attnscope {

/// One execution of an operation.
struct Occurrence {
  Index block = 0;  ///< the thread block, within the head
  Index time = 0;   ///< 0: its first execution in the block, counted agent by agent
  bool operator==(const Occurrence&) const = default;
};

/// Operations of one launch, selected by their line of pseudo-code, by their kind, or by both.
/// Names are checked where the schedule is known: check_break() in sim/schedule/breaks.h.
struct DroppedOp {
  std::string launch;              ///< "forward"
  Index line = 0;                  ///< of the launch's pseudo-code, from 1; 0: any line
  std::string kind;                ///< "rescale"; empty: every operation of the line
  std::string tensor;              ///< tensor that it writes, "O"; empty if `kind` is empty
  std::optional<Occurrence> only;  ///< unset: whenever it would run
  bool operator==(const DroppedOp&) const = default;
};

/// A row statistic that is fixed at this value on chip, whatever is computed or loaded.
struct ReplacedOperand {
  std::string tensor;  ///< "alpha"
  Index value = 0;     ///< 0 or 1
  bool operator==(const ReplacedOperand&) const = default;
};

/// At most one of the two members is set.
struct RunBreak {
  DroppedOp dropped;         ///< none if its launch is ""
  ReplacedOperand replaced;  ///< none if its tensor is ""

  bool drops() const { return !dropped.launch.empty(); }
  bool replaces() const { return !replaced.tensor.empty(); }
  bool any() const { return drops() || replaces(); }
  bool operator==(const RunBreak&) const = default;
};

/// "drop:forward:rescale:O", "drop:forward:14", "drop:softmax:5:load:S", each but the second with
/// "@BLOCK.TIME" if it is dropped once; "alpha=1"; "" if nothing is broken.
std::string to_string(const RunBreak& broken);

/// The inverse of to_string(); nothing for any other text.
std::optional<RunBreak> parse_run_break(std::string_view text);

}  // namespace attnscope
