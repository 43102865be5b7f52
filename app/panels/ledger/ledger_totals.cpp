/// The ledger's totals: bytes and time of the whole pass, modelled and from a GPU.

#include <fmt/format.h>

#include "app/draw/format.h"
#include "app/panels/ledger/ledger_rows.h"

namespace attnscope::app {

namespace {

/// A total that both the model and a GPU have.
struct Total {
  const char* label;
  std::string_view quantity;
  Level level;
  bool write;
  std::string_view counter_name;  ///< empty for the time
};

constexpr const char* kTime = "time";

constexpr const char* kAboutBound =
    "lower bound of the whole pass: launch by launch, the longest of the times that tensor cores, "
    "CUDA cores, special function units (exponentials) and DRAM need at the datasheet's peak "
    "rates; the SMs tab gives each SM its share of these rates, so its bound is higher where SMs "
    "stay idle";

constexpr Total kTotals[] = {
    {"requested read", "read", Level::requested, false, counter::kRequestedReadBytes},
    {"requested written", "written", Level::requested, true, counter::kRequestedWriteBytes},
    {"L2 missed", kMissedQuantity, Level::l2, false, counter::kL2HitSectors},
    {"DRAM read", "read", Level::dram, false, counter::kDramReadBytes},
    {"DRAM written", "written", Level::dram, true, counter::kDramWriteBytes},
    {"time, predicted", kTime, Level::time, false, ""},
    {"time, lower bound", kTime, Level::bound, false, ""}};

std::string unit_of(const Total& total) {
  return total.quantity == kTime ? "s" : "bytes";
}

/// The part of the ledger that a lesson may hide.
std::optional<PanelPart> part_of(const Total& total) {
  if (total.quantity == kTime) return PanelPart::time;
  if (total.level == Level::requested) {
    return total.write ? std::optional(PanelPart::written) : std::nullopt;
  }
  return total.level == Level::l2 ? PanelPart::l2 : PanelPart::dram;
}

/// Sets the modelled number of the whole pass; for DRAM and time, only if there is a prediction.
void set_modelled(LedgerRow& row, const Total& total, const SimulationReport& totals,
                  const LedgerBasis& basis, const Bytes& requested) {
  switch (total.level) {
    case Level::time:
      if (basis.time.prediction) row.modelled = basis.time.prediction->seconds;
      break;
    case Level::bound:
      row.modelled = totals.bound_s;
      break;
    case Level::l2:
      if (basis.dram) row.modelled = static_cast<double>(basis.dram->total_missed_bytes());
      break;
    case Level::dram:
      if (basis.dram) row.modelled = bytes_of(basis.dram->total, total.write);
      break;
    default:
      row.modelled = bytes_of(requested, total.write);
  }
  row.whole = row.modelled.value_or(0.0);
}

/// If less than this share of the results is written to DRAM, the row says where the rest is.
constexpr double kAlmostAll = 0.99;

/// Adds the compulsory bytes to a DRAM row, with a note about its prediction.
void add_compulsory(LedgerRow& row, const Total& total, const SimulationReport& model,
                    const std::optional<DramPrediction>& dram) {
  row.formula = bytes_of(model.compulsory, total.write);
  row.is_compulsory = true;
  row.formula_text = total.write
                         ? "each result once, unless it stays in L2 for a later launch; the last "
                           "lines may still be in L2 at the end"
                         : "the operands of each launch once, except those that an earlier launch "
                           "left whole in L2";
  if (dram && total.write && row.whole < kAlmostAll * *row.formula) {
    row.in_place_of_size = row.whole > 0.0
                               ? std::vector<std::string>{"rest still in L2", "rest in L2"}
                               : std::vector<std::string>{"all still in L2", "all in L2"};
  }
  if (!dram) {
    row.formula_text += "\nnot predicted: too many tiles to follow through L2 while you wait";
  } else if (dram->in_transition()) {
    row.formula_text += fmt::format(
        "\nin transition: the data that blocks read again is about as large as L2; {} to {}",
        draw::format_bytes(bytes_of(dram->least, total.write)),
        draw::format_bytes(bytes_of(dram->most, total.write)));
  }
}

/// The order in which rows are left out to make room for tensors: first those that repeat or only
/// add to other rows. Requested bytes and the predicted time always stay.
std::size_t turn_to_give_way(const Total& total, const PredictedTime& time) {
  if (total.level == Level::l2) return 2;
  if (total.level == Level::bound) return time.prediction ? 3 : 0;
  if (total.level == Level::dram) return total.write ? 4 : 5;
  return 0;
}

/// Adds a note on what an L2 row counts.
void add_about_l2(LedgerRow& row, const Total& total) {
  if (total.level != Level::l2) return;
  row.formula_text =
      "of the bytes read from L2 or added there, those missing from the SM's own partition: they "
      "come from the other partition or from DRAM";
}

/// Adds the note of a row with a time; if the predicted time is missing, its cell says so, too.
void add_about_time(LedgerRow& row, const Total& total, const PredictedTime& time) {
  if (total.level == Level::bound) row.formula_text = kAboutBound;
  if (total.level != Level::time) return;
  row.formula_text = time.about;
  if (!row.modelled) row.in_place_of_modelled = to_string(time.basis);
}

/// Adds the GPU's number to the row. Without a prediction, the recorded time has no gap.
void add_seen(LedgerRow& row, const Total& total, const LedgerBasis& basis) {
  const auto find = [&](Level level) {
    return basis.comparison ? basis.comparison->find(level, total.quantity) : nullptr;
  };
  const ComparisonLine* line = find(total.level);
  if (line == nullptr && total.level == Level::time) line = find(Level::bound);
  if (line == nullptr || !line->recorded) {
    row.seen.about =
        "unavailable: " + (line != nullptr ? line->unavailable : basis.seen->why_unavailable());
    return;
  }
  row.seen.value = line->recorded;
  row.seen.about = basis.seen->provenance.describe();
  if (!total.counter_name.empty())
    row.seen.about += fmt::format("\ncounter {}", total.counter_name);
  if (line->level != total.level) return;
  row.gap_percent = line->gap_percent;
  row.in_place_of_gap = line->in_place_of_gap;
  row.gap_reason = words(line->reason, Reader::screen);
  row.gap_cause = line->cause;
}

/// Removes the gap of an incomplete count: the GPU's number is for the whole pass.
void hide_gap_so_far(LedgerRow& row) {
  if (!row.gap_percent) return;
  row.gap_percent.reset();
  row.in_place_of_gap = "at the end";
  row.gap_reason = "compared at the end of the pass";
}

}  // namespace

bool stands_alone(const LedgerBasis& basis) {
  return basis.comparison && !basis.comparison->stands_alone.empty();
}

std::vector<LedgerRow> apart_rows(const LedgerBasis& basis) {
  std::vector<LedgerRow> rows;
  for (const Total& total : kTotals) {
    const ComparisonLine* line = basis.comparison->find(total.level, total.quantity);
    const bool is_missing_time = line == nullptr && total.level == Level::time;
    if (line == nullptr && !is_missing_time) continue;
    LedgerRow row;
    row.label = stands_alone(basis) && total.quantity == kTime ? kTime : total.label;
    row.part = part_of(total);
    row.unit = unit_of(total);
    if (line != nullptr) row.modelled = line->modelled;
    row.whole = row.modelled.value_or(0.0);
    if (!stands_alone(basis)) add_about_time(row, total, basis.compared_time);
    if (row.modelled && total.level == Level::dram) {
      add_compulsory(row, total, basis.comparison->model, basis.comparison->model.dram);
    }
    add_about_l2(row, total);
    add_seen(row, total, basis);
    row.gives_way = turn_to_give_way(total, basis.compared_time);
    if (stands_alone(basis)) row.gives_way = row.seen.value ? 0 : 1;
    rows.push_back(std::move(row));
  }
  return rows;
}

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
    row.part = part_of(total);
    const bool whole_only = total.level == Level::dram || total.level == Level::l2;
    if (whole_only && so_far) row.label += ", whole";
    row.unit = unit_of(total);
    set_modelled(row, total, run.totals, basis, requested);
    if (is_requested && so_far) row.modelled = bytes_of(sum(snapshot.bytes_so_far), total.write);
    add_about_time(row, total, basis.time);
    add_about_l2(row, total);
    if (total.level == Level::dram) add_compulsory(row, total, run.totals, basis.dram);
    if (!basis.seen) {
      row.seen.about = basis.why_not_seen;
    } else if (part_of_heads) {
      row.seen.about = "unavailable: a GPU runs all heads; see the whole pass";
    } else if (!other_tiles && !stands_alone(basis)) {
      add_seen(row, total, basis);
      if (is_requested && row.modelled != row.whole) hide_gap_so_far(row);
    }
    row.gives_way = turn_to_give_way(total, basis.time);
    rows.push_back(std::move(row));
  }
  return rows;
}

Ledger without(Ledger ledger, std::set<PanelPart> hidden) {
  if (hidden.contains(PanelPart::dram)) hidden.insert(PanelPart::l2);
  for (std::vector<LedgerRow>* rows : {&ledger.totals, &ledger.apart}) {
    std::erase_if(*rows,
                  [&](const LedgerRow& row) { return row.part && hidden.contains(*row.part); });
  }
  if (hidden.contains(PanelPart::time)) ledger.time = {};
  if (hidden.contains(PanelPart::notes)) ledger.notes.assign(1, "");
  return ledger;
}

}  // namespace attnscope::app
