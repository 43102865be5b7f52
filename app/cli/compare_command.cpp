#include "app/cli/compare_command.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "app/cli/kernel_request.h"
#include "app/cli/modelled_beside.h"
#include "app/cli/outputs.h"
#include "app/cli/problem_options.h"
#include "app/report/comparison_report.h"
#include "reference/block_mask.h"
#include "reference/nearest_name.h"
#include "reference/one_line.h"
#include "sim/device/assets.h"
#include "sim/schedule/catalog.h"

namespace attnscope::cli {

using nlohmann::ordered_json;

namespace {

/// Options that choose rows: only those that were given count.
class RowFilter {
 public:
  static Result<RowFilter> parse(const GivenOptions& given) {
    // The algorithm is a filter like the others here; the parser wants one to read the rest
    GivenOptions complete = given;
    if (!given.has("algorithm")) complete.add("algorithm", {algorithm_names().front()});
    const auto request = parse_problem(complete, algorithm_names());
    if (!request) return request.error();
    return RowFilter(given, request.value());
  }

  bool matches(const RecordingRow& row) const {
    const AttentionProblem& asked = request_.problem;
    const auto side = [&](const std::optional<Index>& wanted, Index Tiling::*member) {
      return !wanted || (row.tiling && (*row.tiling).*member == *wanted);
    };
    return agrees("algorithm", request_.algorithm, row.algorithm) &&
           agrees("pass", to_string(request_.pass), row.pass) &&
           agrees("batch", asked.batch, row.problem.batch) &&
           agrees("heads", asked.heads, row.problem.heads) &&
           agrees("kv-heads", asked.kv_heads, row.problem.kv_heads) &&
           agrees("seq-len", asked.N, row.problem.N) &&
           agrees("kv-len", asked.N_kv, row.problem.N_kv) &&
           agrees("head-dim", asked.d, row.problem.d) &&
           agrees("dtype", asked.dtype, row.problem.dtype) &&
           agrees("mask", asked.mask, row.problem.mask) && agrees_on_score(row.problem) &&
           agrees("key-lengths", asked.key_lengths, row.problem.key_lengths) &&
           agrees("cu-seqlens-q", asked.cu_seqlens_q, row.problem.cu_seqlens_q) &&
           agrees("cu-seqlens-k", asked.cu_seqlens_k, row.problem.cu_seqlens_k) &&
           agrees("block-mask", given_.text("block-mask"), mask_text(row.problem)) &&
           agrees("carry", request_.carry, row.carry) && side(request_.Br, &Tiling::Br) &&
           side(request_.Bc, &Tiling::Bc);
  }

 private:
  bool agrees(const char* option, const auto& a, const auto& b) const {
    return !given_.has(option) || a == b;
  }

  bool agrees_on_score(const AttentionProblem& recorded) const {
    const ScoreFunction& asked = request_.problem.score;
    const ScoreFunction& score = recorded.score;
    return agrees("alibi", standard_alibi_slopes(recorded.heads), score.alibi_slopes) &&
           agrees("softcap", asked.soft_cap, score.soft_cap) &&
           agrees("dropout", asked.dropout.probability, score.dropout.probability) &&
           agrees("dropout-seed", asked.dropout.seed, score.dropout.seed);
  }

  static std::optional<std::string> mask_text(const AttentionProblem& problem) {
    return problem.block_mask ? std::optional(problem.block_mask->text()) : std::nullopt;
  }

  RowFilter(GivenOptions given, ProblemRequest request)
      : given_(std::move(given)), request_(std::move(request)) {}

  GivenOptions given_;
  ProblemRequest request_;
};

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
  ordered_json json = run_identity(comparison.run);
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
    const ordered_json identity = run_identity(comparison.run);
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

/// Every row that the filter lets through, modelled and compared. A row that this version cannot
/// model stays, with the reason.
std::vector<Comparison> compare_rows(const Recording& recording, const RowFilter& filter,
                                     const GpuDescription& gpu) {
  const MeasuredOn on{recording.device, recording.protocol.cache};
  std::vector<Comparison> comparisons;
  for (const RecordingRow& row : recording.rows) {
    if (!filter.matches(row)) continue;
    show_progress(fmt::format("comparing {}", run_title(row)));
    auto comparison = model_and_compare(row, on, gpu);
    comparisons.push_back(comparison ? std::move(comparison).value()
                                     : Comparison{.run = row,
                                                  .on = on,
                                                  .model = {},
                                                  .unavailable = comparison.error().message,
                                                  .stands_alone = "",
                                                  .lines = {}});
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
  const auto filter = RowFilter::parse(given);
  if (!filter) return filter.error();
  const auto file = given.text("recording");
  if (!file) {
    return invalid_request("--recording is required; see attnscope-cli list recordings");
  }
  const auto path = find_asset("recordings", *file);
  if (!path) return path.error();
  const auto recording = read_recording(path.value());
  if (!recording) return invalid_request(recording.error().message);
  if (recording.value().rows.empty()) {
    return invalid_request(fmt::format("'{}' has no rows to compare with", printable(*file)));
  }
  const auto gpu = gpu_beside(given, recording.value().device);
  if (!gpu) return gpu.error();

  const auto comparisons = compare_rows(recording.value(), filter.value(), gpu.value());
  if (comparisons.empty()) {
    return invalid_request(
        fmt::format("no row of '{}' is as asked; it has {} rows: leave out an option",
                    printable(*file), recording.value().rows.size()));
  }

  if (report_file) {
    const std::string report = comparison_report(recording.value(), gpu.value(), comparisons);
    if (auto error = write_text(*report_file, report)) return error;
  }
  const ordered_json document = comparisons_json(recording.value(), gpu.value(), comparisons);
  if (auto error = write_outputs(outputs.value(), document, comparison_rows(comparisons))) {
    return error;
  }
  if (outputs.value().owns_standard_output() || report_file == "-") return std::nullopt;
  std::string text =
      fmt::format("modelled: {}; recorded: {}, {}\n\n", gpu.value().display_name,
                  one_line(recording.value().device.name), one_line(recording.value().date));
  for (const Comparison& comparison : comparisons) {
    text += fmt::format("{}\n{}\n", run_title(comparison.run),
                        comparison_table(comparison, "recorded"));
  }
  return write_text("-", text);
}

/// The options of a problem, which choose rows here: one that is not given lets all through, so
/// none has a default.
std::vector<OptionSpec> row_filters() {
  std::vector<OptionSpec> filters = problem_options();
  for (OptionSpec& option : filters) {
    if (option.name == "algorithm") {
      option.help = "only rows of this algorithm; the options below choose rows likewise";
    } else if (option.help.ends_with(']')) {
      option.help.erase(option.help.rfind(" ["));
    }
  }
  return filters;
}

}  // namespace

CommandSpec compare_command() {
  return {
      .name = "compare",
      .summary = "Shows modelled numbers beside recorded ones, with each gap and its reason.",
      .operand = "",
      .options = joined(
          {{{"recording", "NAME|FILE", "required; the recording to compare with"},
            {"report", "FILE", "write a Markdown report; - is standard output"},
            {"gpu", "NAME|FILE",
             "the modelled GPU; no gap with another than the recording's [that of the recording]"},
            {"sram-bytes", "BYTES", "in place of the GPU's shared memory"},
            {"l2-bytes", "BYTES", "in place of the GPU's L2 cache"}},
           row_filters(),
           block_mask_option(),
           output_options()}),
      .run = run_compare};
}

}  // namespace attnscope::cli
