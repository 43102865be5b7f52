#include "app/panels/ledger_rows.h"

#include <fmt/format.h>

#include <cmath>

#include "app/draw/format.h"
#include "app/panels/snapshot_view.h"
#include "app/panels/traffic_formulas.h"
#include "app/report/compare.h"

namespace attnscope::app {

namespace {

constexpr std::string_view kNotApart =
    "unavailable: hardware counters see all tensors together, not one by one";

constexpr const char* kNotRecorded = "unavailable: no recording of this problem; run it on a GPU";

double bytes_of(const Bytes& bytes, bool write) {
  return static_cast<double>(write ? bytes.write_bytes : bytes.read_bytes);
}

/// Rows of the tensors that move at all. m and l, which travel together, share their rows.
std::vector<LedgerRow> tensor_rows(const Snapshot& snapshot, bool all_heads, bool so_far) {
  const RunInfo& run = *snapshot.run;
  const double heads = all_heads ? static_cast<double>(run.problem.batch * run.problem.heads) : 1.0;
  std::vector<LedgerRow> rows;
  for (const TrafficFormula& formula :
       traffic_formulas(run.algorithm->name, run.problem, run.tiling, run.options)) {
    const Bytes& whole =
        all_heads ? of(run.totals.by_tensor, formula.tensor) : of(run.head_bytes, formula.tensor);
    const Bytes& shown = so_far ? of(snapshot.bytes_so_far, formula.tensor) : whole;
    const double closed_form = heads * static_cast<double>(formula.bytes);
    const bool joins = formula.tensor == Tensor::m && rows.size() >= 2;
    if (joins) {
      LedgerRow& row = rows[rows.size() - (formula.write ? 1 : 2)];
      row.label = formula.write ? "l, m written" : "l, m read";
      row.modelled += bytes_of(shown, formula.write);
      row.whole += bytes_of(whole, formula.write);
      row.formula = *row.formula + closed_form;
      row.formula_text = "2 · " + formula.text;
      continue;
    }
    LedgerRow row;
    row.label =
        fmt::format("{} {}", display_name(formula.tensor), formula.write ? "written" : "read");
    row.tensor = formula.tensor;
    row.modelled = bytes_of(shown, formula.write);
    row.whole = bytes_of(whole, formula.write);
    row.formula = closed_form;
    row.formula_text = formula.text;
    if (heads > 1.0) row.formula_text += fmt::format(", times {} heads", heads);
    row.seen.about = kNotApart;
    rows.push_back(std::move(row));
  }
  return rows;
}

void add_seen(LedgerRow& row, const MeasuredRun* run, std::optional<double> bytes,
              std::string_view counter_name, std::string_view why_none) {
  if (run == nullptr) {
    row.seen.about = why_none;
    return;
  }
  row.seen.bytes = bytes;
  if (!bytes) {
    row.seen.about = "unavailable: " + run->why_unavailable(counter_name);
    return;
  }
  row.seen.about = run->provenance.describe() + fmt::format("\ncounter {}", counter_name);
  if (row.whole > 0.0) row.gap_percent = (*bytes - row.whole) / row.whole * 100.0;
}

/// Why the two columns do not agree: other tiles, or what the comparison finds in the data.
std::string reason_of(const RunInfo& run, const MeasuredRun* seen, const Comparison* comparison,
                      Level level, std::string_view quantity) {
  if (seen == nullptr) return {};
  if (seen->row.tiling && !(*seen->row.tiling == run.tiling)) {
    return fmt::format("the kernel's tiles are {} × {}, the model's {} × {}", seen->row.tiling->Br,
                       seen->row.tiling->Bc, run.tiling.Br, run.tiling.Bc);
  }
  const ComparisonLine* line = comparison != nullptr ? comparison->find(level, quantity) : nullptr;
  return line != nullptr ? line->reason : std::string{};
}

/// A total that a hardware counter sees, too.
struct Counted {
  const char* label;
  const char* quantity;
  Level level;
  bool write;
  std::string_view counter_name;
  std::optional<double> (MeasuredRun::*read)() const;
};

constexpr Counted kCounted[] = {
    {"requested read", "read", Level::requested, false, counter::kRequestedReadBytes,
     &MeasuredRun::requested_read_bytes},
    {"requested written", "written", Level::requested, true, counter::kRequestedWriteBytes,
     &MeasuredRun::requested_write_bytes},
    {"DRAM read", "read", Level::dram, false, counter::kDramReadBytes,
     &MeasuredRun::dram_read_bytes},
    {"DRAM written", "written", Level::dram, true, counter::kDramWriteBytes,
     &MeasuredRun::dram_write_bytes}};

/// What a GPU showed is of the whole pass of all heads: it stands beside nothing less.
std::vector<LedgerRow> total_rows(const Snapshot& snapshot, bool so_far, const MeasuredRun* seen) {
  const RunInfo& run = *snapshot.run;
  const bool part_of_heads = so_far && run.problem.batch * run.problem.heads > 1;
  const MeasuredRun* comparable = part_of_heads ? nullptr : seen;
  const std::string_view why_not =
      part_of_heads && seen != nullptr ? "a GPU runs all heads: see the whole pass" : kNotRecorded;
  std::optional<Comparison> comparison;
  if (comparable != nullptr && comparable->row.measurement) {
    comparison = compare(run.totals, run.gpu, comparable->row);
  }
  const Bytes requested = part_of_heads ? sum(run.head_bytes) : run.totals.requested;
  std::vector<LedgerRow> rows;
  for (const Counted& counted : kCounted) {
    const bool dram = counted.level == Level::dram;
    if (dram && part_of_heads) continue;  // known for all heads together only
    LedgerRow row;
    row.label = counted.label;
    if (dram && so_far) row.label += ", whole";
    row.whole = bytes_of(dram ? run.totals.dram : requested, counted.write);
    const bool counts_up = so_far && !dram;
    row.modelled = counts_up ? bytes_of(sum(snapshot.bytes_so_far), counted.write) : row.whole;
    add_seen(row, comparable, comparable != nullptr ? (comparable->*counted.read)() : std::nullopt,
             counted.counter_name, why_not);
    if (row.gap_percent) {
      row.gap_reason = reason_of(run, seen, comparison ? &*comparison : nullptr, counted.level,
                                 counted.quantity);
    }
    if (dram) {
      row.formula_text = "compulsory: each launch reads its operands once and writes its results";
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

/// Where and when a run was, how long it took and how exact it was.
std::string about_run(const MeasuredRun& run) {
  std::string about = run.provenance.describe();
  if (!run.row.measurement) return fmt::format("{}\nunavailable: {}", about, run.why_unavailable());
  const TimeStatistics& time = run.row.measurement->time;
  about += fmt::format("\nmedian {} of {} runs ({} to {})", draw::format_seconds(time.median_s),
                       time.n, draw::format_seconds(time.min_s), draw::format_seconds(time.max_s));
  if (const auto& accuracy = run.row.measurement->accuracy) {
    about += fmt::format("\nlargest error {} over {} rows, {} tolerance",
                         draw::format_error(accuracy->max_abs_error), accuracy->rows_checked,
                         accuracy->within_tolerance ? "within" : "beyond");
  }
  return about;
}

std::vector<std::string> notes_of(const Snapshot& snapshot, const MeasuredRun* seen, bool so_far) {
  const RunInfo& run = *snapshot.run;
  const SimulationReport& totals = run.totals;
  const double paper = static_cast<double>(totals.paper.total());
  std::vector<std::string> notes;
  notes.push_back(fmt::format("paper {}", draw::format_bytes(paper)));
  const double flops =
      static_cast<double>(so_far ? snapshot.matmul_flops_so_far + snapshot.other_flops_so_far
                                 : totals.matmul_flops + totals.non_matmul_flops);
  notes.push_back(draw::format_si(flops, "FLOP"));
  notes.push_back(
      fmt::format("peak HBM {}", draw::format_bytes(static_cast<double>(totals.peak_hbm_bytes))));
  std::string time = fmt::format("time at least {}", draw::format_seconds(totals.predicted_s));
  if (seen != nullptr && seen->time_s()) {
    time += fmt::format(", {} {}", to_string(seen->provenance.kind),
                        draw::format_seconds(*seen->time_s()));
  }
  notes.push_back(std::move(time));
  return notes;
}

}  // namespace

std::string short_gpu_name(std::string_view name) {
  if (name.starts_with("NVIDIA ")) name.remove_prefix(7);
  return std::string(name.substr(0, name.find(' ')));
}

Ledger make_ledger(const Snapshot& snapshot, LedgerScope scope, const Measurements& measurements) {
  const RunInfo& run = *snapshot.run;
  const bool so_far = scope == LedgerScope::so_far;
  Ledger ledger;
  ledger.all_heads = !so_far && run.problem.batch * run.problem.heads > 1;
  ledger.tensors = tensor_rows(snapshot, ledger.all_heads, so_far);
  const MeasuredRun* seen =
      measurements.find(run.problem, run.algorithm->name, "forward", run.tiling, run.options.carry);
  ledger.seen_heading = "recorded";
  ledger.seen_about = kNotRecorded;
  if (seen != nullptr) {
    ledger.seen_kind = seen->provenance.kind;
    ledger.seen_heading = fmt::format("{} {}", to_string(seen->provenance.kind),
                                      short_gpu_name(seen->provenance.gpu));
    ledger.seen_about = about_run(*seen);
  }
  ledger.totals = total_rows(snapshot, so_far, seen);
  ledger.notes = notes_of(snapshot, seen, so_far);
  return ledger;
}

}  // namespace attnscope::app
