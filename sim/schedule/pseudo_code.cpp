#include "sim/schedule/pseudo_code.h"

#include <algorithm>

#include "reference/check.h"

namespace attnscope {

void replace_line(PseudoCode& lines, std::string_view from, std::string_view to,
                  std::string_view why) {
  const auto line = std::ranges::find(lines, from, &PseudoLine::text);
  ATTNSCOPE_CHECK(line - lines.begin(), <, std::ssize(lines));
  line->text = to;
  line->why = why;
}

}  // namespace attnscope
