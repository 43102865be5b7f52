#include <fmt/core.h>

#include "app/panels/ledger_panel.h"

namespace attnscope::app {

namespace {

/// A field of a CSV file: in quotes where it has a comma ("l, m read").
std::string csv_field(std::string_view text) {
  return text.find(',') == std::string_view::npos ? std::string(text) : fmt::format("\"{}\"", text);
}

}  // namespace

std::string ledger_csv(const Ledger& ledger) {
  std::string csv =
      fmt::format("quantity,unit,modelled,whole_pass,formula,{}\n", csv_field(ledger.seen_heading));
  const auto add = [&](const LedgerRow& row, std::string_view of) {
    const std::string modelled =
        row.modelled ? fmt::format("{:.9g},{:.9g}", *row.modelled, row.whole) : ",";
    csv += fmt::format("{},{},{},{},{}\n", csv_field(row.label + std::string(of)), row.unit,
                       modelled, row.formula ? fmt::format("{:.0f}", *row.formula) : "",
                       row.seen.value ? fmt::format("{:.9g}", *row.seen.value)
                                      : (row.seen.about.empty() ? "" : "unavailable"));
  };
  for (const LedgerRow& row : ledger.tensors) add(row, "");
  for (const LedgerRow& row : ledger.totals) add(row, "");
  for (const LedgerRow& row : ledger.apart) add(row, " " + ledger.apart_of);
  return csv;
}

}  // namespace attnscope::app
