/// Pseudo-code that one algorithm has from another, but for some lines.
#pragma once

#include <vector>

#include "sim/schedule/algorithm.h"

namespace attnscope {

using PseudoCode = std::vector<PseudoLine>;

inline PseudoCode copy_of(std::span<const PseudoLine> lines) {
  return {lines.begin(), lines.end()};
}

/// Rewrites the line with the text `from`, which has to be there.
void replace_line(PseudoCode& lines, std::string_view from, std::string_view to,
                  std::string_view why);

}  // namespace attnscope
