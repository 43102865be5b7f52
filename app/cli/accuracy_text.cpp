#include "app/cli/accuracy_text.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "app/report/table.h"
#include "reference/json/run_json.h"

namespace attnscope::cli {

using nlohmann::ordered_json;

namespace {

bool has_gradients(const AccuracyRequest& request) {
  return request.pass != PassKind::forward;
}

/// The outputs of a case by name: O, and the gradients when there are any.
std::vector<std::pair<std::string, const ErrorReport*>> outputs_of(const AccuracyRequest& request,
                                                                   const AccuracyCase& entry) {
  std::vector<std::pair<std::string, const ErrorReport*>> outputs = {{"O", &entry.O}};
  if (has_gradients(request)) {
    outputs.insert(outputs.end(), {{"dQ", &entry.dQ}, {"dK", &entry.dK}, {"dV", &entry.dV}});
  }
  return outputs;
}

ordered_json error_json(const ErrorReport& error) {
  if (error.has_nan) return {{"has_nan", true}};
  return {{"max_abs_error", error.max_abs_error}, {"rel_fro_error", error.rel_fro_error}};
}

ordered_json softmax_json(const SoftmaxCase& entry) {
  const RowSoftmax& softmax = entry.softmax;
  ordered_json row = {{"method", to_string(entry.method)},
                      {"dtype", to_string(entry.dtype)},
                      {"overflowed_elems", softmax.overflowed_elems},
                      {"nan_elems", softmax.nan_elems}};
  if (softmax.overflowed_elems == 0 && softmax.nan_elems == 0) {
    row["l"] = softmax.l;
    row["max_abs_error_given_rounded_scores"] = softmax.max_abs_error;
    row["max_abs_error_against_unrounded_scores"] = softmax.score_max_abs_error;
  }
  return row;
}

std::string carry_text(const AccuracyCase& entry) {
  return entry.has_carry ? std::string(to_string(entry.run.variant.carry)) : "-";
}

std::string number_text(double value) {
  return fmt::format("{:.3g}", value);
}

std::string softmax_table(const SoftmaxComparison& comparison) {
  Lines lines = {{"softmax", "type", "l", "numerators that overflow", "NaN",
                  "error of P, given the rounded scores", "of the unrounded"}};
  for (const SoftmaxCase& entry : comparison.cases) {
    const RowSoftmax& softmax = entry.softmax;
    const bool broken = softmax.nan_elems > 0 || softmax.overflowed_elems > 0;
    lines.push_back({std::string(to_string(entry.method)), std::string(to_string(entry.dtype)),
                     number_text(softmax.l), std::to_string(softmax.overflowed_elems),
                     std::to_string(softmax.nan_elems),
                     broken ? "overflow" : number_text(softmax.max_abs_error),
                     broken ? "overflow" : number_text(softmax.score_max_abs_error)});
  }
  return table_text(lines, 2);
}

std::string errors_table(const AccuracyRequest& request, const std::vector<AccuracyCase>& errors) {
  Lines lines = {{"algorithm", "O in HBM", "type", "N", "O"}};
  if (has_gradients(request)) lines[0].insert(lines[0].end(), {"dQ", "dK", "dV"});
  for (const AccuracyCase& entry : errors) {
    std::vector<std::string> line = {entry.run.algorithm, carry_text(entry),
                                     std::string(to_string(entry.run.problem.dtype)),
                                     std::to_string(entry.run.problem.N)};
    for (const auto& [name, error] : outputs_of(request, entry)) {
      line.push_back(error->has_nan ? "NaN" : number_text(error->rel_fro_error));
    }
    lines.push_back(std::move(line));
  }
  return table_text(lines, 3);
}

std::string orders_table(const std::vector<OrderCase>& orders) {
  Lines lines = {{"algorithm", "type", "N", "orders", "elements of dQ that differ",
                  "largest difference", "O, LSE, dK, dV"}};
  for (const OrderCase& entry : orders) {
    lines.push_back({entry.run.algorithm, std::string(to_string(entry.run.problem.dtype)),
                     std::to_string(entry.run.problem.N), std::to_string(entry.orders),
                     std::to_string(entry.dQ_differing_elems),
                     number_text(entry.dQ_max_abs_difference),
                     entry.rest_is_identical ? "identical" : "DIFFERENT"});
  }
  return table_text(lines, 2);
}

/// Of the first case that rounds O in every pass; empty where none does.
std::string_view note_of(const AccuracyReport& report) {
  for (const AccuracyCase& entry : report.errors) {
    const auto note =
        rounded_output_note(entry.run.algorithm, entry.run.variant.carry, entry.run.problem.dtype);
    if (!note.empty()) return note;
  }
  return "";
}

}  // namespace

ordered_json accuracy_json(const AccuracyRequest& request, const AccuracyReport& report) {
  ordered_json document = {{"schema", "attnscope.accuracy/1"},
                           {"kind", "modelled"},
                           {"head_dim", request.problem.d},
                           {"mask", to_string(request.problem.mask)},
                           {"inputs", to_string(request.inputs.kind)},
                           {"seed", request.inputs.seed},
                           {"tiling", tiling_to_json(request.tiling)}};
  document["row"] = {{"inputs", "outlier"},
                     {"query", report.softmax.query},
                     {"keys", report.softmax.keys},
                     {"largest_score", report.softmax.largest_score}};
  document["softmax"] = ordered_json::array();
  for (const SoftmaxCase& entry : report.softmax.cases) {
    document["softmax"].push_back(softmax_json(entry));
  }
  document["errors"] = ordered_json::array();
  for (const AccuracyCase& entry : report.errors) {
    ordered_json row = {{"algorithm", entry.run.algorithm}};
    if (entry.has_carry) row["carry"] = to_string(entry.run.variant.carry);
    row["dtype"] = to_string(entry.run.problem.dtype);
    row["seq_len"] = entry.run.problem.N;
    for (const auto& [name, error] : outputs_of(request, entry)) row[name] = error_json(*error);
    document["errors"].push_back(std::move(row));
  }
  if (const auto note = note_of(report); !note.empty()) document["carry_note"] = note;
  document["orders"] = ordered_json::array();
  for (const OrderCase& entry : report.orders) {
    document["orders"].push_back({{"algorithm", entry.run.algorithm},
                                  {"dtype", to_string(entry.run.problem.dtype)},
                                  {"seq_len", entry.run.problem.N},
                                  {"orders", entry.orders},
                                  {"dQ_differing_elems", entry.dQ_differing_elems},
                                  {"dQ_max_abs_difference", entry.dQ_max_abs_difference},
                                  {"rest_is_identical", entry.rest_is_identical}});
  }
  return document;
}

std::vector<ordered_json> accuracy_rows(const ordered_json& document) {
  std::vector<ordered_json> rows;
  for (const char* table : {"softmax", "errors", "orders"}) {
    for (const ordered_json& entry : document.at(table)) {
      ordered_json row = {{"table", table}};
      row.update(entry);
      rows.push_back(std::move(row));
    }
  }
  return rows;
}

std::string accuracy_text(const AccuracyRequest& request, const AccuracyReport& report) {
  const SoftmaxComparison& softmax = report.softmax;
  std::string text = fmt::format(
      "modelled: values are rounded where a kernel rounds them; d {}, mask {}, {}x{} tiles\n\n",
      request.problem.d, to_string(request.problem.mask), request.tiling.Br, request.tiling.Bc);
  text += fmt::format(
      "one row, every operation rounded (query {} of the outlier inputs, {} keys, largest score "
      "{:.4g})\n{}\n",
      softmax.query, softmax.keys, softmax.largest_score, softmax_table(softmax));
  text += fmt::format("relative error against the reference ({} inputs)\n{}\n",
                      to_string(request.inputs.kind), errors_table(request, report.errors));
  if (const auto note = note_of(report); !note.empty()) {
    text += fmt::format("\"problem\": {}\n\n", note);
  }
  text += "other orders of the thread blocks, against the ascending one\n";
  return text + orders_table(report.orders);
}

}  // namespace attnscope::cli
