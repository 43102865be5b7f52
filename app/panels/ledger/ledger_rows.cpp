#include "app/panels/ledger/ledger_rows.h"

#include <fmt/format.h>

#include <algorithm>

#include "app/draw/format.h"
#include "app/panels/parts/snapshot_view.h"
#include "sim/accuracy.h"
#include "sim/observers/hbm_footprint.h"

namespace attnscope::app {

namespace {

constexpr std::string_view kNotApart =
    "unavailable: hardware counters count all tensors together, not one by one";

/// The size of the tensor in bytes, in one head or in all of them.
double size_of(Tensor tensor, const RunInfo& run, bool all_heads) {
  const AttentionProblem& problem = run.problem();
  const Index splits = run.options.splits;
  if (all_heads) return static_cast<double>(whole_tensor_bytes(tensor, problem, splits));
  const Index elements = tensor_shape(tensor, problem, splits).elems();
  return static_cast<double>(elements * element_bytes(tensor, problem.dtype));
}

/// Whether the operation at the playhead moves bytes of the tensor in this direction.
bool is_moved(const Snapshot& snapshot, Tensor tensor, bool write) {
  const TileOp& op = snapshot.op;
  if (snapshot.step < 0 || !op.moves_bytes() || write == (op.kind == OpKind::load)) return false;
  return std::ranges::any_of(op.dests(), [&](const Tile& tile) { return tile.tensor == tensor; });
}

/// The row of a tensor in one direction, without its closed form.
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
  row.size_bytes = size_of(tensor, run, all_heads);
  row.seen.about = kNotApart;
  row.is_moved = is_moved(snapshot, tensor, write);
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
      joined->is_moved = joined->is_moved || row.is_moved;
      *joined->size_bytes += *row.size_bytes;
      *joined->formula += *row.formula;
      joined->formula_text = "2 · (" + row.formula_text + ")";
      continue;
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

/// Adds rows of the tensors without a closed form, as in a variant or in both passes together.
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
                             ? "no closed form for both passes together"
                             : "no closed form for this variant";
      rows.push_back(std::move(row));
    }
  }
}

/// Whether the run is compared with the model at the kernel's tiles, which differ from the
/// screen's.
bool has_other_tiles(const RunInfo& run, const LedgerBasis& basis) {
  if (!basis.comparison || stands_alone(basis)) return false;
  const SimulationReport& model = basis.comparison->model;
  return model.run.tiling != run.tiling() ||
         model.run.asked.variant.product_tiles != ProductTiles{};
}

std::string about_kernel_rows(const RunInfo& run, const SimulationReport& model) {
  std::string about = fmt::format(
      "the kernel ran with tiles of {} × {}; the screen steps through tiles of {} × {}\nmodelled "
      "here: the whole pass at the kernel's tiles",
      model.run.tiling.Br, model.run.tiling.Bc, run.tiling().Br, run.tiling().Bc);
  if (const ProductTile O = model.run.asked.variant.product_tiles.O; O.rows > 0) {
    about += fmt::format("\nP V computes tiles of {} × {}", O.rows, O.cols);
  }
  return about;
}

/// Shows the run beside the model at the kernel's tiles.
void set_tiles_apart(const RunInfo& run, const LedgerBasis& basis, Ledger& ledger) {
  const SimulationReport& model = basis.comparison->model;
  const Tiling& tiling = model.run.tiling;
  const std::string tile = fmt::format("kernel's tile {} × {}", tiling.Br, tiling.Bc);
  ledger.apart_titles = {fmt::format("{}; above {} × {}", tile, run.tiling().Br, run.tiling().Bc),
                         tile};
  const ProductTile O = model.run.asked.variant.product_tiles.O;
  if (tiling == run.tiling() && O.rows > 0) {
    ledger.apart_titles = {fmt::format("with cuBLAS's tiles of O, {} × {}", O.rows, O.cols),
                           fmt::format("tiles of O {} × {}", O.rows, O.cols)};
  }
  ledger.apart_about = about_kernel_rows(run, model);
  ledger.apart_of = "at the kernel's tiles";
  ledger.apart = apart_rows(basis);
  ledger.time = basis.compared_time;
}

