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

LedgerRow total_row(std::string label, double modelled, double whole) {
  LedgerRow row;
  row.label = std::move(label);
  row.modelled = modelled;
  row.whole = whole;
  return row;
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
  const SimulationReport& totals = run.totals;
  const bool so_far = scope == LedgerScope::so_far;
  Ledger ledger;
  ledger.all_heads = !so_far && run.problem.batch * run.problem.heads > 1;
  ledger.tensors = tensor_rows(snapshot, ledger.all_heads, so_far);

  // Requested bytes in the scope; what a GPU showed is of the whole pass of all heads
  const MeasuredRun* seen =
      measurements.find(run.problem, run.algorithm->name, "forward", run.tiling, run.options.carry);
  const std::string why_none = "unavailable: no recording of this problem; run it on a GPU";
  ledger.seen_heading = "recorded";
  ledger.seen_about = why_none;
  if (seen != nullptr) {
    ledger.seen_kind = seen->provenance.kind;
    ledger.seen_heading = fmt::format("{} {}", to_string(seen->provenance.kind),
                                      short_gpu_name(seen->provenance.gpu));
    ledger.seen_about = about_run(*seen);
  }
  const Bytes now = sum(snapshot.bytes_so_far);
  const Bytes head = sum(run.head_bytes);
  const bool one_head = run.problem.batch * run.problem.heads == 1;
  const Bytes& whole = so_far && !one_head ? head : totals.requested;
  const MeasuredRun* comparable = so_far && !one_head ? nullptr : seen;
  const std::string why_not = so_far && !one_head && seen != nullptr
                                  ? "a GPU runs all heads: see the whole pass"
                                  : why_none;
  std::optional<Comparison> comparison;
  if (seen != nullptr && seen->row.measurement) {
    comparison = compare(totals, run.gpu, seen->row);
  }
  struct Line {
    const char* label;
    const char* quantity;
    double modelled, whole;
    std::optional<double> seen;
    std::string_view counter_name;
    bool dram;
  };
  const auto reading = [&](auto method) {
    return comparable != nullptr ? (comparable->*method)() : std::nullopt;
  };
  const Line lines[] = {
      {"requested read", "read", bytes_of(so_far ? now : whole, false), bytes_of(whole, false),
       reading(&MeasuredRun::requested_read_bytes), counter::kRequestedReadBytes, false},
      {"requested written", "written", bytes_of(so_far ? now : whole, true), bytes_of(whole, true),
       reading(&MeasuredRun::requested_write_bytes), counter::kRequestedWriteBytes, false},
      {"DRAM read", "read", bytes_of(totals.dram, false), bytes_of(totals.dram, false),
       reading(&MeasuredRun::dram_read_bytes), counter::kDramReadBytes, true},
      {"DRAM written", "written", bytes_of(totals.dram, true), bytes_of(totals.dram, true),
       reading(&MeasuredRun::dram_write_bytes), counter::kDramWriteBytes, true}};
  for (const Line& line : lines) {
    if (line.dram && so_far && !one_head) continue;  // known for all heads together only
    const std::string label =
        line.dram && so_far ? fmt::format("{}, whole", line.label) : std::string(line.label);
    LedgerRow row = total_row(label, line.modelled, line.whole);
    add_seen(row, comparable, line.seen, line.counter_name, why_not);
    if (row.gap_percent) {
      row.gap_reason = reason_of(run, seen, comparison ? &*comparison : nullptr,
                                 line.dram ? Level::dram : Level::requested, line.quantity);
    }
    if (line.dram) {
      row.formula_text = "compulsory: each launch reads its operands once and writes its results";
    }
    ledger.totals.push_back(std::move(row));
  }
  ledger.notes = notes_of(snapshot, seen, so_far);
  return ledger;
}

}  // namespace attnscope::app
