/// Plain text for people: aligned columns, and quantities as their cells.
#pragma once

#include <string>
#include <vector>

#include "reference/attention_problem.h"

namespace attnscope::cli {

/// Lines of cells; the first one is the header.
using Lines = std::vector<std::vector<std::string>>;

/// The lines in aligned columns. Control characters in a cell become '?'. `left_columns` columns,
/// from the left, are aligned left, the others right.
std::string table_text(const Lines& lines, std::size_t left_columns = 1);

/// "17.31 GB" and "68.72 GFLOP" of counts.
std::string bytes_cell(Index count);
std::string flops_cell(Index count);

}  // namespace attnscope::cli
