#include "app/documents/compared_runs.h"

#include <nlohmann/json.hpp>

#include "app/documents/simulation_json.h"
#include "app/report/comparison_report.h"
#include "app/report/report_text.h"

namespace attnscope {

Table compared_runs(const std::vector<Comparison>& comparisons) {
  Table table{.key = "runs",
              .columns = {{"", ""}, {"unavailable", ""}, {"no_gap", ""}, {"lines", ""}},
              .csv = Table::Csv::listed_rows};
  const auto unless_empty = [](const std::string& text) { return text.empty() ? Cell() : text; };
  for (const Comparison& comparison : comparisons) {
    Table lines = comparison_table(comparison, "recorded");
    const std::string reason = lines.title.empty() ? "" : "\n  " + lines.title;
    lines.title = run_title(comparison.run) + reason;
    lines.indent = "  ";
    table.rows.push_back({run_identity(comparison.run.run), unless_empty(comparison.unavailable),
                          unless_empty(comparison.stands_alone), lines});
  }
  return table;
}

}  // namespace attnscope
