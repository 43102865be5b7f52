/// Plain text: numbers with their units, four digits each, and aligned columns.
#pragma once

#include <string>
#include <vector>

#include "reference/attention_problem.h"

namespace attnscope {

/// "17.31 GB": traffic, tensors and HBM, in powers of 1000 (on-chip memory and L2: capacity_text).
std::string bytes_text(double bytes);
inline std::string bytes_text(Index bytes) {
  return bytes_text(static_cast<double>(bytes));
}
/// "68.72 GFLOP".
std::string flops_text(double flops);
inline std::string flops_text(Index flops) {
  return flops_text(static_cast<double>(flops));
}
/// "12.34 us".
std::string seconds_text(double seconds);

/// Lines of cells; the first one is the header.
using Lines = std::vector<std::vector<std::string>>;

/// The lines in aligned columns. Control characters in a cell become '?'. `left_columns` columns,
/// from the left, are aligned left, the others right.
std::string table_text(const Lines& lines, std::size_t left_columns = 1);

}  // namespace attnscope
