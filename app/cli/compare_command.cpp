/// attnscope-cli compare: modelled beside recorded, row by row.

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "app/cli/commands.h"
#include "app/cli/outputs.h"
#include "app/cli/run_options.h"
#include "app/cli/simulation_json.h"
#include "app/report/comparison_report.h"
#include "app/report/run_words.h"
#include "reference/nearest_name.h"
#include "reference/one_line.h"
#include "sim/device/assets.h"

namespace attnscope::cli {

using nlohmann::ordered_json;

namespace {

/// Whether the row is a run of what the options say; those that were not given let all through.
bool matches(const GivenOptions& given, const RunSpec& asked, const RecordingRow& row) {
  RunSpec recorded = row.run.asked;
  recorded.set_tiling(row.run.tiling);
  return std::ranges::all_of(run_fields(), [&](const RunField& field) {
    const bool chooses = field.target != FieldTarget::model && given.has(field.option);
    return !chooses || field.print(recorded) == field.print(asked);
  });
}

ordered_json line_json(const ComparisonLine& line) {
  ordered_json json = {{"level", to_string(line.level)}, {"quantity", line.quantity}};
  if (!line.launch.empty()) json["launch"] = line.launch;
  json["unit"] = line.unit;
  if (line.modelled) json["modelled"] = *line.modelled;
  if (line.recorded) json["recorded"] = *line.recorded;
  if (!line.unavailable.empty()) json["unavailable"] = line.unavailable;
  if (line.gap_percent) json["gap_percent"] = *line.gap_percent;
  if (!line.in_place_of_gap.empty()) json["in_place_of_gap"] = line.in_place_of_gap;
  if (!line.reason.empty()) json["reason"] = line.reason;
  return json;
}

ordered_json comparison_json(const Comparison& comparison) {
  ordered_json json = run_identity(comparison.run.run);
  if (!comparison.unavailable.empty()) {
    json["unavailable"] = comparison.unavailable;
    return json;
  }
  if (!comparison.stands_alone.empty()) json["no_gap"] = comparison.stands_alone;
  json["lines"] = ordered_json::array();
  for (const ComparisonLine& line : comparison.lines) json["lines"].push_back(line_json(line));
  return json;
}

ordered_json comparisons_json(const Recording& recording, const GpuDescription& gpu,
                              const std::vector<Comparison>& comparisons) {
  ordered_json document = {{"schema", "attnscope.comparison/1"},
                           {"recorded",
                            {{"device", recording.device.name},
                             {"driver", recording.device.driver},
                             {"date", recording.date},
                             {"commit", recording.build.commit}}},
                           {"gpu", gpu.name},
                           {"runs", ordered_json::array()}};
  for (const Comparison& comparison : comparisons) {
    document["runs"].push_back(comparison_json(comparison));
  }
  return document;
}

/// One CSV row a line of a comparison, each with its run in front.
std::vector<ordered_json> comparison_rows(const std::vector<Comparison>& comparisons) {
  std::vector<ordered_json> rows;
  for (const Comparison& comparison : comparisons) {
    const ordered_json identity = run_identity(comparison.run.run);
    if (!comparison.unavailable.empty()) {
      rows.push_back(identity);
      rows.back()["unavailable"] = comparison.unavailable;
    }
    for (const ComparisonLine& line : comparison.lines) {
      rows.push_back(identity);
      rows.back().update(line_json(line));
      if (!comparison.stands_alone.empty()) rows.back()["no_gap"] = comparison.stands_alone;
    }
  }
  return rows;
}

/// Every row that the options choose, modelled and compared. A row that this version cannot
/// model stays, with the reason.
std::vector<Comparison> compare_rows(const GivenOptions& given, const RunSpec& asked,
                                     const Recording& recording, const GpuDescription& gpu) {
  const MeasuredOn on{recording.device, recording.protocol.cache};
  std::vector<Comparison> comparisons;
  for (const RecordingRow& row : recording.rows) {
    if (!matches(given, asked, row)) continue;
    show_progress(fmt::format("comparing {}", run_title(row.run)));
    auto comparison = model_and_compare(row, on, gpu);
    comparisons.push_back(
        comparison ? std::move(comparison).value()
                   : Comparison{.run = row,
                                .on = on,
                                .unavailable = words(comparison.error(), Reader::command_line)});
  }
  clear_progress();
  return comparisons;
}

std::optional<Error> run_compare(const GivenOptions& given) {
  const auto outputs = parse_outputs(given);
  if (!outputs) return outputs.error();
  const auto report_file = given.text("report");
  if (report_file && *report_file != "-") {
    if (auto error = check_writable("report", *report_file)) return error;
  }
  const auto asked =
      given.has("algorithm") ? parse_run_of(given, algorithm_names()) : parse_run(given);
  if (!asked) return asked.error();
  const auto file = given.text("recording");
  if (!file) {
    return invalid_request("--recording is required; see attnscope-cli list recordings");
  }
  const auto path = find_asset("recordings", *file);
  if (!path) return path.error();
  const auto recording = read_recording(path.value());
  if (!recording) {
    Error error = recording.error();
    error.kind = Error::Kind::invalid_request;
    return error;
  }
  if (recording.value().rows.empty()) {
    return invalid_request(fmt::format("'{}' has no rows to compare with", printable(*file)));
  }
  const auto gpu = gpu_beside(given, asked.value(), recording.value().device);
  if (!gpu) return gpu.error();

  const auto comparisons = compare_rows(given, asked.value(), recording.value(), gpu.value());
  if (comparisons.empty()) {
    return invalid_request(
        fmt::format("no row of '{}' is as asked; it has {} rows: leave out an option",
                    printable(*file), recording.value().rows.size()));
  }

  if (report_file) {
    const std::string report = comparison_report(recording.value(), gpu.value(), comparisons);
    if (auto error = write_text(*report_file, report)) return error;
  }
  std::string text;
  if (report_file != "-") {
    text = fmt::format("modelled: {}; recorded: {}, {}\n\n", gpu.value().display_name,
                       one_line(recording.value().device.name), one_line(recording.value().date));
    for (const Comparison& comparison : comparisons) {
      text += fmt::format("{}\n{}\n", run_title(comparison.run.run),
                          comparison_table(comparison, "recorded"));
    }
  }
  return write_outputs(outputs.value(),
                       comparisons_json(recording.value(), gpu.value(), comparisons),
                       comparison_rows(comparisons), text);
}

/// The fields of a run, which choose rows here: one that is not given lets all through, so none has
/// a default.
std::vector<OptionSpec> row_filters() {
  std::vector<OptionSpec> filters =
      run_options(FieldTarget::kernel, {"deterministic", "inputs", "seed", "q", "k", "v", "do"});
  for (OptionSpec& option : filters) {
    if (option.help.ends_with(']')) option.help.erase(option.help.rfind(" ["));
  }
  return with_help(std::move(filters), "algorithm",
                   "only rows of this algorithm; the options below choose rows likewise");
}

}  // namespace

CommandSpec compare_command() {
  return {.name = "compare",
          .summary = "Shows modelled numbers beside recorded ones, with each gap and its reason.",
          .operand = "",
          .options = joined(
              {{{"recording", "NAME|FILE", "required; the recording to compare with"},
                {"report", "FILE", "write a Markdown report; - is standard output"}},
               with_help(field_options({"gpu", "sram_bytes", "l2_bytes"}), "gpu",
                         "the modelled GPU; no gap with another than the recording's [that of the "
                         "recording]"),
               row_filters(),
               output_options()}),
          .run = run_compare};
}

}  // namespace attnscope::cli
