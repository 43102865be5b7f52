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

/// Parses the value of --over: "KEY" or "KEY=V1,V2,...".
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

/// The order of the lower bound and the leading term: "N^2 d^2/M", "12 N^2 d^2/M".
std::pair<std::string, std::string> term_words(const IoQuestion& question) {
  const std::string order = question.axis == IoAxis::density ? "N^2 d^2 s/M" : "N^2 d^2/M";
  return {order, (question.pass == PassKind::forward ? "12 " : "20 ") + order};
}

/// Notes that explain the columns of the leading term and of N^2 d^2 / M.
std::vector<Footnote> footnotes(const IoQuestion& question, bool in_range) {
  const auto [order, leading] = term_words(question);
  const bool forward = question.pass == PassKind::forward;
  const bool sparse = question.axis == IoAxis::density;
  const std::string states = sparse ? "Proposition 4" : (forward ? "Theorem 2" : "Theorem 5");
  return {
      {"counted, standard: from the schedules; formula: every term of the closed form; M in "
       "elements"},
      {fmt::format("{}: the leading term of the formula; its factor comes from Bc = M/4d; {} "
                   "states\nonly the order, Theta({})",
                   leading, states, sparse ? "N d + " + order : order)},
      {order +
       (sparse ? ": the order of the dense lower bound times the density s, for d^2 <= M <= N d; "
                 "for\ncomparison, not a proven bound"
               : ": the order of the lower bound for d^2 <= M <= N d (Saha and Ye, arXiv "
                 "2402.07443); its\nconstant is open; Proposition 3 excludes only o(N^2 d^2/M) for "
                 "all M in [d, N d] at once")},
      {sparse || forward ? "" : "That bound is stated for the forward pass alone"},
      {in_range ? "" : "outside d <= M <= N d; the theorems make no claim there", "", "*"}};
}

Table points_table(const IoQuestion& question, const std::vector<IoPoint>& points) {
  const bool sparse = question.axis == IoAxis::density;
  const auto [order, leading] = term_words(question);
  Table table{.key = "points",
              .columns = {{"value", std::string(to_string(question.axis))},
                          {"algorithm", ""},
                          {"tiling.Br", ""},
                          {"tiling.Bc", ""},
                          {"sram_elems", "M", Unit::count},
                          {"", "Br x Bc", Unit::count},
                          {"density", ""},
                          {"in_range", ""},
                          {"counted_bytes", "counted", Unit::bytes},
                          {"formula_bytes", "formula", Unit::bytes},
                          {"leading_term_bytes", leading, Unit::bytes},
                          {"", order, Unit::bytes},
                          {"", "inputs, outputs", Unit::bytes},
                          {"standard_bytes", "standard", Unit::bytes},
                          {"compulsory_bytes", ""},
                          {"lower_bound_order_bytes", ""}}};
  for (const IoPoint& point : points) {
    const Tiling& tiling = point.counted.run.tiling;
    const bool drawn = sparse && point.density != point.value;
    const std::string leading_text = bytes_text(point.leading_term_bytes);
    const auto& lower_bound = point.lower_bound_order_bytes;
    table.rows.push_back(
        {Cell(point.value, drawn ? fmt::format("{} ({:.4g} drawn)", point.value, point.density)
                                 : fmt::format("{}", point.value)),
         point.counted.run.algorithm(), tiling.Br, tiling.Bc, point.sram_elems,
         Cell::only_text(fmt::format("{} x {}", tiling.Br, tiling.Bc)), point.density,
         point.in_range, point.counted.requested.total(), point.formula_bytes,
         Cell(point.leading_term_bytes, leading_text + (point.in_range ? "" : " *")),
         lower_bound ? Cell(lower_bound) : Cell::only_text("-"), point.compulsory_bytes,
         point.standard_bytes, point.compulsory_bytes, lower_bound});
  }
  return table;
}

Study io_study(const IoQuestion& question, const std::vector<IoPoint>& points) {
  const bool sparse = question.axis == IoAxis::density;
  return Study{
      .title = fmt::format(
          "{} {}, {}, on {}; {} varies\n"
          "modelled; tiles by the paper's rule Bc = ceil(M/4d), Br = min(Bc, d){}",
          sparse ? "block_sparse" : "flash1", to_string(question.pass),
          problem_words(question.problem), question.gpu.display_name, to_string(question.axis),
          sparse && !points.empty() ? ";\n" + density_sram_words(points.front()) : ""),
      .facts = {{"schema", "attnscope.io/1"},
                {"kind", "modelled"},
                {"problem", problem_to_json(question.problem)},
                {"pass", to_string(question.pass)},
                {"gpu", question.gpu.name},
                {"axis", to_string(question.axis)}},
      .tables = {points_table(question, points)},
      .footnotes = footnotes(question, std::ranges::all_of(points, &IoPoint::in_range))};
}

/// Calls io_curve() for one value at a time, because drawing a large block mask takes seconds.
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

Result<Study> count_io(const GivenOptions& given) {
  IoQuestion question;
  ATTNSCOPE_TRY(question.pass,
                read_choice(given, "pass", parse_one_pass,
                            "forward or backward: the theorems are about one pass", question.pass));
  ATTNSCOPE_TRY(const auto spec, parse_run(given, {.problem = usual_io_problem()}));
  ATTNSCOPE_TRY(question.gpu, gpu_of(spec));
  question.problem = spec.problem;
  if (auto error = read_axis(given.text("over").value_or("seq-len"), question)) return *error;

  ATTNSCOPE_TRY(const auto points, count_points(question));
  return io_study(question, points);
}

}  // namespace

CommandSpec io_command() {
  // The tiling follows from M; the theorems have no mask
  const auto fields = field_options(
      {"batch", "heads", "seq_len", "kv_len", "head_dim", "dtype", "pass", "gpu", "sram_bytes"},
      {.problem = usual_io_problem()});
  return answering(
      {.name = "io",
       .summary = "Compares counted bytes with the theorems over N, d, M, block size or density.",
       .options = joined({{{"over", "KEY[=V1,V2,...]",
                            "seq-len, head-dim, sram-bytes, block-cols or density, and its "
                            "values [seq-len]"}},
                          with_help(fields, {{"pass", "", "forward or backward [forward]"}})})},
      count_io);
}

}  // namespace attnscope::cli
