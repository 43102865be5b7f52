#include "app/documents/study_json.h"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "app/documents/simulation_json.h"
#include "app/report/comparison_report.h"
#include "app/report/report_text.h"
#include "reference/json/run_json.h"

namespace attnscope {

using nlohmann::ordered_json;

namespace {

ordered_json cell_json(const Cell& cell) {
  return std::visit(
      [](const auto& value) -> ordered_json {
        using T = std::decay_t<decltype(value)>;
        if constexpr (std::same_as<T, std::monostate>)
          return nullptr;
        else if constexpr (std::same_as<T, Cell::Document>)
          return *value;
        else if constexpr (std::same_as<T, Cell::List>)
          return rows_json(*value);
        else
          return value;
      },
      cell.value());
}

/// Stores the value under its key, whose parts (joined by dots) name nested members.
void store(ordered_json& row, std::string_view key, ordered_json value) {
  ordered_json* place = &row;
  for (auto dot = key.find('.'); dot != key.npos; dot = key.find('.')) {
    place = &(*place)[std::string(key.substr(0, dot))];
    key.remove_prefix(dot + 1);
  }
  (*place)[std::string(key)] = std::move(value);
}

ordered_json row_json(const Table& table, const std::vector<Cell>& cells) {
  ordered_json row = ordered_json::object();
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    const std::string& key = table.columns[c].key;
    if (!cells[c].has_value()) continue;
    if (!key.empty()) {
      store(row, key, cell_json(cells[c]));
    } else if (std::holds_alternative<Cell::Document>(cells[c].value())) {
      row.update(cell_json(cells[c]));
    }
  }
  return row;
}

/// The CSV lines of a row.
ordered_json lines_json(const Table& table, const std::vector<Cell>& cells) {
  const ordered_json row = row_json(table, cells);
  ordered_json lines = ordered_json::array();
  for (const Cell& cell : cells) {
    if (table.csv != Table::Csv::listed_rows) break;
    const auto* const list = std::get_if<Cell::List>(&cell.value());
    if (list == nullptr) continue;
    for (const ordered_json& inner : rows_json(**list)) {
      lines.push_back(row);
      lines.back().update(inner);
    }
  }
  if (lines.empty()) lines.push_back(row);
  return lines;
}

}  // namespace

ordered_json rows_json(const Table& table) {
  ordered_json rows = ordered_json::array();
  for (const auto& cells : table.rows) rows.push_back(row_json(table, cells));
  return rows;
}

ordered_json study_json(const Study& study) {
  ordered_json document = ordered_json::object();
  for (const auto& [key, fact] : study.facts) document[key] = cell_json(fact);
  for (const Footnote& note : study.footnotes) {
    if (!note.key.empty() && !note.text.empty()) document[note.key] = note.text;
  }
  for (const Table& table : study.tables) {
    if (!table.key.empty()) document[table.key] = rows_json(table);
  }
  return document;
}

ordered_json csv_rows(const Study& study) {
  const auto is_in = [](const Table& table) {
    return table.csv != Table::Csv::none && !table.key.empty();
  };
  const bool is_named = std::ranges::count_if(study.tables, is_in) > 1;
  ordered_json rows = ordered_json::array();
  for (const Table& table : study.tables) {
    if (!is_in(table)) continue;
    for (const auto& cells : table.rows) {
      for (const ordered_json& line : lines_json(table, cells)) {
        ordered_json& row = rows.emplace_back(ordered_json::object());
        if (is_named) row["table"] = table.key;
        row.update(line);
      }
    }
  }
  return rows;
}

