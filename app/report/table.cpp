#include "app/report/table.h"

#include <fmt/core.h>

#include <algorithm>

#include "reference/message_text.h"

namespace attnscope {
namespace {

std::string scaled(double value, std::string_view unit) {
  const auto [number, prefix] = with_si_prefix(value, 999.95);
  return fmt::format("{:.4g} {}{}", number, prefix, unit);
}

}  // namespace

std::string bytes_text(double bytes) {
  return scaled(bytes, "B");
}
std::string flops_text(double flops) {
  return scaled(flops, "FLOP");
}

std::string seconds_text(double seconds) {
  if (seconds >= 1.0) return fmt::format("{:.4g} s", seconds);
  if (seconds >= 1e-3) return fmt::format("{:.4g} ms", seconds * 1e3);
  return fmt::format("{:.4g} us", seconds * 1e6);
}

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

}  // namespace attnscope
