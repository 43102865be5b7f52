/// attnscope-cli io: the papers' IO theorems beside the counts.

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "app/cli/commands.h"
#include "app/cli/outputs.h"
#include "app/cli/progress.h"
#include "app/cli/run_options.h"
#include "app/report/report_text.h"
#include "reference/json/run_json.h"
#include "reference/message_text.h"
#include "reference/parse_number.h"
#include "sim/resolve.h"
#include "sim/studies/io_theorems.h"

namespace attnscope::cli {

namespace {

constexpr std::size_t kMaxValues = 1000;

/// "KEY" or "KEY=V1,V2,...".
std::optional<Error> read_axis(const std::string& text, IoQuestion& question) {
  const std::size_t equals = text.find('=');
  const auto axis = parse_name<IoAxis>(text.substr(0, equals));
  if (!axis) {
    const std::vector<std::string> known = {"seq-len", "head-dim", "sram-bytes", "block-cols",
                                            "density"};
    return invalid_request(unknown_name_message("axis of --over", text.substr(0, equals), known));
  }
  question.axis = *axis;
  question.values = usual_values(*axis);
  if (equals == std::string::npos) return std::nullopt;

  question.values.clear();
  for (const std::string& word : split(std::string_view(text).substr(equals + 1))) {
    const std::optional<double> value = parse_number<double>(word);
    if (!value) {
      return invalid_request("--over {} has '{}', which is not a number", to_string(*axis),
                             printable(word));
    }
    question.values.push_back(*value);
  }
  if (question.values.size() <= kMaxValues) return std::nullopt;
  return invalid_request("--over accepts at most {} values", kMaxValues);
}

/// Explains the columns of the leading term and of N^2 d^2 / M.
std::string footnotes(const IoQuestion& question, const std::string& leading,
                      const std::string& order) {
  const bool forward = question.pass == PassKind::forward;
  const bool sparse = question.axis == IoAxis::density;
  std::string text = fmt::format(
      "counted, standard: from the schedules; formula: every term of the closed form; M in "
      "elements\n"
      "{}: the leading term of the formula; its factor comes from Bc = M/4d; {} states\n"
      "only the order, Theta({})\n",
      leading, sparse ? "Proposition 4" : (forward ? "Theorem 2" : "Theorem 5"),
      sparse ? "N d + " + order : order);
  if (sparse) {
    return text + order +
           ": the order of the dense lower bound times the density s, for d^2 <= M <= N d; for\n"
           "comparison, not a proven bound\n";
  }
  text +=
      order +
      ": the order of the lower bound for d^2 <= M <= N d (Saha and Ye, arXiv 2402.07443); its\n"
      "constant is open; Proposition 3 excludes only o(N^2 d^2/M) for all M in [d, N d] at once\n";
  if (!forward) text += "That bound is stated for the forward pass alone\n";
  return text;
}

Answer io_answer(const IoQuestion& question, const std::vector<IoPoint>& points) {
  const bool sparse = question.axis == IoAxis::density;
  const std::string order = sparse ? "N^2 d^2 s/M" : "N^2 d^2/M";
  const std::string leading = (question.pass == PassKind::forward ? "12 " : "20 ") + order;
  Lines lines = {{std::string(to_string(question.axis)), "M", "Br x Bc", "counted", "formula",
                  leading, order, "inputs, outputs", "standard"}};
  ordered_json rows = ordered_json::array();
  for (const IoPoint& point : points) {
    const Tiling& tiling = point.counted.run.tiling;
    const Index counted_bytes = point.counted.requested.total();
    const bool drawn = sparse && point.density != point.value;
    lines.push_back(
        {drawn ? fmt::format("{} ({:.4g} drawn)", point.value, point.density)
               : fmt::format("{}", point.value),
         std::to_string(point.sram_elems), fmt::format("{} x {}", tiling.Br, tiling.Bc),
         bytes_text(counted_bytes), bytes_text(point.formula_bytes),
         bytes_text(point.leading_term_bytes) + (point.in_range ? "" : " *"),
         point.lower_bound_order_bytes ? bytes_text(*point.lower_bound_order_bytes) : "-",
         bytes_text(point.compulsory_bytes), bytes_text(point.standard_bytes)});
    rows.push_back({{"value", point.value},
                    {"algorithm", point.counted.run.algorithm()},
                    {"tiling", tiling_to_json(tiling)},
                    {"sram_elems", point.sram_elems},
                    {"density", point.density},
                    {"in_range", point.in_range},
                    {"counted_bytes", counted_bytes},
                    {"formula_bytes", point.formula_bytes},
                    {"leading_term_bytes", point.leading_term_bytes},
                    {"standard_bytes", point.standard_bytes},
                    {"compulsory_bytes", point.compulsory_bytes}});
    if (point.lower_bound_order_bytes) {
      rows.back()["lower_bound_order_bytes"] = *point.lower_bound_order_bytes;
    }
  }
  const ordered_json document = {{"schema", "attnscope.io/1"},
                                 {"kind", "modelled"},
                                 {"problem", problem_to_json(question.problem)},
                                 {"pass", to_string(question.pass)},
                                 {"gpu", question.gpu.name},
                                 {"axis", to_string(question.axis)},
                                 {"points", rows}};
  const std::string text = fmt::format(
      "{} {}, {}, on {}; {} varies\n"
      "modelled; tiles by the paper's rule Bc = ceil(M/4d), Br = min(Bc, d){}\n\n{}\n{}{}",
      sparse ? "block_sparse" : "flash1", to_string(question.pass), problem_words(question.problem),
      question.gpu.display_name, to_string(question.axis),
      sparse && !points.empty() ? ";\n" + density_sram_words(points.front()) : "",
      table_text(lines), footnotes(question, leading, order),
      std::ranges::all_of(points, &IoPoint::in_range)
          ? ""
          : "*: outside d <= M <= N d, where the theorems make no claim\n");
  return {json_text(document), csv_text(rows), text};
}

/// io_curve(), one value at a time: drawing a large block mask takes seconds.
Result<std::vector<IoPoint>> count_points(const IoQuestion& question) {
  std::vector<IoPoint> points;
  IoQuestion one = question;
  for (const double value : question.values) {
    show_progress(fmt::format("[{}/{}] {}={}", points.size() + 1, question.values.size(),
                              to_string(question.axis), value));
    one.values = {value};
    ATTNSCOPE_TRY(auto counted, io_curve(one));
    points.push_back(std::move(counted.front()));
  }
  return points;
}

Result<Answer> answer_io(const GivenOptions& given) {
  IoQuestion question;
  ATTNSCOPE_TRY(question.pass,
                read_choice(given, "pass", parse_one_pass,
                            "forward or backward: the theorems are about one pass", question.pass));
  ATTNSCOPE_TRY(const auto spec, parse_run(given, {.problem = usual_io_problem()}));
  ATTNSCOPE_TRY(question.gpu, gpu_of(spec));
  question.problem = spec.problem;
  if (auto error = read_axis(given.text("over").value_or("seq-len"), question)) return *error;

  ATTNSCOPE_TRY(const auto points, count_points(question));
  return io_answer(question, points);
}

}  // namespace

CommandSpec io_command() {
  // The tiling follows from M; the theorems have no mask
  const auto fields = field_options(
      {"batch", "heads", "seq_len", "kv_len", "head_dim", "dtype", "pass", "gpu", "sram_bytes"},
      {.problem = usual_io_problem()});
  return answering(
      {.name = "io",
       .summary = "Bytes against N, d, M, block size or density: theorems and counts.",
       .options = joined({{{"over", "KEY[=V1,V2,...]",
                            "seq-len, head-dim, sram-bytes, block-cols or density, and its "
                            "values [seq-len]"}},
                          with_help(fields, {{"pass", "", "forward or backward [forward]"}})})},
      answer_io);
}

}  // namespace attnscope::cli