namespace {

Table softmax_table(const SoftmaxComparison& comparison) {
  Table table{
      .key = "softmax",
      .title = fmt::format("one row, every operation rounded (query {} of the outlier inputs, {} "
                           "keys, largest score {:.4g})",
                           comparison.query, comparison.keys, comparison.largest_score),
      .columns = {
          {"method", "softmax"},
          {"dtype", "type"},
          {"", "l", Unit::error},
          {"overflowed_elems", "numerators that overflow", Unit::count},
          {"nan_elems", "NaN", Unit::count},
          {"l", ""},
          {"max_abs_error_given_rounded_scores", "error of P (rounded scores)", Unit::error},
          {"max_abs_error_against_unrounded_scores", "error of P (unrounded scores)",
           Unit::error}}};
  for (const auto& [method, dtype, softmax] : comparison.cases) {
    const bool broken = softmax.nan_elems > 0 || softmax.overflowed_elems > 0;
    const auto unless_broken = [&](double error) {
      return broken ? Cell::only_text("overflow") : Cell(error);
    };
    table.rows.push_back({to_string(method), to_string(dtype), softmax.l, softmax.overflowed_elems,
                          softmax.nan_elems, unless_broken(softmax.l),
                          unless_broken(softmax.max_abs_error),
                          unless_broken(softmax.score_max_abs_error)});
  }
  return table;
}

/// The errors of O, and of the gradients if there are any.
Table errors_table(const AccuracyRequest& request, const std::vector<AccuracyCase>& errors) {
  Table table{.key = "errors",
              .title = fmt::format("relative error against the reference ({} inputs)",
                                   to_string(request.inputs.kind)),
              .columns = {{"algorithm", "algorithm"},
                          {"carry", "O in HBM"},
                          {"dtype", "type"},
                          {"seq_len", "N", Unit::count}}};
  std::vector<std::pair<std::string, ErrorReport AccuracyCase::*>> tensors = {
      {"O", &AccuracyCase::O}};
  if (request.pass != PassKind::forward) {
    tensors.insert(
        tensors.end(),
        {{"dQ", &AccuracyCase::dQ}, {"dK", &AccuracyCase::dK}, {"dV", &AccuracyCase::dV}});
  }
  for (const auto& [name, error] : tensors) {
    table.columns.insert(table.columns.end(), {{name + ".has_nan", ""},
                                               {name + ".max_abs_error", ""},
                                               {name + ".rel_fro_error", name, Unit::error}});
  }
  for (const AccuracyCase& entry : errors) {
    std::vector<Cell>& row = table.rows.emplace_back();
    row = {entry.run.algorithm,
           entry.has_carry ? Cell(to_string(entry.run.variant.carry)) : Cell::only_text("-"),
           to_string(entry.run.problem.dtype), entry.run.problem.N};
    for (const auto& [name, tensor] : tensors) {
      const ErrorReport& error = entry.*tensor;
      row.push_back(error.has_nan ? Cell(true) : Cell());
      row.push_back(error.has_nan ? Cell() : Cell(error.max_abs_error));
      row.push_back(error.has_nan ? Cell::only_text("NaN") : Cell(error.rel_fro_error));
    }
  }
  return table;
}

Table orders_table(const std::vector<OrderCase>& orders) {
  Table table{.key = "orders",
              .title = "other orders of the thread blocks, compared with the ascending one",
              .columns = {{"algorithm", "algorithm"},
                          {"dtype", "type"},
                          {"seq_len", "N", Unit::count},
                          {"orders", "orders", Unit::count},
                          {"dQ_differing_elems", "elements of dQ that differ", Unit::count},
                          {"dQ_max_abs_difference", "largest difference", Unit::error},
                          {"rest_is_identical", "O, LSE, dK, dV"}}};
  for (const OrderCase& entry : orders) {
    table.rows.push_back(
        {entry.run.algorithm, to_string(entry.run.problem.dtype), entry.run.problem.N, entry.orders,
         entry.dQ_differing_elems, entry.dQ_max_abs_difference,
         Cell(entry.rest_is_identical, entry.rest_is_identical ? "identical" : "DIFFERENT")});
  }
  return table;
}

/// The note for the first case that rounds O in every pass; empty if none does.
std::string note_of(const AccuracyReport& report) {
  for (const AccuracyCase& entry : report.errors) {
    const auto note =
        rounded_output_note(entry.run.algorithm, entry.run.variant.carry, entry.run.problem.dtype);
    if (!note.empty()) return std::string(note);
  }
  return "";
}

}  // namespace

Study accuracy_study(const AccuracyRequest& request, const AccuracyReport& report) {
  const auto& [query, keys, largest_score, cases] = report.softmax;
  const nlohmann::ordered_json row = {
      {"inputs", "outlier"}, {"query", query}, {"keys", keys}, {"largest_score", largest_score}};
  return {
      .title = fmt::format("modelled: values are rounded where a kernel rounds them; d {}, mask "
                           "{}, {}x{} tiles",
                           request.problem.d, to_string(request.problem.mask), request.tiling.Br,
                           request.tiling.Bc),
      .facts = {{"schema", "attnscope.accuracy/1"},
                {"kind", "modelled"},
                {"head_dim", request.problem.d},
                {"mask", to_string(request.problem.mask)},
                {"inputs", to_string(request.inputs.kind)},
                {"seed", request.inputs.seed},
                {"tiling", tiling_to_json(request.tiling)},
                {"row", row}},
      .tables = {softmax_table(report.softmax), errors_table(request, report.errors),
                 orders_table(report.orders)},
      .footnotes = {{note_of(report), "carry_note", "\"problem\""}}};
}

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