/// Shows only the run, under the name of its GPU.
void set_recording_apart(const LedgerBasis& basis, Ledger& ledger) {
  const Comparison& comparison = *basis.comparison;
  ledger.apart_titles = {
      fmt::format("not compared: {}", comparison.stands_alone),
      fmt::format("{} on {}, not compared", to_string(ledger.seen_kind), ledger.seen_gpu),
      fmt::format("{}, not compared", ledger.seen_gpu), ledger.seen_gpu};
  ledger.apart_about =
      fmt::format("not compared: {}\n{}", comparison.stands_alone, ledger.seen_about);
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
        "{}\n{} per pass, timed with a trace of its thread blocks (in the timeline's SMs tab); no "
        "counters",
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

/// Counts so far are for the displayed head; the paper's bytes and the peak are for the whole pass.
std::vector<std::string> notes_of(const Snapshot& snapshot, bool so_far) {
  const RunInfo& run = *snapshot.run;
  const SimulationReport& totals = run.totals;
  const auto words = [](Index amount, const char* unit) { return draw::format_si(amount, unit); };
  const std::string paper = "paper " + words(totals.paper.total(), "B");
  if (!so_far) return {paper, words(totals.matmul_flops + totals.non_matmul_flops, "FLOP")};
  const std::string peak = "peak memory " + words(totals.peak_hbm_bytes, "B");
  const bool one_head = run.problem().batch * run.problem().heads == 1;
  const Index flops = snapshot.matmul_flops_so_far + snapshot.other_flops_so_far;
  return {words(flops, "FLOP") + " so far",
          fmt::format("whole pass{}: {}", one_head ? "" : ", all heads", paper), peak};
}

/// All notes in one line, then in fewer words, then fewer notes with a mark, but never a part of a
/// note.
std::vector<std::string> note_wordings(const std::vector<std::string>& notes) {
  std::vector<std::string> wordings = {fmt::format("{}", fmt::join(notes, " · "))};
  constexpr std::string_view kLong = "whole pass, all heads";
  for (const std::string_view brief : {"pass, all heads", "all heads"}) {
    const std::size_t at = wordings.front().find(kLong);
    if (at == std::string::npos) break;
    wordings.push_back(std::string(wordings.front()).replace(at, kLong.size(), brief));
  }
  for (std::size_t kept = notes.size(); kept-- > 1;) {
    const auto end = notes.begin() + static_cast<std::ptrdiff_t>(kept);
    wordings.push_back(fmt::format("{}", fmt::join(notes.begin(), end, " · ")));
  }
  return wordings;
}

/// A field of a CSV file: in quotes if it contains a comma ("l, m read").
std::string csv_field(std::string_view text) {
  return text.find(',') == std::string_view::npos ? std::string(text) : fmt::format("\"{}\"", text);
}

}  // namespace

std::vector<std::string> brief_wordings(const LedgerRow& row) {
  const std::string& words = row.in_place_of_gap;
  return {row.gap_reason, words, words.substr(words.find(' ') + 1),
          words.substr(words.find_last_of(' ') + 1)};
}

std::string short_gpu_name(std::string_view name) {
  if (name.starts_with("NVIDIA ")) name.remove_prefix(7);
  return std::string(name.substr(0, name.find(' ')));
}

std::string number_text(const LedgerRow& row, double value) {
  return row.unit == "s" ? draw::format_seconds(value) : draw::format_bytes(value);
}

std::string in_words(const LedgerRow& row, bool so_far) {
  const bool partial = so_far && row.modelled && *row.modelled != row.whole;
  std::string lines = row.label + ":";
  if (row.modelled) {
    lines +=
        fmt::format(" {} modelled{}", number_text(row, *row.modelled), partial ? " so far" : "");
  } else if (!row.in_place_of_modelled.empty()) {
    lines += " " + row.in_place_of_modelled;
  }
  if (partial) lines += fmt::format(", {} in the whole pass", number_text(row, row.whole));
  if (row.size_bytes) {
    lines += fmt::format("\nin the whole pass {:.4g} times the tensor's size, {}",
                         row.whole / *row.size_bytes, draw::format_bytes(*row.size_bytes));
  }
  if (row.formula) {
    const char* kind = row.is_compulsory ? "compulsory" : "closed form";
    lines += fmt::format("\n{}: {} = {}", kind, row.formula_text, draw::format_bytes(*row.formula));
  } else if (!row.formula_text.empty()) {
    lines += fmt::format("\n{}", row.formula_text);
  }
  if (row.seen.value) {
    lines += fmt::format("\n{} {}", number_text(row, *row.seen.value), row.seen.about);
  } else if (!row.seen.about.empty()) {
    lines += fmt::format("\n{}", row.seen.about);
  }
  if (row.gap_percent) {
    lines += fmt::format("\ngap {}: {}", draw::format_percent(*row.gap_percent), row.gap_reason);
  } else if (!row.gap_reason.empty()) {
    lines += "\n" + row.gap_reason;
  }
  return lines;
}

namespace {

/// The peak of memory, a row of the totals of a whole pass.
LedgerRow peak_row(const RunInfo& run, const LedgerBasis& basis) {
  const auto peak_bytes = static_cast<double>(run.totals.peak_hbm_bytes);
  return {.label = "peak memory",
          .modelled = peak_bytes,
          .whole = peak_bytes,
          .formula_text = "inputs, outputs and workspace of all heads",
          .seen = {.about = basis.seen ? "unavailable: not in any recording" : basis.why_not_seen},
          .gives_way = 1,
          .part = PanelPart::notes};
}

}  // namespace

Ledger make_ledger(const Snapshot& snapshot, LedgerScope scope, const LedgerBasis& basis) {
  const RunInfo& run = *snapshot.run;
  const bool so_far = scope == LedgerScope::so_far;
  const bool one_head = run.problem().batch * run.problem().heads == 1;
  const bool whole = one_head || !so_far;  // the scope of a GPU's numbers
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
  if (!so_far) ledger.totals.push_back(peak_row(run, basis));
  ledger.stands_alone = stands_alone(basis);
  if (whole) ledger.time = basis.time;
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
