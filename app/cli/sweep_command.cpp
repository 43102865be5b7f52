/// attnscope-cli sweep --over KEY=V1,V2 [--over ...] -- simulate|measure ...

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "app/cli/commands.h"
#include "app/cli/option_files.h"
#include "app/cli/outputs.h"
#include "app/cli/progress.h"
#include "app/cli/run_options.h"
#include "app/cli/sweep_axes.h"
#include "app/documents/study_json.h"
#include "app/report/interruption.h"
#include "app/report/table.h"
#include "reference/message_text.h"

namespace attnscope::cli {

namespace {

/// One point's options, ready for the swept command.
struct PlannedPoint {
  SweepPoint point;
  GivenOptions given;
};

struct Sweep {
  bool is_model = true;  ///< true: simulate is swept; false: measure
  CommandSpec swept;
  MeasuringSession session;  ///< shared by all measurements
};

/// An error if the swept command rejects the options. A point is one row, and therefore one pass.
std::optional<Error> check_point(Sweep& sweep, const GivenOptions& given) {
  if (sweep.is_model) return check_simulate_options(given);
  if (given.text("pass") != "both") return check_measure_options(given, sweep.session);
  return invalid_request(
      "--pass is both, but a point of a sweep is one pass; use --over pass=forward,backward");
}

/// A point's result as JSON, or why there is none.
struct PointResult {
  Result<ordered_json> row;
  std::optional<Error> unsaved;  ///< why a file of the swept command could not be written
};

PointResult point_result(Sweep& sweep, const GivenOptions& given) {
  if (sweep.is_model) {
    const auto answer = simulate_once(given);
    if (!answer) return {answer.error(), std::nullopt};
    return {simulation_json(answer.value()), answer.value().unsaved};
  }
  const auto measured = measure_once(given, sweep.session);
  if (!measured) return {measured.error(), std::nullopt};
  const auto& [recording, not_added] = measured.value();
  if (recording.rows.empty()) return {*not_added, not_added};
  if (const auto& error = recording.rows.front().error) return {*error, not_added};
  ordered_json row = ordered_json::parse(recording_text(recording)).at("rows").at(0);
  row["device"] = recording.device.name;
  return {std::move(row), not_added};
}

/// Parses every point; rejects invalid ones before the first one runs.
Result<std::vector<PlannedPoint>> plan(Sweep& sweep, const std::vector<SweepPoint>& points,
                                       const std::vector<std::string>& words) {
  const std::vector<CommandSpec> commands = {simulate_command(), measure_command()};
  std::vector<PlannedPoint> planned;
  for (const SweepPoint& point : points) {
    std::vector<std::string> arguments = words;
    for (const auto& [key, value] : point) arguments.push_back(option_text(key, value));
    ATTNSCOPE_TRY(const auto given, parse_arguments(sweep.swept, commands, arguments));
    for (const char* option : {"json", "csv"}) {
      if (given.has(option)) {
        return invalid_request("--{} belongs before the --: a sweep writes one file", option);
      }
    }
    if (sweep.is_model && given.has("out") && points.size() > 1) {
      return invalid_request(
          "--out names one folder, where each point would replace the files of the previous one; "
          "run simulate without sweep to write files");
    }
    if (auto error = check_point(sweep, given)) return *error;
    planned.push_back({point, given});
  }
  return planned;
}

std::string point_text(const SweepPoint& point) {
  std::string text;
  for (const auto& [key, value] : point)
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", key, value);
  return text;
}

/// The JSON key for an error of this kind.
std::string key_of(const Error& error) {
  if (error.kind == Error::Kind::invalid_request) return "refused";
  return error.kind == Error::Kind::failed ? "failed" : "unavailable";
}

/// The error with its kind: "refused: ...", "failed: ...", "unavailable: ...".
std::string reason_text(const Error& error) {
  return fmt::format("{}: {}", key_of(error), words(error, Reader::command_line));
}

const std::vector<Column> kModelledColumns = {{"", "requested read", Unit::bytes},
                                              {"", "written", Unit::bytes},
                                              {"", "matrix products", Unit::flops},
                                              {"", "lower bound", Unit::seconds},
                                              {"", "bound by"}};
const std::vector<Column> kMeasuredColumns = {{"", "time, median", Unit::seconds},
                                              {"", "requested read", Unit::bytes},
                                              {"", "written", Unit::bytes}};

/// The row's cells in kModelledColumns.
std::vector<Cell> modelled_cells(const ordered_json& row) {
  const ordered_json& requested = row.at("traffic").at("requested");
  return {requested.at("read_bytes").get<double>(), requested.at("write_bytes").get<double>(),
          row.at("flops").at("matmul").get<double>(), row.at("time").at("bound_s").get<double>(),
          row.at("time").at("bound_by").get<std::string>()};
}

/// The row's cells in kMeasuredColumns.
std::vector<Cell> measured_cells(const ordered_json& row) {
  std::vector<Cell> cells = {row.at("time").at("median_s").get<double>()};
  const ordered_json counters = row.value("counters", ordered_json::object());
  for (const auto name : {counter::kRequestedReadBytes, counter::kRequestedWriteBytes}) {
    const auto value = counters.find(std::string(name));
    cells.push_back(value == counters.end() ? Cell::only_text("unavailable")
                                            : Cell(value->get<double>()));
  }
  return cells;
}

/// The table before any points. In JSON and CSV, a row contains its point and the whole document of
/// its result, or why there is none; in text, the point's values and the main results.
Table sweep_table(const std::vector<SweepAxis>& axes, bool is_model) {
  Table table{.key = "points", .columns = {{"point", ""}}};
  for (const SweepAxis& axis : axes) {
    for (const std::string& key : axis.keys) table.columns.push_back({"", key});
  }
  table.columns.push_back({"", ""});
  const std::vector<Column>& results = is_model ? kModelledColumns : kMeasuredColumns;
  table.columns.insert(table.columns.end(), results.begin(), results.end());
  table.columns.push_back({"", "no result"});
  return table;
}

std::vector<Cell> sweep_row(const Table& table, bool is_model, const SweepPoint& point,
                            const Result<ordered_json>& result) {
  ordered_json keys = ordered_json::object();
  for (const auto& [key, value] : point) keys[key] = value;
  std::vector<Cell> cells = {keys};
  for (const auto& [key, value] : point) cells.push_back(value);
  if (!result) {
    const Error& error = result.error();
    cells.push_back(ordered_json{{key_of(error), words(error, Reader::command_line)}});
    cells.resize(table.columns.size() - 1);
    cells.push_back(reason_text(error));
    return cells;
  }
  cells.push_back(result.value());
  const std::vector<Cell> numbers =
      is_model ? modelled_cells(result.value()) : measured_cells(result.value());
  cells.insert(cells.end(), numbers.begin(), numbers.end());
  cells.emplace_back();
  return cells;
}

/// The rows of a sweep, all of them unless one could not be saved.
struct SweptRows {
  Table table;
  std::vector<std::optional<Error>> errors = {};  ///< the error of each row, if any
  std::optional<Error> unsaved = {};
};

/// The outputs of a sweep: `files` are written row by row, `streams` at the end.
struct SweepOutputs {
  OutputFiles files, streams;
};

SweepOutputs split_outputs(const OutputFiles& outputs) {
  SweepOutputs split;
  for (const auto name : {&OutputFiles::json, &OutputFiles::csv}) {
    const std::string& path = outputs.*name;
    (is_stream(path) ? split.streams : split.files).*name = path;
  }
  return split;
}

/// The line about the saved rows that a signal prints; without a recording, also how to resume.
std::string saved_rows_text(std::size_t done, const std::vector<PlannedPoint>& planned,
                            const SweepOutputs& outputs, bool is_model) {
  const auto& [files, streams] = outputs;
  const std::string count = fmt::format("{} of the {} points", done, planned.size());
  if (files.json.empty() && files.csv.empty()) {
    const std::string& stream = streams.json.empty() ? streams.csv : streams.json;
    if (stream.empty()) {
      return fmt::format("{} were finished; --json FILE saves each point as it is finished", count);
    }
    return fmt::format(
        "{} were finished; {} is written at the end; a regular file receives each point as it is "
        "finished",
        count, stream == "-" ? "standard output" : stream);
  }
  const char* both = files.json.empty() || files.csv.empty() ? "" : " and ";
  std::string where = fmt::format("{} are in {}{}{}", count, files.json, both, files.csv);
  const bool is_recorded = !is_model && planned.front().given.has("out");
  if (is_recorded) return where;
  return fmt::format(
      "{}; the same command would start over; to continue, sweep only the remaining points into "
      "another file",
      where);
}

/// Runs the points; each row is written to the files before the next point runs.
SweptRows run_points(Sweep& sweep, const std::vector<PlannedPoint>& planned,
                     const SweepOutputs& outputs, Table table) {
  RowFiles row_files(outputs.files);
  SweptRows swept{.table = std::move(table)};
  auto& rows = swept.table.rows;
  const auto said = [&] { return saved_rows_text(rows.size(), planned, outputs, sweep.is_model); };
  save_before_signals(SavedResults::rows, said);
  for (const PlannedPoint& planned_point : planned) {
    show_progress(fmt::format("[{}/{}] {}", rows.size() + 1, planned.size(),
                              point_text(planned_point.point)));
    const auto result = point_result(sweep, planned_point.given);
    swept.unsaved = result.unsaved;
    Table one{.key = swept.table.key, .columns = swept.table.columns};
    one.rows = {sweep_row(one, sweep.is_model, planned_point.point, result.row)};
    save_before_signals(SavedResults::rows, [&] {
      if (auto error = row_files.add(rows_json(one).front())) swept.unsaved = error;
      rows.push_back(std::move(one.rows.front()));
      swept.errors.push_back(result.row ? std::nullopt : std::optional(result.row.error()));
      return said();
    });
    if (swept.unsaved) return swept;
  }
  swept.unsaved = row_files.finish();
  return swept;
}

/// Reports the points without a result, with the reason for the first: a line on standard error, or
/// the sweep's error when no point has a result.
std::optional<Error> tell_missing(const std::vector<std::optional<Error>>& errors,
                                  const std::vector<PlannedPoint>& planned) {
  std::size_t missing = 0;
  bool only_unavailable = true;
  std::string first;
  for (std::size_t r = 0; r < errors.size(); ++r) {
    if (!errors[r]) continue;
    if (missing == 0) {
      first = fmt::format("{}: {}", point_text(planned[r].point), reason_text(*errors[r]));
    }
    only_unavailable = only_unavailable && errors[r]->kind == Error::Kind::unavailable;
    ++missing;
  }
  if (missing == 0) return std::nullopt;
  if (missing < errors.size()) {
    print_to_stderr(fmt::format("note: no result for {} of the {} points; the first: {}\n", missing,
                                errors.size(), one_line(first)));
    return std::nullopt;
  }
  const std::string message =
      fmt::format("none of the {} points has a result; the first: {}", errors.size(), first);
  return only_unavailable ? unavailable(message) : failed(message);
}

std::optional<Error> run_sweep(const GivenOptions& given) {
  ATTNSCOPE_TRY(const auto asked, parse_outputs(given));
  ATTNSCOPE_TRY(const auto markdown, parse_output(given, "markdown"));
  const SweepOutputs outputs = split_outputs(asked);
  const OutputFiles& streams = outputs.streams;
  std::vector<std::string> words = given.all(kSweptWords);
  if (words.empty() || (words[0] != "simulate" && words[0] != "measure")) {
    return invalid_request(
        "sweep needs -- and the command to sweep: sweep --over KEY=V1,V2 -- simulate|measure ...");
  }
  const bool is_model = words[0] == "simulate";
  words.erase(words.begin());
  Sweep sweep{.is_model = is_model,
              .swept = is_model ? simulate_command() : measure_command(),
              .session = MeasuringSession(given)};
  if (!given.has("over")) {
    return invalid_request("--over is required: --over KEY=V1,V2, as in --over seq-len=1024,2048");
  }
  ATTNSCOPE_TRY(const auto axes, parse_axes(given.all("over"), sweep.swept));
  ATTNSCOPE_TRY(const auto points, all_points(axes));
  ATTNSCOPE_TRY(const auto planned, plan(sweep, points, words));
  const CommandSpec command = sweep_command();
  std::vector<GivenCommand> commands = {{&command, &given}};
  for (const PlannedPoint& point : planned) commands.push_back({&sweep.swept, &point.given});
  if (auto error = check_apart(commands)) return error;

  const SweptRows swept = run_points(sweep, planned, outputs, sweep_table(axes, is_model));
  clear_progress();
  const Study study{
      .title = is_model ? "modelled" : "measured", .facts = {}, .tables = {swept.table}};
  // Rows that cannot be saved are printed
  const std::string text = swept.unsaved ? json_text(rows_json(swept.table)) : to_text(study);
  Answer answer{streams.json.empty() ? "" : json_text(rows_json(swept.table)),
                streams.csv.empty() ? "" : csv_text(csv_rows(study)), text, swept.unsaved};
  if (!markdown.empty()) answer.others = {text_document(markdown, to_markdown(study))};
  if (auto error = write_outputs(streams, answer)) return error;
  return tell_missing(swept.errors, planned);
}

}  // namespace

CommandSpec sweep_command() {
  return {.name = "sweep",
          .summary = "Runs simulate or measure over lists: --over KEY=V1,V2 -- simulate ...",
          .options = joined({{{"over", "KEY=V1,V2",
                               "an option and its values, once per option; KEY+KEY=V1+W1,V2+W2 "
                               "varies options together",
                               true}},
                             output_options(),
                             {markdown_option()}}),
          .run = run_sweep,
          .takes_command = true};
}

}  // namespace attnscope::cli
