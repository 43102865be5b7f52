/// The lines of the ledger: modelled numbers, closed forms and a GPU's numbers.
/// Draws nothing.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/jobs/measurements.h"
#include "app/panels/ledger/traffic_formulas.h"
#include "app/report/compare.h"
#include "app/report/time_words.h"
#include "app/scene/view_state.h"
#include "reference/run_spec.h"
#include "sim/schedule/algorithm.h"
#include "sim/snapshot/snapshot.h"

namespace attnscope::app {

/// A number from a GPU, or why there is none.
struct SeenNumber {
  std::optional<double> value;  ///< in the row's unit
  std::string about;            ///< provenance, or "unavailable: ..."
};

struct LedgerRow {
  std::string label;               ///< "K read"
  std::optional<Tensor> tensor;    ///< its colour marks the row; none for totals
  std::string unit = "bytes";      ///< or "s"
  std::optional<double> modelled;  ///< in the chosen scope; nothing when a recording is shown alone
  std::string in_place_of_modelled = {};  ///< "bounds only", if a time is not predicted
  double whole = 0.0;                     ///< the modelled number of the whole pass
  std::optional<double> size_bytes = {};  ///< the tensor's size in the displayed heads
  /// Where the bytes that have not reached DRAM are, the longest wording first; empty: all have.
  std::vector<std::string> in_place_of_size = {};
  std::optional<double> formula;  ///< closed form of the whole pass; of DRAM, the compulsory bytes
  std::string formula_text;
  bool is_compulsory = false;  ///< true: the formula gives compulsory bytes
  SeenNumber seen;             ///< recorded or measured, whole pass of all heads
  std::optional<double> gap_percent;
  std::string in_place_of_gap;  ///< "launch latency", if a ratio would mislead
  std::string gap_reason;
  std::string gap_cause = {};  ///< the reason of a gap in one or two words; empty: none is known
  std::size_t gives_way = 0;   ///< rows with 1 are left out first when tensors lack room; 0: never
  bool is_moved = false;       ///< whether the operation at the playhead moves these bytes
  std::optional<PanelPart> part = {};  ///< the part that a lesson may hide
};

/// The largest value of LedgerRow::gives_way.
inline constexpr std::size_t kLastTurnToGiveWay = 5;

/// The row's value with its unit.
std::string number_text(const LedgerRow& row, double value);
/// The written or the read bytes.
inline double bytes_of(const Bytes& bytes, bool write) {
  return static_cast<double>(write ? bytes.write_bytes : bytes.read_bytes);
}
/// The full description of a row, for its tooltip.
std::string in_words(const LedgerRow& row, bool so_far);

/// A predicted time, and its basis.
struct PredictedTime {
  std::optional<TimePrediction> prediction;
  TimeBasis basis = TimeBasis::bounds_only;
  std::string about;  ///< the basis, in a sentence
};

// The basis, computed in the background (ledger_basis.cpp).

/// The data of a ledger besides the snapshot; the same for every step of a run.
struct LedgerBasis {
  std::vector<TrafficFormula> head_formulas;   ///< formulas for the displayed head
  std::vector<TrafficFormula> whole_formulas;  ///< formulas for all heads together
  std::optional<MeasuredRun> seen;             ///< the run shown beside the model
  /// Compares that run with the model at its tiles; nothing without a measurement.
  std::optional<Comparison> comparison;
  std::string why_not_seen;  ///< if there is no run: "unavailable: ..."
  /// The prediction for the run on the screen; nothing if it takes too long.
  std::optional<DramPrediction> dram;
  PredictedTime time;
  PredictedTime compared_time;  ///< the time of the comparison's model
};
/// The run to show beside the model, a traced one if there is no other; nothing if there is none.
std::optional<MeasuredRun> find_seen_run(const RunInfo& run, const Measurements& measurements);
/// Predicts DRAM bytes and the time, at the kernel's tiles as well if there is a run: call it in
/// the background. `cancel` ends it early, with an incomplete basis.
LedgerBasis make_ledger_basis(const RunInfo& run, std::optional<MeasuredRun> seen,
                              const std::atomic<bool>* cancel = nullptr);

struct Ledger {
  std::vector<LedgerRow> tensors;
  std::vector<LedgerRow> totals;  ///< requested, L2 and DRAM bytes, times
  /// If the run is not the one on the screen, its rows are separate, under a line with the reason:
  /// with other tiles, beside the model at the kernel's tiles; with any other difference, alone.
  std::vector<LedgerRow> apart;
  std::vector<std::string> apart_titles;  ///< longest wording first; each names the rows' scope
  std::string apart_about;                ///< tooltip of the title
  PredictedTime time;                     ///< the time in the rows with a predicted time
  std::string apart_of;                   ///< "at the kernel's tiles", "recorded on NVIDIA H200"
  bool stands_alone = false;  ///< whether no row has a gap, neither above nor in `apart`
  std::string seen_heading;   ///< "recorded H200", "measured H200", "recorded"
  std::string seen_gpu;       ///< "H200"; empty if nothing was recorded
  NumberKind seen_kind = NumberKind::unavailable;
  std::string seen_about;          ///< tooltip of the heading
  bool all_heads = false;          ///< true: for all heads; false: for the displayed head only
  std::vector<std::string> notes;  ///< paper, operations; so far, peak memory; longest first
};

// The rows below the tensors' rows (ledger_totals.cpp).

/// Whether no number of the run can be compared with the model.
bool stands_alone(const LedgerBasis& basis);
/// The rows of totals. A GPU's numbers, which are for the whole pass of all heads, are shown only
/// beside modelled numbers of the same scope, and not here when they have separate rows.
/// `other_tiles`: these rows have a separate model.
std::vector<LedgerRow> total_rows(const Snapshot& snapshot, bool so_far, const LedgerBasis& basis,
                                  bool other_tiles);
/// The GPU's numbers for the whole pass of all heads: beside the model at the kernel's tiles, or
/// alone.
std::vector<LedgerRow> apart_rows(const LedgerBasis& basis);

Ledger make_ledger(const Snapshot& snapshot, LedgerScope scope, const LedgerBasis& basis);

/// The ledger without the parts that a lesson hides.
Ledger without(Ledger ledger, std::set<PanelPart> hidden);

/// The ledger as comma-separated values with a header line.
std::string ledger_csv(const Ledger& ledger);

/// The text instead of a gap: in full, then in fewer and fewer words.
std::vector<std::string> brief_wordings(const LedgerRow& row);

/// "H200" of "NVIDIA H200 SXM 141 GB".
std::string short_gpu_name(std::string_view name);

}  // namespace attnscope::app
