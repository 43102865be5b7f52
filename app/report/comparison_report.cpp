#include "app/report/comparison_report.h"

#include <fmt/core.h>

#include <algorithm>

#include "app/report/report_text.h"
#include "reference/message_text.h"

namespace attnscope {
namespace {

/// The gap as text, "+0.12 %", or "65.45 x" for ten times and more, or the phrase that replaces the
/// gap; "-" if there is neither.
std::string gap_text(const ComparisonLine& line) {
  if (!line.gap_percent) return line.in_place_of_gap.empty() ? "-" : line.in_place_of_gap;
  const double percent = *line.gap_percent;
  if (percent >= 900.0) return fmt::format("{:.4g} x", 1.0 + percent / 100.0);
  return fmt::format("{:+.2f} %", percent);
}

/// The level and launch of a line: "dram", "requested, scores S".
std::string level_text(const ComparisonLine& line) {
  std::string text(to_string(line.level));
  if (!line.launch.empty()) text += fmt::format(", {}", launch_words(line.launch));
  return text;
}

/// A line's number with its unit: "17.31 GB", "12.34 us".
std::string quantity_text(const ComparisonLine& line, double value) {
  return line.unit == "s" ? seconds_text(value) : bytes_text(value);
}

/// The line's number with its unit; `text` if the number is missing.
Cell quantity_cell(const ComparisonLine& line, const std::optional<double>& value,
                   std::string text) {
  return value ? Cell(value, quantity_text(line, *value)) : Cell::only_text(std::move(text));
}

/// One cell of the overview: the gap, or the text that replaces it.
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
      "- `requested`: bytes that thread blocks request from memory outside their SRAM; recorded at "
      "the "
      "SM's boundary.\n"
      "- `l2`: bytes that the slices of L2 serve: all requested bytes, and again those that miss "
      "in the SM's own partition of L2. Recorded where the slices look up sectors; the model does "
      "not merge reads of the same line.\n"
      "- `dram`: bytes that reach {0}, predicted: thread blocks move tiles through a model of L2, "
      "in "
      "the order in which the GPU starts them. If the data that they read again is about as large "
      "as L2, the run is in transition, and the reason gives an interval.\n"
      "- `bound`: the same {0} bytes beside the compulsory ones: each operand once, unless an "
      "earlier launch left it in L2; each result once, unless it stays in L2 for a later launch. "
      "The last lines may still be in L2 at the end.\n"
      "- `time`: predicted from the calibration of the GPU: measured times of thread blocks' "
      "steps, memory and launches. A GPU without a calibration has none. Beside it, under `bound`, "
      "is the lower bound: launch by launch, the longest of the times that matrix products on "
      "tensor cores, other operations on CUDA cores, exponentials on special function units and "
      "the compulsory bytes take at the datasheet's peak rates.\n\n"
      "A gap is (recorded - modelled) / modelled. It is shown only if GPU, problem, algorithm, "
      "tiling, variant, pass, switches and cache state match those of the measurement; otherwise "
      "the "
      "recording is shown alone. Times below 20 us (40 us when fewer than half of the SMs are "
      "busy) and DRAM traffic below 1 MB are described in words instead of a gap.\n\n",
      dram_name(gpu));
}

/// The row of a run that has no gaps: the reason, and the recorded time if there is one.
std::vector<Cell> row_without_gaps(const Comparison& comparison) {
  const bool alone = comparison.unavailable.empty();
  return {run_title(comparison.run),
          Cell(),
          Cell(),
          Cell(),
          Cell(),
          alone ? Cell(comparison.run.measurement->time.median_s) : Cell(),
          Cell(),
          alone ? comparison.stands_alone : "unavailable: " + comparison.unavailable};
}

Table overview_table(const std::vector<Comparison>& comparisons) {
  Table table{.columns = {{"", "run"},
                          {"", "requested read", Unit::count},
                          {"", "requested written", Unit::count},
                          {"", "dram read", Unit::count},
                          {"", "time", Unit::count},
                          {"", "time, recorded", Unit::seconds},
                          {"", "times the lower bound", Unit::count},
                          {"", "why no gap"}}};
  for (const Comparison& comparison : comparisons) {
    if (!comparison.unavailable.empty() || !comparison.stands_alone.empty()) {
      table.rows.push_back(row_without_gaps(comparison));
      continue;
    }
    const ComparisonLine* predicted = comparison.find(Level::time, "time");
    const ComparisonLine* bound = comparison.find(Level::bound, "time");
    table.rows.push_back(
        {run_title(comparison.run), gap_cell(comparison, Level::requested, "read"),
         gap_cell(comparison, Level::requested, "written"),
         gap_cell(comparison, Level::dram, "read"),
         predicted == nullptr ? "not predicted" : gap_text(*predicted),
         comparison.run.measurement->time.median_s,
         bound->gap_percent ? Cell(*bound->recorded / *bound->modelled) : Cell(gap_text(*bound)),
         Cell()});
  }
  return table;
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

Table speedups_table(const std::vector<Comparison>& comparisons) {
  Table table{.columns = {{"", "run"},
                          {"", "its time", Unit::seconds},
                          {"", "standard's time", Unit::seconds},
                          {"", "faster by", Unit::count}}};
  for (const Comparison& flash : comparisons) {
    if (flash.run.run.algorithm() == "standard") continue;
    const Comparison* standard = same_problem(comparisons, flash, "standard");
    if (standard == nullptr || !flash.run.measurement) continue;
    const double flash_s = flash.run.measurement->time.median_s;
    std::vector<Cell>& row = table.rows.emplace_back();
    row = {run_title(flash.run), flash_s, standard->unavailable, "-"};
    if (!standard->run.measurement) continue;
    const double standard_s = standard->run.measurement->time.median_s;
    row[2] = standard_s;
    row[3] = Cell(standard_s / flash_s, fmt::format("{:.3g} x", standard_s / flash_s));
  }
  return table;
}

/// A section of the document; empty if the table has no rows.
std::string section(std::string_view heading, std::string_view words, const Table& table) {
  if (table.rows.empty()) return "";
  return fmt::format("## {}\n\n{}{}\n", heading, words, to_markdown(table));
}

std::string run_section(const Comparison& comparison) {
  const Table table = comparison_table(comparison, "recorded");
  std::string text = fmt::format("### {}\n\n", run_title(comparison.run));
  if (!table.title.empty()) text += fmt::format("{}\n\n", table.title);
  return table.rows.empty() ? text : text + to_markdown(table) + "\n";
}

}  // namespace

