#include "app/cli/table.h"

#include <fmt/core.h>

#include <algorithm>

#include "app/report/number_text.h"
#include "reference/one_line.h"

namespace attnscope::cli {

std::string table_text(const Lines& lines, std::size_t left_columns) {
  // A cell may hold a file's text: a line break in it would forge a line
  Lines cells;
  std::vector<std::size_t> widths;
  for (const auto& line : lines) {
    auto& shown = cells.emplace_back();
    widths.resize(std::max(widths.size(), line.size()));
    for (std::size_t c = 0; c < line.size(); ++c) {
      shown.push_back(one_line(line[c]));
      widths[c] = std::max(widths[c], shown[c].size());
    }
  }

  std::string text;
  for (const auto& line : cells) {
    std::string row;
    for (std::size_t c = 0; c < line.size(); ++c) {
      row += c == 0 ? "" : "  ";
      row += c < left_columns ? fmt::format("{:<{}}", line[c], widths[c])
                              : fmt::format("{:>{}}", line[c], widths[c]);
    }
    row.erase(row.find_last_not_of(' ') + 1);
    text += row + "\n";
  }
  return text;
}

std::string bytes_cell(Index count) {
  return bytes_text(static_cast<double>(count));
}

std::string flops_cell(Index count) {
  return flops_text(static_cast<double>(count));
}

}  // namespace attnscope::cli
