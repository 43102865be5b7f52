/// How the lines of the ledger share its height: the totals always stand, tensors give way.
/// Draws nothing.
#pragma once

#include <cstddef>

namespace attnscope::app {

/// What asks for height, in lines.
struct LedgerLines {
  std::size_t tensors = 0;        ///< rows of tensors
  std::size_t totals = 0;         ///< rows of totals, at the screen's tiles and at the kernel's
  bool has_kernel_title = false;  ///< a line stands over the totals at the kernel's tiles
};

struct LedgerLayout {
  float pitch = 0.0f;            ///< pixels from line to line
  bool two_columns = false;      ///< tensors stand side by side
  std::size_t tensor_lines = 0;  ///< lines that the tensors take
  std::size_t shown = 0;         ///< tensor rows drawn
  std::size_t hidden = 0;        ///< tensor rows left to the line "and n more", which is the last
};

/// One column of tensors, else two, else two with the last rows behind "and n more". `room` is the
/// height in pixels for headings, tensors, totals and the footer; `size` is the font's.
LedgerLayout lay_out_ledger(const LedgerLines& lines, float room, float size);

}  // namespace attnscope::app
