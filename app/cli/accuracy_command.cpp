/// attnscope-cli accuracy: why the softmax is online, and how accurate each algorithm is.
#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "app/cli/commands.h"
#include "app/cli/outputs.h"
#include "app/cli/progress.h"
#include "app/cli/run_options.h"
#include "app/documents/accuracy_json.h"
#include "app/report/report_text.h"
#include "sim/accuracy.h"
#include "sim/resolve.h"

namespace attnscope::cli {

namespace {

constexpr std::string_view kDefaultLengths = "128,512,1024";
constexpr std::string_view kDefaultTypes = "fp16,bf16";
constexpr std::string_view kDefaultCarries = "fp32";

RunSpec default_run() {
  return {.pass = PassKind::backward, .Br = 64, .Bc = 64};
}

Result<AccuracyRequest> parse_accuracy(GivenOptions given) {
  AccuracyRequest request;
  const std::string lengths = given.take("seq-len").value_or(std::string(kDefaultLengths));
  const std::string types = given.take("dtype").value_or(std::string(kDefaultTypes));
  const std::string carries = given.take("carry").value_or(std::string(kDefaultCarries));
  ATTNSCOPE_TRY(request.pass, read_choice(given, "pass", parse_one_pass,
                                          "forward, or backward, which has the error of O as well",
                                          request.pass));
  ATTNSCOPE_TRY(const auto spec, parse_run(given, default_run()));
  ATTNSCOPE_TRY(const auto by_length, parse_list("seq_len", lengths, spec));
  for (const RunSpec& each : by_length) request.lengths.push_back(each.problem.N);
  ATTNSCOPE_TRY(const auto by_type, parse_list("dtype", types, spec));
  for (const RunSpec& each : by_type) request.dtypes.push_back(each.problem.dtype);
  ATTNSCOPE_TRY(const auto by_carry, parse_list("carry", carries, spec));
  request.carries.clear();
  for (const RunSpec& each : by_carry) request.carries.push_back(each.variant.carry);
  ATTNSCOPE_TRY(request.gpu, gpu_of(spec));

  constexpr Index kMaxOrders = 1000;
  ATTNSCOPE_TRY(request.orders, read_whole(given, "orders", 2, kMaxOrders, request.orders));
  request.problem = spec.problem;
  request.inputs = spec.inputs;
  request.tiling = spec.tiling().value();
  return request;
}

std::string number_text(double value) {
  return fmt::format("{:.3g}", value);
}

Lines softmax_lines(const SoftmaxComparison& comparison) {
  Lines lines = {{"softmax", "type", "l", "numerators that overflow", "NaN",
                  "error of P (rounded scores)", "error of P (unrounded scores)"}};
  for (const auto& [method, dtype, softmax] : comparison.cases) {
    const bool broken = is_broken(softmax);
    lines.push_back({std::string(to_string(method)), std::string(to_string(dtype)),
                     number_text(softmax.l), std::to_string(softmax.overflowed_elems),
                     std::to_string(softmax.nan_elems),
                     broken ? "overflow" : number_text(softmax.max_abs_error),
                     broken ? "overflow" : number_text(softmax.score_max_abs_error)});
  }
  return lines;
}

/// The errors of O, and of the gradients when there are any.
Lines error_lines(const AccuracyRequest& request, const std::vector<AccuracyCase>& errors) {
  Lines lines = {{"algorithm", "O in HBM", "type", "N", "O"}};
  const bool has_gradients = request.pass != PassKind::forward;
  if (has_gradients) lines[0].insert(lines[0].end(), {"dQ", "dK", "dV"});
  for (const AccuracyCase& entry : errors) {
    const AttentionProblem& problem = entry.run.problem;
    std::vector<std::string>& line = lines.emplace_back();
    line = {entry.run.algorithm,
            entry.has_carry ? std::string(to_string(entry.run.variant.carry)) : "-",
            std::string(to_string(problem.dtype)), std::to_string(problem.N)};
    for (const ErrorReport* error : {&entry.O, &entry.dQ, &entry.dK, &entry.dV}) {
      if (error != &entry.O && !has_gradients) break;
      line.push_back(error->has_nan ? "NaN" : number_text(error->rel_fro_error));
    }
  }
  return lines;
}

Lines order_lines(const std::vector<OrderCase>& orders) {
  Lines lines = {{"algorithm", "type", "N", "orders", "elements of dQ that differ",
                  "largest difference", "O, LSE, dK, dV"}};
  for (const OrderCase& entry : orders) {
    const AttentionProblem& problem = entry.run.problem;
    lines.push_back({entry.run.algorithm, std::string(to_string(problem.dtype)),
                     std::to_string(problem.N), std::to_string(entry.orders),
                     std::to_string(entry.dQ_differing_elems),
                     number_text(entry.dQ_max_abs_difference),
                     entry.rest_is_identical ? "identical" : "DIFFERENT"});
  }
  return lines;
}

/// A line of CSV for each row of the document, "table" its first column.
ordered_json accuracy_rows(const ordered_json& document) {
  ordered_json rows = ordered_json::array();
  for (const char* table : {"softmax", "errors", "orders"}) {
    for (const ordered_json& entry : document.at(table)) {
      rows.push_back({{"table", table}});
      rows.back().update(entry);
    }
  }
  return rows;
}

/// The document, and the same as CSV and text.
Answer accuracy_answer(const AccuracyRequest& request, const AccuracyReport& report) {
  const std::string_view note = carry_note(report);
  const auto& [query, keys, largest_score, cases] = report.softmax;
  const ordered_json document = accuracy_json(request, report);
  const std::string text = fmt::format(
      "modelled: values are rounded where a kernel rounds them; d {}, mask {}, {}x{} tiles\n\n"
      "one row, every operation rounded (query {} of the outlier inputs, {} keys, largest score "
      "{:.4g})\n{}\n"
      "relative error against the reference ({} inputs)\n{}\n{}"
      "other orders of the thread blocks, against the ascending one\n{}",
      request.problem.d, to_string(request.problem.mask), request.tiling.Br, request.tiling.Bc,
      query, keys, largest_score, table_text(softmax_lines(report.softmax), 2),
      to_string(request.inputs.kind), table_text(error_lines(request, report.errors), 3),
      note.empty() ? "" : fmt::format("\"problem\": {}\n\n", note),
      table_text(order_lines(report.orders), 2));
  return {json_text(document), csv_text(accuracy_rows(document)), text};
}

Result<Answer> answer_accuracy(const GivenOptions& given) {
  ATTNSCOPE_TRY(const auto request, parse_accuracy(given));
  ATTNSCOPE_TRY(const auto report, compare_accuracy(request, show_progress));
  return accuracy_answer(request, report);
}

}  // namespace

CommandSpec accuracy_command() {
  const auto fields = with_help(
      field_options({"seq_len", "dtype", "pass", "heads", "head_dim", "mask", "inputs", "seed",
                     "Br", "Bc", "carry"},
                    default_run()),
      {{"seq-len", "N1,N2,...", fmt::format("queries and keys [{}]", kDefaultLengths)},
       {"dtype", "T1,T2,...", fmt::format("list of fp32, fp16, bf16 [{}]", kDefaultTypes)},
       {"carry", "C1,C2",
        fmt::format("list of fp32, problem: precision of flash1's O in HBM [{}]", kDefaultCarries)},
       {"pass", "", "forward: only O; or backward [backward]"}});
  return answering(
      {.name = "accuracy",
       .summary = "Why the softmax is online, and how accurate each algorithm is.",
       .options =
           joined({fields, {{"orders", "R", "orders of the thread blocks, at least 2 [4]"}}})},
      answer_accuracy);
}

}  // namespace attnscope::cli
