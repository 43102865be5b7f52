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

/// A total that the model and a GPU both have.
struct Total {
  const char* label;
  const char* quantity;
  Level level;
  bool write;
  std::string_view counter_name;  ///< empty for the time
};

constexpr Total kTotals[] = {
    {"requested read", "read", Level::requested, false, counter::kRequestedReadBytes},
    {"requested written", "written", Level::requested, true, counter::kRequestedWriteBytes},
    {"DRAM read", "read", Level::dram, false, counter::kDramReadBytes},
    {"DRAM written", "written", Level::dram, true, counter::kDramWriteBytes},
    {"time at least", "time", Level::time, false, ""}};

double modelled_whole(const Total& total, const RunInfo& run, const Bytes& requested) {
  if (total.level == Level::time) return run.totals.predicted_s;
  return bytes_of(total.level == Level::dram ? run.totals.dram : requested, total.write);
}

/// Puts what the GPU showed beside the row.
void add_seen(LedgerRow& row, const Total& total, const SeenRun& seen) {
  const ComparisonLine* line =
      seen.comparison ? seen.comparison->find(total.level, total.quantity) : nullptr;
  if (line == nullptr || !line->recorded) {
    row.seen.about =
        "unavailable: " + (line != nullptr ? line->unavailable : seen.run->why_unavailable());
    return;
  }
  row.seen.bytes = line->recorded;
  row.seen.about = seen.run->provenance.describe();
  if (!total.counter_name.empty())
    row.seen.about += fmt::format("\ncounter {}", total.counter_name);
  row.gap_percent = line->gap_percent;
  row.gap_reason = line->reason;
}

std::string_view about_total(const Total& total) {
  if (total.level == Level::dram) {
    return "compulsory: each launch reads its operands once and writes its results";
  }
  return total.level == Level::time ? "the roofline's floor, from the datasheet's rates" : "";
}

/// The model at the kernel's tiles and what the GPU showed, whole pass of all heads.
std::vector<LedgerRow> kernel_rows(const SeenRun& seen) {
  std::vector<LedgerRow> rows;
  for (const Total& total : kTotals) {
    const ComparisonLine* line = seen.comparison->find(total.level, total.quantity);
    if (line == nullptr) continue;
    LedgerRow row;
    row.label = total.label;
    row.unit = line->unit;
    row.modelled = row.whole = line->modelled;
    row.formula_text = about_total(total);
    add_seen(row, total, seen);
    rows.push_back(std::move(row));
  }
  return rows;
}

/// Whether the kernel cut the problem otherwise than the screen.
bool has_other_tiles(const RunInfo& run, const SeenRun& seen) {
  if (!seen.comparison) return false;
  const SimulationReport& model = seen.comparison->model;
  return !(model.tiling == run.tiling) || model.output_rows > 0;
}

std::string about_kernel_rows(const RunInfo& run, const SimulationReport& model) {
  std::string about = fmt::format(
      "the kernel ran with tiles of {} × {}; the screen steps through tiles of {} × {}\nmodelled "
      "here: the whole pass at the kernel's tiles",
      model.tiling.Br, model.tiling.Bc, run.tiling.Br, run.tiling.Bc);
  if (model.output_rows > 0) {
    about += fmt::format("\nP V reads V once for every {} rows of O, as its bytes tell",
                         model.output_rows);
  }
  return about;
}

/// What a GPU showed is of the whole pass of all heads: it stands beside nothing less. `seen` is
/// left out where it belongs to other tiles.
std::vector<LedgerRow> total_rows(const Snapshot& snapshot, bool so_far, const SeenRun& seen,
                                  bool other_tiles) {
  const RunInfo& run = *snapshot.run;
  const bool part_of_heads = so_far && run.problem.batch * run.problem.heads > 1;
  const Bytes requested = part_of_heads ? sum(run.head_bytes) : run.totals.requested;
  std::vector<LedgerRow> rows;
  for (const Total& total : kTotals) {
    const bool is_requested = total.level == Level::requested;
    if (!is_requested && (part_of_heads || other_tiles)) continue;  // known for all heads together
    LedgerRow row;
    row.label = total.label;
    if (!is_requested && so_far) row.label += ", whole";
    row.unit = total.level == Level::time ? "s" : "bytes";
    row.whole = modelled_whole(total, run, requested);
    row.modelled =
        is_requested && so_far ? bytes_of(sum(snapshot.bytes_so_far), total.write) : row.whole;
    row.formula_text = about_total(total);
    if (seen.run == nullptr) {
      row.seen.about = kNotRecorded;
    } else if (part_of_heads) {
      row.seen.about = "unavailable: a GPU runs all heads; see the whole pass";
    } else if (!other_tiles) {
      add_seen(row, total, seen);
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

std::vector<std::string> notes_of(const Snapshot& snapshot, bool so_far) {
  const SimulationReport& totals = snapshot.run->totals;
  const double flops =
      static_cast<double>(so_far ? snapshot.matmul_flops_so_far + snapshot.other_flops_so_far
                                 : totals.matmul_flops + totals.non_matmul_flops);
  return {
      fmt::format("paper {}", draw::format_si(static_cast<double>(totals.paper.total()), "B")),
      draw::format_si(flops, "FLOP"),
      fmt::format("peak HBM {}", draw::format_si(static_cast<double>(totals.peak_hbm_bytes), "B"))};
}

}  // namespace

std::string short_gpu_name(std::string_view name) {
  if (name.starts_with("NVIDIA ")) name.remove_prefix(7);
  return std::string(name.substr(0, name.find(' ')));
}

SeenRun find_seen_run(const RunInfo& run, const Measurements& measurements) {
  SeenRun seen;
  seen.run = measurements.find(run.problem, run.algorithm->name, to_string(run.totals.pass),
                               run.tiling, run.options.carry);
  if (seen.run == nullptr || !seen.run->row.measurement) return seen;
  Result<Comparison> comparison = model_and_compare(seen.run->row, run.gpu);
  if (comparison) seen.comparison = std::move(comparison).value();
  return seen;
}

Ledger make_ledger(const Snapshot& snapshot, LedgerScope scope, const SeenRun& seen) {
  const RunInfo& run = *snapshot.run;
  const bool so_far = scope == LedgerScope::so_far;
  const bool one_head = run.problem.batch * run.problem.heads == 1;
  const bool other_tiles = has_other_tiles(run, seen) && (one_head || !so_far);
  Ledger ledger;
  ledger.all_heads = !so_far && !one_head;
  ledger.tensors = tensor_rows(snapshot, ledger.all_heads, so_far);
  ledger.seen_heading = "recorded";
  ledger.seen_about = kNotRecorded;
  if (seen.run != nullptr) {
    ledger.seen_kind = seen.run->provenance.kind;
    ledger.seen_heading = fmt::format("{} {}", to_string(seen.run->provenance.kind),
                                      short_gpu_name(seen.run->provenance.gpu));
    ledger.seen_about = about_run(*seen.run);
  }
  ledger.totals = total_rows(snapshot, so_far, seen, other_tiles);
  if (other_tiles) {
    const SimulationReport& model = seen.comparison->model;
    ledger.kernel_title = fmt::format("kernel's tile {} × {}; above {} × {}", model.tiling.Br,
                                      model.tiling.Bc, run.tiling.Br, run.tiling.Bc);
    ledger.kernel_about = about_kernel_rows(run, model);
    ledger.kernel_totals = kernel_rows(seen);
  }
  ledger.notes = notes_of(snapshot, so_far);
  return ledger;
}

}  // namespace attnscope::app
