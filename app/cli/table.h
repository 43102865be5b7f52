/// Plain text for people: aligned columns.
#pragma once

#include <string>
#include <vector>

namespace attnscope::cli {

/// Lines of cells in aligned columns; the first line is the header. Control characters in a cell
/// become '?'. `left_columns` columns, from
/// the left, are aligned left, the others right.
std::string table_text(const std::vector<std::vector<std::string>>& lines,
                       std::size_t left_columns = 1);

}  // namespace attnscope::cli
