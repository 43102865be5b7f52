/// attnscope-cli compare: modelled beside recorded, row by row.

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "app/cli/commands.h"
#include "app/cli/option_files.h"
#include "app/cli/outputs.h"
#include "app/cli/progress.h"
#include "app/cli/run_options.h"
#include "app/documents/comparison_json.h"
#include "app/documents/simulation_json.h"
#include "app/report/compare_rows.h"
#include "app/report/report_text.h"
#include "reference/message_text.h"
#include "sim/device/assets.h"

namespace attnscope::cli {

namespace {

/// Whether the row's run matches the given options; options that were not given match every row.
bool matches(const GivenOptions& given, const RunSpec& asked, const RecordingRow& row) {
  RunSpec recorded = row.run.asked;
  recorded.set_tiling(row.run.tiling);
  return std::ranges::all_of(run_fields(), [&](const RunField& field) {
    if (field.target == FieldTarget::model || !given.has(field.option)) return true;
    // A spec without a kernel runs the algorithm's
    if (field.key == "kernel") return recorded.kernel == given.text(field.option);
    return field.print(recorded) == field.print(asked);
  });
}

ordered_json errors_json(const std::vector<PredictionErrors>& errors) {
  ordered_json json = ordered_json::array();
  for (const PredictionErrors& each : errors) {
    ordered_json& object = json.emplace_back();
    if (!each.algorithm.empty()) {
      object = {{"algorithm", each.algorithm}, {"pass", to_string(each.pass)}};
    }
    object.update({{"level", to_string(each.level)},
                   {"quantity", each.quantity},
                   {"transition", each.regime == PredictionErrors::Regime::transition},
                   {"calibrated", each.regime != PredictionErrors::Regime::uncalibrated},
                   {"runs", each.runs},
                   {"median_percent", each.median_percent},
                   {"p90_percent", each.p90_percent},
                   {"max_percent", each.max_percent}});
  }
  return json;
}

/// Writes one run of the document per comparison, and a row of CSV for each of its lines, starting
/// with the run.
Answer comparisons_answer(const Recording& recording, const GpuDescription& gpu,
                          const std::vector<Comparison>& comparisons) {
  ordered_json runs = ordered_json::array();
  ordered_json rows = ordered_json::array();
  std::string text = fmt::format("modelled: {}; recorded: {}, {}\n\n", gpu.display_name,
                                 one_line(recording.device.name), one_line(recording.date));
  for (const Comparison& comparison : comparisons) {
    const ordered_json identity = run_identity(comparison.run.run);
    ordered_json& run = runs.emplace_back(comparison_json(comparison));
    if (!comparison.unavailable.empty()) rows.push_back(run);
    for (const ComparisonLine& line : comparison.lines) {
      rows.push_back(identity);
      rows.back().update(comparison_line_json(line));
      if (!comparison.stands_alone.empty()) rows.back()["no_gap"] = comparison.stands_alone;
    }
    text += fmt::format("{}\n{}\n", run_title(comparison.run),
                        comparison_table(comparison, "recorded"));
  }
  const std::vector<PredictionErrors> errors = prediction_errors(comparisons);
  const ordered_json document = {{"schema", "attnscope.comparison/1"},
                                 {"recorded",
                                  {{"device", recording.device.name},
                                   {"driver", recording.device.driver},
                                   {"date", recording.date},
                                   {"commit", recording.build.commit}}},
                                 {"gpu", gpu.name},
                                 {"errors", errors_json(errors)},
                                 {"runs", runs}};
  text += errors_text(errors);
  return {json_text(document), csv_text(rows), text};
}

/// Every row that the options select, modelled and compared.
std::vector<Comparison> compare_selected(const GivenOptions& given, const RunSpec& asked,
                                         const Recording& recording, const GpuDescription& gpu) {
  std::vector<const RecordingRow*> rows;
  for (const RecordingRow& row : recording.rows) {
    if (matches(given, asked, row)) rows.push_back(&row);
  }
  return compare_rows(rows, {recording.device, recording.protocol.cache}, gpu,
                      [](const std::string& line) { show_progress(line); });
}

Result<Answer> answer_compare(const GivenOptions& given) {
  ATTNSCOPE_TRY(const auto report_file, parse_output(given, "report"));
  ATTNSCOPE_TRY(const auto asked,
                given.has("algorithm") ? parse_run_of(given, algorithm_names()) : parse_run(given));
  const auto file = given.text("recording");
  if (!file) {
    return invalid_request("--recording is required; see attnscope-cli list recordings");
  }
  ATTNSCOPE_TRY(const auto path, find_asset("recordings", *file));
  const auto recording = read_recording(path);
  if (!recording) {
    Error error = recording.error();
    error.kind = Error::Kind::invalid_request;
    return error;
  }
  if (recording.value().rows.empty()) {
    return invalid_request("'{}' has no rows to compare with", printable(*file));
  }
  if (auto error = check_masks_stay(given, {"json", "csv", "report"}, recording.value()))
    return *error;
  ATTNSCOPE_TRY(const auto gpu, gpu_beside(given, asked, recording.value().device));

  const auto comparisons = compare_selected(given, asked, recording.value(), gpu);
  if (comparisons.empty()) {
    return invalid_request("none of the {} rows of '{}' matches the options; leave one out",
                           recording.value().rows.size(), printable(*file));
  }

  Answer answer = comparisons_answer(recording.value(), gpu, comparisons);
  if (!report_file.empty()) {
    answer.others = {
        text_document(report_file, comparison_report(recording.value(), gpu, comparisons))};
  }
  return answer;
}

/// The fields of a run, which select rows here: one that is not given selects all rows, so none has
/// a default.
std::vector<OptionSpec> row_filters() {
  std::vector<OptionSpec> filters =
      run_options(FieldTarget::kernel, {"deterministic", "inputs", "seed", "q", "k", "v", "do"});
  for (OptionSpec& option : filters) {
    if (option.help.ends_with(']')) option.help.erase(option.help.rfind(" ["));
  }
  return with_help(
      std::move(filters),
      {{"algorithm", "",
        "only rows of this algorithm; the options below select rows in the same way"}});
}

}  // namespace

CommandSpec compare_command() {
  return answering(
      {.name = "compare",
       .summary = "Shows modelled numbers beside recorded ones, with each gap and its reason.",
       .options = joined(
           {{{"recording", "NAME|FILE", "required; the recording to compare with", false,
              reads_recording()},
             {"report", "FILE", "write a Markdown report; - is standard output", false,
              writes_file()}},
            with_help(field_options({"gpu"}),
                      {{"gpu", "",
                        "the modelled GPU; gaps are shown only for the GPU of the recording [that "
                        "of the recording]"}}),
            what_if_options(),
            row_filters()})},
      answer_compare);
}

}  // namespace attnscope::cli