Table comparison_table(const Comparison& comparison, std::string_view kind) {
  if (!comparison.unavailable.empty()) {
    return {.title = "unavailable: " + one_line(comparison.unavailable)};
  }
  const bool alone = !comparison.stands_alone.empty();
  const std::string gpu = alone ? " on " + comparison.on.device.name : "";
  Table table{.title = alone ? "no gap: " + one_line(comparison.stands_alone) : "",
              .columns = {{"level", ""},
                          {"", "level"},
                          {"quantity", "quantity"},
                          {"launch", ""},
                          {"unit", ""},
                          {"modelled", "modelled", Unit::count},
                          {"recorded", std::string(kind) + gpu, Unit::count},
                          {"unavailable", ""},
                          {"gap_percent", "gap", Unit::count},
                          {"transition", ""},
                          {"least", ""},
                          {"most", ""},
                          {"calibrated", ""},
                          {"calibration_reason", ""},
                          {"in_place_of_gap", ""},
                          {"reason", ""},
                          {"", alone ? "unavailable" : "reason"}}};
  const auto unless_empty = [](const std::string& text) { return text.empty() ? Cell() : text; };
  for (const ComparisonLine& line : comparison.lines) {
    const auto& interval = line.transition;
    const bool calibrated = line.uncalibrated.empty();
    table.rows.push_back(
        {to_string(line.level), level_text(line), line.quantity, unless_empty(line.launch),
         line.unit, quantity_cell(line, line.modelled, alone ? "" : "-"),
         quantity_cell(line, line.recorded, "unavailable"), unless_empty(line.unavailable),
         Cell(line.gap_percent, alone ? "" : gap_text(line)), interval ? Cell(true) : Cell(),
         interval ? Cell(interval->first) : Cell(), interval ? Cell(interval->second) : Cell(),
         calibrated ? Cell() : Cell(false), unless_empty(words(line.uncalibrated, Reader::file)),
         unless_empty(line.in_place_of_gap), unless_empty(words(line.reason, Reader::file)),
         alone || !line.recorded ? line.unavailable : words(line.reason, Reader::command_line)});
  }
  return table;
}

Table errors_table(const std::vector<Comparison>& comparisons) {
  Table table{
      .title = fmt::format("errors of the predictions, whole passes of at least {} or {}",
                           bytes_text(kLeastRatedBytes), seconds_text(kLaunchLatencySeconds)),
      .columns = {{"algorithm", "algorithm"},
                  {"pass", "pass"},
                  {"level", "level"},
                  {"quantity", "quantity"},
                  {"", "regime"},
                  {"transition", ""},
                  {"calibrated", ""},
                  {"runs", "runs", Unit::count},
                  {"median_percent", "median", Unit::percent},
                  {"p90_percent", "90 %", Unit::percent},
                  {"max_percent", "max", Unit::percent}}};
  using Regime = PredictionErrors::Regime;
  for (const PredictionErrors& each : prediction_errors(comparisons)) {
    const bool of_all = each.algorithm.empty();
    table.rows.push_back(
        {of_all ? Cell::only_text("all") : Cell(each.algorithm),
         of_all ? Cell::only_text(std::string(to_string(each.pass))) : Cell(to_string(each.pass)),
         to_string(each.level), each.quantity, to_string(each.regime),
         each.regime == Regime::transition, each.regime != Regime::uncalibrated, each.runs,
         each.median_percent, each.p90_percent, each.max_percent});
  }
  return table;
}

std::string comparison_report(const Recording& recording, const GpuDescription& gpu,
                              const std::vector<Comparison>& comparisons) {
  std::string text;
  write_provenance(recording, gpu, text);
  text += section("Errors of the predictions",
                  fmt::format("As shares of the recorded bytes and times, for whole passes of at "
                              "least {} or {}; written bytes that are off by less than {} "
                              "count as predicted correctly.\n\n",
                              bytes_text(kLeastRatedBytes), seconds_text(kLaunchLatencySeconds),
                              bytes_text(kUnratedWriteBytes)),
                  errors_table(comparisons));
  text += section("All runs", "", overview_table(comparisons));
  text += section("Against standard attention (recorded)", "", speedups_table(comparisons));
  text += "## Run by run\n\n";
  for (const Comparison& comparison : comparisons) text += run_section(comparison);
  return text;
}

}  // namespace attnscope
