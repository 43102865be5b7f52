#include "app/panels/ledger_rows.h"

#include <fmt/format.h>

#include <algorithm>

#include "app/draw/format.h"
#include "app/panels/snapshot_view.h"
#include "sim/accuracy.h"

namespace attnscope::app {

namespace {

constexpr std::string_view kNotApart =
    "unavailable: hardware counters count all tensors together, not one by one";

double bytes_of(const Bytes& bytes, bool write) {
  return static_cast<double>(write ? bytes.write_bytes : bytes.read_bytes);
}

/// A tensor in one direction, without its closed form.
LedgerRow tensor_row(const Snapshot& snapshot, Tensor tensor, bool write, bool all_heads,
                     bool so_far) {
  const RunInfo& run = *snapshot.run;
  const Bytes& whole = all_heads ? of(run.totals.by_tensor, tensor) : of(run.head_bytes, tensor);
  const Bytes& shown = so_far ? of(snapshot.bytes_so_far, tensor) : whole;
  LedgerRow row;
  row.label = fmt::format("{} {}", display_name(tensor), write ? "written" : "read");
  row.tensor = tensor;
  row.modelled = bytes_of(shown, write);
  row.whole = bytes_of(whole, write);
  row.seen.about = kNotApart;
  return row;
}

/// Rows of the tensors that are moved. m and l are always moved together and share their rows.
std::vector<LedgerRow> tensor_rows(const Snapshot& snapshot, const LedgerBasis& basis,
                                   bool all_heads, bool so_far) {
  std::vector<LedgerRow> rows;
  for (const TrafficFormula& formula : all_heads ? basis.whole_formulas : basis.head_formulas) {
    LedgerRow row = tensor_row(snapshot, formula.tensor, formula.write, all_heads, so_far);
    row.formula = static_cast<double>(formula.bytes);
    row.formula_text = formula.text;
    const auto joined =
        std::ranges::find(rows, formula.write ? "l written" : "l read", &LedgerRow::label);
    if (formula.tensor == Tensor::m && joined != rows.end()) {
      joined->label = formula.write ? "l, m written" : "l, m read";
      *joined->modelled += *row.modelled;
      joined->whole += row.whole;
      *joined->formula += *row.formula;
      joined->formula_text = "2 · (" + row.formula_text + ")";
      continue;
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

/// Rows of the tensors without a closed form: in a variant, or in both passes together.
void add_rows_without_formula(const Snapshot& snapshot, bool all_heads, bool so_far,
                              std::vector<LedgerRow>& rows) {
  for (const Tensor tensor : kTensors) {
    const bool listed = std::ranges::any_of(rows, [&](const LedgerRow& row) {
      return row.tensor == tensor || (row.tensor == Tensor::l && tensor == Tensor::m);
    });
    if (listed) continue;
    for (const bool write : {false, true}) {
      LedgerRow row = tensor_row(snapshot, tensor, write, all_heads, so_far);
      if (row.whole == 0.0) continue;
      row.formula_text = snapshot.run->pass_kind() == PassKind::both
                             ? "no closed form of both passes together"
                             : "no closed form of this variant";
      rows.push_back(std::move(row));
    }
  }
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
    {"time, lower bound", "time", Level::time, false, ""}};

/// Sets the modelled number of the whole pass; of DRAM, only where there is a prediction.
void set_modelled(LedgerRow& row, const Total& total, const SimulationReport& totals,
                  const std::optional<DramPrediction>& dram, const Bytes& requested) {
  switch (total.level) {
    case Level::time:
      row.modelled = totals.bound_s;
      break;
    case Level::dram:
      if (dram) row.modelled = bytes_of(dram->total, total.write);
      break;
    default:
      row.modelled = bytes_of(requested, total.write);
  }
  row.whole = row.modelled.value_or(0.0);
}

/// What the DRAM rows say about their prediction, beside the compulsory bytes.
void add_compulsory(LedgerRow& row, const Total& total, const SimulationReport& model,
                    const std::optional<DramPrediction>& dram) {
  row.formula = bytes_of(model.compulsory, total.write);
  row.is_compulsory = true;
  row.formula_text = total.write
                         ? "each result once, unless it stays in L2 for a later launch; the last "
                           "lines may still be in L2 at the end"
                         : "the operands of each launch once, except those that an earlier launch "
                           "left in L2 whole";
  if (!dram) {
    row.formula_text += "\nnot predicted: too many tiles to follow through L2 while you wait";
  } else if (dram->in_transition()) {
    row.formula_text +=
        fmt::format("\nin transition: what blocks read again is about as large as L2; {} to {}",
                    draw::format_bytes(bytes_of(dram->least, total.write)),
                    draw::format_bytes(bytes_of(dram->most, total.write)));
  }
}

/// Adds the GPU's number to the row.
void add_seen(LedgerRow& row, const Total& total, const LedgerBasis& basis) {
  const ComparisonLine* line =
      basis.comparison ? basis.comparison->find(total.level, total.quantity) : nullptr;
  if (line == nullptr || !line->recorded) {
    row.seen.about =
        "unavailable: " + (line != nullptr ? line->unavailable : basis.seen->why_unavailable());
    return;
  }
  row.seen.value = line->recorded;
  row.seen.about = basis.seen->provenance.describe();
  if (!total.counter_name.empty())
    row.seen.about += fmt::format("\ncounter {}", total.counter_name);
  row.gap_percent = line->gap_percent;
  row.in_place_of_gap = line->in_place_of_gap;
  row.gap_reason = line->reason;
}

std::string_view about_total(const Total& total) {
  if (total.level != Level::time) return "";
  return "lower bound of the whole pass: launch by launch, the longest of the times that tensor "
         "cores, CUDA cores, special function units (exponentials) and DRAM need at the "
         "datasheet's peak rates; the SMs tab gives each SM its share of these rates, so its bound "
         "is longer where SMs stay idle";
}

/// The GPU's numbers for the whole pass of all heads: beside the model at the kernel's tiles, or
/// alone.
std::vector<LedgerRow> apart_rows(const LedgerBasis& basis) {
  std::vector<LedgerRow> rows;
  for (const Total& total : kTotals) {
    const ComparisonLine* line = basis.comparison->find(total.level, total.quantity);
    if (line == nullptr) continue;
    LedgerRow row;
    row.label = total.level == Level::time && !line->modelled ? "time" : total.label;
    row.unit = line->unit;
    row.modelled = line->modelled;
    row.whole = line->modelled.value_or(0.0);
    if (line->modelled) row.formula_text = about_total(total);
    if (line->modelled && total.level == Level::dram) {
      add_compulsory(row, total, basis.comparison->model, basis.comparison->model.dram);
    }
    add_seen(row, total, basis);
    rows.push_back(std::move(row));
  }
  return rows;
}

/// Whether the run may not be compared with the model at all.
bool stands_alone(const LedgerBasis& basis) {
  return basis.comparison && !basis.comparison->stands_alone.empty();
}

/// Whether the run is compared with the model at the kernel's tiles, which are not the screen's.
bool has_other_tiles(const RunInfo& run, const LedgerBasis& basis) {
  if (!basis.comparison || stands_alone(basis)) return false;
  const SimulationReport& model = basis.comparison->model;
  return model.run.tiling != run.tiling() || model.run.asked.variant.output_rows > 0;
}

std::string about_kernel_rows(const RunInfo& run, const SimulationReport& model) {
  std::string about = fmt::format(
      "the kernel ran with tiles of {} × {}; the screen steps through tiles of {} × {}\nmodelled "
      "here: the whole pass at the kernel's tiles",
      model.run.tiling.Br, model.run.tiling.Bc, run.tiling().Br, run.tiling().Bc);
  if (const Index rows = model.run.asked.variant.output_rows; rows > 0) {
    about += fmt::format("\nP V reads V once for every {} rows of O: derived from its bytes", rows);
  }
  return about;
}

/// A GPU's numbers are for the whole pass of all heads: they are shown only beside modelled numbers
/// of the same scope, and not here when they have separate rows. `other_tiles`: these rows have a
/// separate model.
std::vector<LedgerRow> total_rows(const Snapshot& snapshot, bool so_far, const LedgerBasis& basis,
                                  bool other_tiles) {
  const RunInfo& run = *snapshot.run;
  const bool part_of_heads = so_far && run.problem().batch * run.problem().heads > 1;
  const Bytes requested = part_of_heads ? sum(run.head_bytes) : run.totals.requested;
  std::vector<LedgerRow> rows;
  for (const Total& total : kTotals) {
    const bool is_requested = total.level == Level::requested;
    if (!is_requested && (part_of_heads || other_tiles)) continue;  // known for all heads only
    LedgerRow row;
    row.label = total.label;
    if (total.level == Level::dram && so_far) row.label += ", whole";
    row.unit = total.level == Level::time ? "s" : "bytes";
    set_modelled(row, total, run.totals, basis.dram, requested);
    if (is_requested && so_far) row.modelled = bytes_of(sum(snapshot.bytes_so_far), total.write);
    row.formula_text = about_total(total);
    if (total.level == Level::dram) add_compulsory(row, total, run.totals, basis.dram);
    if (!basis.seen) {
      row.seen.about = basis.why_not_seen;
    } else if (part_of_heads) {
      row.seen.about = "unavailable: a GPU runs all heads; see the whole pass";
    } else if (!other_tiles && !stands_alone(basis)) {
      add_seen(row, total, basis);
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

/// The run beside the model at the kernel's tiles.
void set_tiles_apart(const RunInfo& run, const LedgerBasis& basis, Ledger& ledger) {
  const SimulationReport& model = basis.comparison->model;
  const Tiling& tiling = model.run.tiling;
  const std::string tile = fmt::format("kernel's tile {} × {}", tiling.Br, tiling.Bc);
  ledger.apart_titles = {fmt::format("{}; above {} × {}", tile, run.tiling().Br, run.tiling().Bc),
                         tile};
  ledger.apart_about = about_kernel_rows(run, model);
  ledger.apart_of = "at the kernel's tiles";
  ledger.apart = apart_rows(basis);
}

/// Shows only the run, under the name of its GPU.
void set_recording_apart(const LedgerBasis& basis, Ledger& ledger) {
  const Comparison& comparison = *basis.comparison;
  ledger.apart_titles = {
      fmt::format("no gap: {}", comparison.stands_alone),
      fmt::format("{} on {}, alone: no gap", to_string(ledger.seen_kind), ledger.seen_gpu),
      fmt::format("{}, alone", ledger.seen_gpu)};
  ledger.apart_about = fmt::format("no gap: {}\n{}", comparison.stands_alone, ledger.seen_about);
  if (const Tiling& tiling = basis.seen->row.run.tiling; tiling.Br > 0) {
    ledger.apart_about += fmt::format("\ntiles {} × {}", tiling.Br, tiling.Bc);
  }
  ledger.apart_of = fmt::format("{} on {}", to_string(ledger.seen_kind), comparison.on.device.name);
  ledger.apart = apart_rows(basis);
}

/// GPU, date, time and accuracy of a run.
std::string about_run(const MeasuredRun& run) {
  std::string about = run.provenance.describe();
  if (!run.row.measurement) return fmt::format("{}\nunavailable: {}", about, run.why_unavailable());
  const TimeStatistics& time = run.row.measurement->time;
  if (time.n == 0) {
    return fmt::format(
        "{}\n{} a pass, timed beside a trace of its thread blocks: see the "
        "timeline's SMs; no counters",
        about, draw::format_seconds(time.median_s));
  }
  about += fmt::format("\nmedian {} of {} runs ({} to {})", draw::format_seconds(time.median_s),
                       time.n, draw::format_seconds(time.min_s), draw::format_seconds(time.max_s));
  if (time.sm_clock_hz)
    about += fmt::format("\nSM clock {}", draw::format_si(*time.sm_clock_hz, "Hz"));
  if (const auto& accuracy = run.row.measurement->accuracy) {
    about += fmt::format("\nlargest error {} over {} rows, {} tolerance",
                         draw::format_error(accuracy->max_abs_error), accuracy->rows_checked,
                         accuracy->within_tolerance ? "within" : "beyond");
    const ResolvedRun& ran = run.row.run;
    const auto note =
        rounded_output_note(ran.algorithm(), ran.asked.variant.carry, ran.problem.dtype);
    if (!note.empty()) about += fmt::format("\n{}", note);
  }
  return about;
}

/// Counts so far are of the shown head; the paper's bytes and the peak are of the whole pass.
std::vector<std::string> notes_of(const Snapshot& snapshot, bool so_far) {
  const RunInfo& run = *snapshot.run;
  const SimulationReport& totals = run.totals;
  const auto words = [](Index amount, const char* unit) { return draw::format_si(amount, unit); };
  const std::string paper = "paper " + words(totals.paper.total(), "B");
  const std::string peak = "peak memory " + words(totals.peak_hbm_bytes, "B");
  if (!so_far) return {paper, words(totals.matmul_flops + totals.non_matmul_flops, "FLOP"), peak};
  const bool one_head = run.problem().batch * run.problem().heads == 1;
  const Index flops = snapshot.matmul_flops_so_far + snapshot.other_flops_so_far;
  return {words(flops, "FLOP") + " so far",
          fmt::format("whole pass{}: {}", one_head ? "" : ", all heads", paper), peak};
}

/// All notes in a line, then in fewer words, then fewer of them with a mark, never a part of one.
std::vector<std::string> note_wordings(const std::vector<std::string>& notes) {
  std::vector<std::string> wordings = {fmt::format("{}", fmt::join(notes, " · "))};
  constexpr std::string_view kLong = "whole pass, all heads";
  for (const std::string_view brief : {"whole of all heads", "all heads"}) {
    const std::size_t at = wordings.front().find(kLong);
    if (at == std::string::npos) break;
    wordings.push_back(std::string(wordings.front()).replace(at, kLong.size(), brief));
  }
  for (std::size_t kept = notes.size(); kept-- > 1;) {
    const auto end = notes.begin() + static_cast<std::ptrdiff_t>(kept);
    wordings.push_back(fmt::format("{} · …", fmt::join(notes.begin(), end, " · ")));
  }
  return wordings;
}

/// A field of a CSV file: in quotes where it has a comma ("l, m read").
std::string csv_field(std::string_view text) {
  return text.find(',') == std::string_view::npos ? std::string(text) : fmt::format("\"{}\"", text);
}

}  // namespace

std::string short_gpu_name(std::string_view name) {
  if (name.starts_with("NVIDIA ")) name.remove_prefix(7);
  return std::string(name.substr(0, name.find(' ')));
}

Ledger make_ledger(const Snapshot& snapshot, LedgerScope scope, const LedgerBasis& basis) {
  const RunInfo& run = *snapshot.run;
  const bool so_far = scope == LedgerScope::so_far;
  const bool one_head = run.problem().batch * run.problem().heads == 1;
  const bool whole = one_head || !so_far;  // like a GPU's numbers
  const bool other_tiles = has_other_tiles(run, basis) && whole;
  Ledger ledger;
  ledger.all_heads = !so_far && !one_head;
  ledger.tensors = tensor_rows(snapshot, basis, ledger.all_heads, so_far);
  add_rows_without_formula(snapshot, ledger.all_heads, so_far, ledger.tensors);
  ledger.seen_heading = "recorded";
  ledger.seen_about = basis.why_not_seen;
  if (basis.seen) {
    ledger.seen_kind = basis.seen->provenance.kind;
    ledger.seen_gpu = short_gpu_name(basis.seen->provenance.gpu());
    ledger.seen_heading =
        fmt::format("{} {}", to_string(basis.seen->provenance.kind), ledger.seen_gpu);
    ledger.seen_about = about_run(*basis.seen);
  }
  ledger.totals = total_rows(snapshot, so_far, basis, other_tiles);
  ledger.stands_alone = stands_alone(basis);
  if (other_tiles) {
    set_tiles_apart(run, basis, ledger);
  } else if (ledger.stands_alone && whole) {
    set_recording_apart(basis, ledger);
  }
  ledger.notes = note_wordings(notes_of(snapshot, so_far));
  return ledger;
}

std::string ledger_csv(const Ledger& ledger) {
  std::string csv =
      fmt::format("quantity,unit,modelled,whole_pass,formula,{}\n", csv_field(ledger.seen_heading));
  const auto add = [&](const LedgerRow& row, std::string_view of) {
    const std::string modelled =
        row.modelled ? fmt::format("{:.9g},{:.9g}", *row.modelled, row.whole) : ",";
    csv += fmt::format("{},{},{},{},{}\n", csv_field(row.label + std::string(of)), row.unit,
                       modelled, row.formula ? fmt::format("{:.0f}", *row.formula) : "",
                       row.seen.value ? fmt::format("{:.9g}", *row.seen.value)
                                      : (row.seen.about.empty() ? "" : "unavailable"));
  };
  for (const LedgerRow& row : ledger.tensors) add(row, "");
  for (const LedgerRow& row : ledger.totals) add(row, "");
  for (const LedgerRow& row : ledger.apart) add(row, " " + ledger.apart_of);
  return csv;
}

}  // namespace attnscope::app
