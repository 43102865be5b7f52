#include "app/documents/accuracy_json.h"

#include <nlohmann/json.hpp>

#include "reference/json/run_json.h"

namespace attnscope {

using nlohmann::ordered_json;

namespace {

ordered_json error_json(const ErrorReport& error) {
  if (error.has_nan) return {{"has_nan", true}};
  return {{"max_abs_error", error.max_abs_error}, {"rel_fro_error", error.rel_fro_error}};
}

ordered_json softmax_json(const SoftmaxComparison& comparison) {
  ordered_json rows = ordered_json::array();
  for (const auto& [method, dtype, softmax] : comparison.cases) {
    rows.push_back({{"method", to_string(method)},
                    {"dtype", to_string(dtype)},
                    {"overflowed_elems", softmax.overflowed_elems},
                    {"nan_elems", softmax.nan_elems}});
    if (is_broken(softmax)) continue;
    rows.back().update({{"l", softmax.l},
                        {"max_abs_error_given_rounded_scores", softmax.max_abs_error},
                        {"max_abs_error_against_unrounded_scores", softmax.score_max_abs_error}});
  }
  return rows;
}

/// The errors of O, and of the gradients when there are any.
ordered_json errors_json(const AccuracyRequest& request, const std::vector<AccuracyCase>& errors) {
  ordered_json rows = ordered_json::array();
  for (const AccuracyCase& entry : errors) {
    const AttentionProblem& problem = entry.run.problem;
    ordered_json& row = rows.emplace_back();
    row["algorithm"] = entry.run.algorithm;
    if (entry.has_carry) row["carry"] = to_string(entry.run.variant.carry);
    row["dtype"] = to_string(problem.dtype);
    row["seq_len"] = problem.N;
    row["O"] = error_json(entry.O);
    if (request.pass == PassKind::forward) continue;
    row["dQ"] = error_json(entry.dQ);
    row["dK"] = error_json(entry.dK);
    row["dV"] = error_json(entry.dV);
  }
  return rows;
}

ordered_json orders_json(const std::vector<OrderCase>& orders) {
  ordered_json rows = ordered_json::array();
  for (const OrderCase& entry : orders) {
    const AttentionProblem& problem = entry.run.problem;
    rows.push_back({{"algorithm", entry.run.algorithm},
                    {"dtype", to_string(problem.dtype)},
                    {"seq_len", problem.N},
                    {"orders", entry.orders},
                    {"dQ_differing_elems", entry.dQ_differing_elems},
                    {"dQ_max_abs_difference", entry.dQ_max_abs_difference},
                    {"rest_is_identical", entry.rest_is_identical}});
  }
  return rows;
}

}  // namespace

bool is_broken(const RowSoftmax& softmax) {
  return softmax.nan_elems > 0 || softmax.overflowed_elems > 0;
}

std::string_view carry_note(const AccuracyReport& report) {
  for (const AccuracyCase& entry : report.errors) {
    const auto note =
        rounded_output_note(entry.run.algorithm, entry.run.variant.carry, entry.run.problem.dtype);
    if (!note.empty()) return note;
  }
  return "";
}

ordered_json accuracy_json(const AccuracyRequest& request, const AccuracyReport& report) {
  const auto& [query, keys, largest_score, cases] = report.softmax;
  ordered_json document = {
      {"schema", "attnscope.accuracy/1"},
      {"kind", "modelled"},
      {"head_dim", request.problem.d},
      {"mask", to_string(request.problem.mask)},
      {"inputs", to_string(request.inputs.kind)},
      {"seed", request.inputs.seed},
      {"tiling", tiling_to_json(request.tiling)},
      {"row",
       {{"inputs", "outlier"}, {"query", query}, {"keys", keys}, {"largest_score", largest_score}}},
      {"softmax", softmax_json(report.softmax)},
      {"errors", errors_json(request, report.errors)}};
  const std::string_view note = carry_note(report);
  if (!note.empty()) document["carry_note"] = note;
  document["orders"] = orders_json(report.orders);
  return document;
}

}  // namespace attnscope
