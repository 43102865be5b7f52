/// attnscope-cli compare: modelled beside recorded, row by row.

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "app/cli/commands.h"
#include "app/cli/option_files.h"
#include "app/cli/outputs.h"
#include "app/cli/progress.h"
#include "app/cli/run_options.h"
#include "app/documents/study_json.h"
#include "app/report/comparison_report.h"
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
    // A spec without a kernel runs the algorithm's default kernel, so compare only the given name
    if (field.key == "kernel") return recorded.kernel == given.text(field.option);
    return field.print(recorded) == field.print(asked);
  });
}

Answer comparisons_answer(const GivenOptions& given, const Recording& recording,
                          const GpuDescription& gpu, const std::vector<Comparison>& comparisons) {
  const ordered_json recorded = {{"device", recording.device.name},
                                 {"driver", recording.device.driver},
                                 {"date", recording.date},
                                 {"commit", recording.build.commit}};
  const Table errors = errors_table(comparisons);
  Study study{.title = fmt::format("modelled: {}; recorded: {}, {}", gpu.display_name,
                                   one_line(recording.device.name), one_line(recording.date)),
              .facts = {{"schema", "attnscope.comparison/1"},
                        {"recorded", recorded},
                        {"gpu", gpu.name},
                        {"errors", errors}},
              .tables = {compared_runs(comparisons)}};
  if (!errors.rows.empty()) study.tables.push_back(errors);
  return answer_of(study, given);
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
    return invalid_request("none of the {} rows of '{}' matches the options; leave an option out",
                           recording.value().rows.size(), printable(*file));
  }

  Answer answer = comparisons_answer(given, recording.value(), gpu, comparisons);
  if (!report_file.empty()) {
    answer.others = {
        text_document(report_file, comparison_report(recording.value(), gpu, comparisons))};
  }
  return answer;
}

/// The options of a run, which select rows here. They have no defaults, because an option that is
/// not given selects all rows.
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
            with_help(
                field_options({"gpu"}),
                {{"gpu", "",
                  "the modelled GPU; only the recording's own GPU shows gaps [the recording's]"}}),
            what_if_options(),
            row_filters()})},
      answer_compare);
}

}  // namespace attnscope::cli
