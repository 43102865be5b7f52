#include "app/report/compare.h"

#include <fmt/core.h>

#include <algorithm>

#include "app/report/compare_rows.h"
#include "app/report/report_text.h"
#include "reference/message_text.h"

namespace attnscope {
namespace {

/// "+0.12 %", for ten times and more "65.45 x", or the phrase in its place; "-" if there is
/// neither.
std::string gap_text(const ComparisonLine& line) {
  if (!line.gap_percent) return line.in_place_of_gap.empty() ? "-" : line.in_place_of_gap;
  const double percent = *line.gap_percent;
  if (percent >= 900.0) return fmt::format("{:.4g} x", 1.0 + percent / 100.0);
  return fmt::format("{:+.2f} %", percent);
}

/// "dram", "requested, scores S": the level and launch of a line.
std::string level_text(const ComparisonLine& line) {
  std::string text(to_string(line.level));
  if (!line.launch.empty()) text += fmt::format(", {}", launch_words(line.launch));
  return text;
}

/// "17.31 GB", "12.34 us": a line's number with its unit.
std::string quantity_text(const ComparisonLine& line, double value) {
  return line.unit == "s" ? seconds_text(value) : bytes_text(value);
}

std::string modelled_cell(const ComparisonLine& line) {
  return line.modelled ? quantity_text(line, *line.modelled) : "-";
}

std::string recorded_cell(const ComparisonLine& line) {
  return line.recorded ? quantity_text(line, *line.recorded) : "unavailable";
}

/// The same with its reason, in tables that have no column for one.
std::string recorded_text(const ComparisonLine& line) {
  return recorded_cell(line) + (line.recorded ? "" : ": " + one_line(line.unavailable));
}

/// One cell of the overview: the gap, or the text in its place.
std::string gap_cell(const Comparison& comparison, Level level, std::string_view quantity) {
  const ComparisonLine* line = comparison.find(level, quantity);
  if (line == nullptr || !line->recorded) return "unavailable";
  return gap_text(*line);
}

void write_provenance(const Recording& recording, const GpuDescription& gpu, std::string& text) {
  const DeviceInfo& device = recording.device;
  text += fmt::format(
      "# Modelled and recorded\n\n"
      "Recorded on {} ({} SMs, L2 {}), driver {}, CUDA {}, {}, commit {}{}.\n"
      "Protocol: {} warm-ups, up to {} timed passes (median shown), {} L2 cache.\n"
      "Modelled from the schedules and the description of {} (assets/gpus).\n\n",
      one_line(device.name), device.sm_count, capacity_text(device.l2_bytes),
      one_line(device.driver), one_line(device.cuda), one_line(recording.date),
      one_line(recording.build.commit), recording.build.local_changes ? " with local changes" : "",
      recording.protocol.warm_ups, recording.protocol.repeats, to_string(recording.protocol.cache),
      gpu.display_name);
  text += fmt::format(
      "- `paper`: the papers' accounting: every load and store of a flash algorithm, K and V for "
      "each row tile; each operand of standard attention's products once. It is compared with the "
      "traffic recorded at the SM's boundary.\n"
      "- `requested`: what thread blocks ask of memory beyond their SRAM; recorded at the SM's "
      "boundary.\n"
      "- `dram`: what reaches {0}, predicted: thread blocks move tiles through a model of L2, in "
      "the "
      "order in which the GPU starts them. Where what they read again is about as large as L2, a "
      "run is in transition, and the reason gives an interval.\n"
      "- `bound`: the same {0} bytes beside the compulsory ones: operands of a launch once, "
      "without "
      "those that an earlier launch of the pass touched and L2 holds whole; results once, without "
      "those that a later launch reads and L2 holds whole (the last lines may still be in L2 at "
      "the "
      "end).\n"
      "- `time`: predicted from the calibration of the GPU: what its thread blocks' steps, its "
      "memory and its launches were measured to take. A GPU without a calibration has none. Beside "
      "it, under `bound`, is the lower bound: launch by launch, the longest of the times that "
      "matrix products on tensor cores, other operations on CUDA cores, exponentials on special "
      "function units and the compulsory bytes take at the datasheet's peak rates.\n\n"
      "A gap is (recorded - modelled) / modelled. It is shown only where GPU, problem, algorithm, "
      "tiling, variant, pass, switches and cache state are those of the measurement; otherwise the "
      "recording is shown alone. Times below 20 us (40 us where fewer than half of the SMs are "
      "busy) and DRAM traffic below 1 MB are described in "
      "words instead of a gap.\n\n",
      dram_name(gpu));
}

void write_overview(const std::vector<Comparison>& comparisons, std::string& text) {
  text +=
      "## All runs\n\n"
      "| run | requested read | requested written | dram read | time | time, recorded | times the "
      "lower bound |\n"
      "| --- | ---: | ---: | ---: | ---: | ---: | ---: |\n";
  for (const Comparison& comparison : comparisons) {
    if (!comparison.unavailable.empty()) {
      text += fmt::format("| {} | unavailable: {} | | | | | |\n", run_title(comparison.run),
                          one_line(comparison.unavailable));
      continue;
    }
    const std::string recorded_s = seconds_text(comparison.run.measurement->time.median_s);
    if (!comparison.stands_alone.empty()) {
      text += fmt::format("| {} | no gap: {} | | | | {} | |\n", run_title(comparison.run),
                          one_line(comparison.stands_alone), recorded_s);
      continue;
    }
    const ComparisonLine* predicted = comparison.find(Level::time, "time");
    const ComparisonLine* bound = comparison.find(Level::bound, "time");
    text +=
        fmt::format("| {} | {} | {} | {} | {} | {} | {} |\n", run_title(comparison.run),
                    gap_cell(comparison, Level::requested, "read"),
                    gap_cell(comparison, Level::requested, "written"),
                    gap_cell(comparison, Level::dram, "read"),
                    predicted == nullptr ? "not predicted" : gap_text(*predicted), recorded_s,
                    bound->gap_percent ? fmt::format("{:.4g}", *bound->recorded / *bound->modelled)
                                       : gap_text(*bound));
  }
  text += "\n";
}

/// How far the predictions are off, as a table of Markdown.
void write_errors(const std::vector<Comparison>& comparisons, std::string& text) {
  const std::vector<PredictionErrors> errors = prediction_errors(comparisons);
  if (errors.empty()) return;
  text += fmt::format(
      "## Errors of the predictions\n\n"
      "Of the recorded bytes and times, in whole passes of at least {} or {}; written bytes that "
      "are "
      "off by less than {} count as predicted.\n\n"
      "| algorithm | pass | level | quantity | regime | runs | median | 90 % | max |\n"
      "| --- | --- | --- | --- | --- | ---: | ---: | ---: | ---: |\n",
      bytes_text(kLeastRatedBytes), seconds_text(kLaunchLatencySeconds),
      bytes_text(kUnratedWriteBytes));
  for (const PredictionErrors& each : errors) {
    text += fmt::format("| {} | {} | {} | {} | {} | {} | {:.2f} % | {:.2f} % | {:.2f} % |\n",
                        each.algorithm.empty() ? "all" : each.algorithm, to_string(each.pass),
                        to_string(each.level), each.quantity, to_string(each.regime), each.runs,
                        each.median_percent, each.p90_percent, each.max_percent);
  }
  text += "\n";
}

/// The run of another algorithm on the same problem, or nullptr.
const Comparison* same_problem(const std::vector<Comparison>& comparisons, const Comparison& run,
                               std::string_view algorithm) {
  const auto found = std::find_if(comparisons.begin(), comparisons.end(), [&](const auto& other) {
    return other.run.run.algorithm() == algorithm && other.run.run.problem == run.run.run.problem &&
           other.run.run.pass() == run.run.run.pass();
  });
  return found == comparisons.end() ? nullptr : &*found;
}

void write_speedups(const std::vector<Comparison>& comparisons, std::string& text) {
  std::string table;
  for (const Comparison& flash : comparisons) {
    if (flash.run.run.algorithm() == "standard") continue;
    const Comparison* standard = same_problem(comparisons, flash, "standard");
    if (standard == nullptr || !flash.run.measurement) continue;
    const double flash_s = flash.run.measurement->time.median_s;
    const auto& measured = standard->run.measurement;
    table += fmt::format(
        "| {} | {} | {} | {} |\n", run_title(flash.run), seconds_text(flash_s),
        measured ? seconds_text(measured->time.median_s) : one_line(standard->unavailable),
        measured ? fmt::format("{:.3g} x", measured->time.median_s / flash_s) : "-");
  }
  if (table.empty()) return;
  text +=
      "## Against standard attention (recorded)\n\n"
      "| run | its time | standard's time | faster by |\n| --- | ---: | ---: | ---: |\n" +
      table + "\n";
}

/// Writes one run; if the model differs from it, only the recording, under the name of its GPU.
void write_run(const Comparison& comparison, std::string& text) {
  text += fmt::format("### {}\n\n", run_title(comparison.run));
  if (!comparison.unavailable.empty()) {
    text += fmt::format("unavailable: {}\n\n", one_line(comparison.unavailable));
    return;
  }
  const bool alone = !comparison.stands_alone.empty();
  text += alone ? fmt::format(
                      "No gap: {}.\n\n"
                      "| level | quantity | recorded on {} |\n"
                      "| --- | --- | ---: |\n",
                      one_line(comparison.stands_alone), one_line(comparison.on.device.name))
                : "| level | quantity | modelled | recorded | gap | reason |\n"
                  "| --- | --- | ---: | ---: | ---: | --- |\n";
  for (const ComparisonLine& line : comparison.lines) {
    text += fmt::format("| {} | {} |", level_text(line), line.quantity);
    text += alone ? fmt::format(" {} |\n", recorded_text(line))
                  : fmt::format(" {} | {} | {} | {} |\n", modelled_cell(line), recorded_text(line),
                                gap_text(line), one_line(line.reason));
  }
  text += "\n";
}

/// The table of a run that differs from the model: only the recording, under the name of its GPU.
std::string recording_table(const Comparison& comparison, std::string_view kind) {
  const bool complete = std::ranges::all_of(
      comparison.lines, [](const ComparisonLine& line) { return line.unavailable.empty(); });
  Lines lines = {{"  level", "quantity",
                  fmt::format("{} on {}", kind, one_line(comparison.on.device.name)),
                  complete ? "" : "unavailable"}};
  for (const ComparisonLine& line : comparison.lines) {
    lines.push_back(
        {"  " + level_text(line), line.quantity, recorded_cell(line), line.unavailable});
  }
  return fmt::format("  no gap: {}\n{}", one_line(comparison.stands_alone), table_text(lines, 2));
}

}  // namespace

std::string comparison_table(const Comparison& comparison, std::string_view kind) {
  if (!comparison.unavailable.empty()) {
    return fmt::format("  unavailable: {}\n", one_line(comparison.unavailable));
  }
  if (!comparison.stands_alone.empty()) return recording_table(comparison, kind);
  Lines lines = {{"  level", "quantity", "modelled", std::string(kind), "gap", "reason"}};
  for (const ComparisonLine& line : comparison.lines) {
    lines.push_back({"  " + level_text(line), line.quantity, modelled_cell(line),
                     recorded_cell(line), gap_text(line),
                     line.recorded ? line.reason : line.unavailable});
  }
  return table_text(lines, 6);
}

std::string comparison_report(const Recording& recording, const GpuDescription& gpu,
                              const std::vector<Comparison>& comparisons) {
  std::string text;
  write_provenance(recording, gpu, text);
  write_errors(comparisons, text);
  write_overview(comparisons, text);
  write_speedups(comparisons, text);
  text += "## Run by run\n\n";
  for (const Comparison& comparison : comparisons) write_run(comparison, text);
  return text;
}

}  // namespace attnscope
