/// The pseudo-code of a broken run: which part of a line does not run, and what runs instead.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "app/panels/parts/snapshot_view.h"
#include "sim/schedule/breaks.h"

namespace attnscope::app {

/// A line of pseudo-code as it is drawn. In a broken run, the characters from `begin` up to
/// `struck_end` are struck out, and those up to `end` run instead:
/// "P = exp(S); [alpha = exp(m_prev - m_i)] alpha = 1".
struct ShownLine {
  std::string text;
  std::size_t begin = 0, struck_end = 0, end = 0;
  bool broken = false;  ///< true even if nothing is struck out: no characters show the operation
  bool operator==(const ShownLine&) const = default;
};

/// The lines of a launch of the pass; `operations` comes from operations_of().
std::vector<ShownLine> shown_lines(const Pass& pass, std::size_t launch,
                                   std::span<const PassOperation> operations,
                                   const RunBreak& broken);

/// Keeps the lines of the displayed launch until the run, the launch or `hides_break` changes.
class BrokenCode {
 public:
  std::span<const ShownLine> lines(const Snapshot& snapshot, bool hides_break);

 private:
  RunOfWork run_;
  std::size_t launch_ = 0;
  bool hides_break_ = false;
  std::vector<ShownLine> lines_;
};

}  // namespace attnscope::app
