/// The user's choices, and nothing that is computed from them. A scene file stores most of it
/// (app/scene/scene.h).
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "app/seek/thing.h"
#include "app/ui/theme.h"
#include "reference/enum_names.h"
#include "reference/run_spec.h"

namespace attnscope::app {

/// The distance by which one press of a step button moves the playhead.
enum class Granularity : std::uint8_t { op, tile, outer_loop };
constexpr std::array<std::string_view, 3> enum_names(Granularity) {
  return {"op", "tile", "outer_loop"};
}

/// A guided walk through the app: a run that plays and explains itself, or a tour of the panels.
enum class Walk : std::uint8_t { watch, panels };

/// The place of a panel on the screen. If a slot has no panel, its neighbour takes the place.
enum class Slot : std::uint8_t {
  memory,          ///< left column: memory, the warps of the thread block, or the GPU
  scores,          ///< middle column, upper part
  online_softmax,  ///< middle column, lower part; in the same card as `scores`
  explain,         ///< right column, upper part: what and why
  ledger,          ///< right column, lower part
  timeline,        ///< bottom row, left
  charts,          ///< bottom row, right
};
constexpr std::array<std::string_view, 7> enum_names(Slot) {
  return {"memory", "scores", "online_softmax", "explain", "ledger", "timeline", "charts"};
}

/// The displayed panel of a slot that several panels share.
enum class MemoryTab : std::uint8_t { memory, warps, gpu };
constexpr std::array<std::string_view, 3> enum_names(MemoryTab) {
  return {"memory", "warps", "gpu"};
}
enum class SoftmaxTab : std::uint8_t { row, why_online };
constexpr std::array<std::string_view, 2> enum_names(SoftmaxTab) {
  return {"row", "why_online"};
}

/// The tensor that the cells of the scores panel show. `latest`: S, or, where whole tensors are
/// computed one after another, the last complete tensor.
enum class ScoresTab : std::uint8_t { latest, S, P, dP, dS };
constexpr std::array<std::string_view, 5> enum_names(ScoresTab) {
  return {"latest", "S", "P", "dP", "dS"};
}

/// The content of the timeline: the order of operations, or the SMs over time.
enum class TimelineTab : std::uint8_t { operations, sms };
constexpr std::array<std::string_view, 2> enum_names(TimelineTab) {
  return {"operations", "sms"};
}

enum class ExplainTab : std::uint8_t { pseudo_code, cuda_source };
constexpr std::array<std::string_view, 2> enum_names(ExplainTab) {
  return {"pseudo_code", "cuda_source"};
}
enum class LedgerScope : std::uint8_t { so_far, whole_pass };
constexpr std::array<std::string_view, 2> enum_names(LedgerScope) {
  return {"so_far", "whole_pass"};
}

/// Parts of panels that a step of a lesson may hide, because a later one asks about them.
enum class PanelPart : std::uint8_t {
  dram,       ///< the ledger's lines of L2 and DRAM
  l2,         ///< the ledger's line of L2
  written,    ///< the ledger's total of requested writes
  time,       ///< the ledger's lines of times, and what limits the time
  notes,      ///< the ledger's footer, with the operations, and its line of peak memory
  safe,       ///< the lines of the safe softmax in WHY ONLINE
  online,     ///< the lines of the online softmax in WHY ONLINE
  formulas,   ///< the formulas in ONLINE SOFTMAX, and the numbers in them
  alpha,      ///< the line of alpha in ONLINE SOFTMAX
  unwritten,  ///< in MEMORY: the tensors of which no tile is written yet
};
constexpr std::array<std::string_view, 10> enum_names(PanelPart) {
  return {"dram", "l2",     "written",  "time",  "notes",
          "safe", "online", "formulas", "alpha", "unwritten"};
}

/// The quantity of a chart, by the names that scenes use. Each axis has some of these quantities
/// (chart_choice.cpp).
enum class ChartQuantity : std::uint8_t {
  bytes,
  time,
  rate,       ///< TFLOP/s
  memory,     ///< peak of a pass
  error,      ///< against the reference
  theorems,   ///< bytes beside the IO theorems
  figure2,    ///< bytes of Figure 2 (left) of arXiv 2205.14135
  training,   ///< memory of a whole model
  inference,  ///< memory of a whole model
};
constexpr std::array<std::string_view, 9> enum_names(ChartQuantity) {
  return {"bytes",    "time",    "rate",     "memory",   "error",
          "theorems", "figure2", "training", "inference"};
}

/// The x axis of a chart.
enum class ChartAxis : std::uint8_t {
  seq_len,     ///< N
  tokens,      ///< N, in the recorded settings: 16k tokens in total
  heads,       ///< heads of a batch entry
  head_dim,    ///< d
  block_size,  ///< Br and Bc
  density,     ///< share of the tiles that a block mask keeps
  sram,        ///< on-chip memory of a thread block
  intensity,   ///< operations per byte of the run on the screen: its roofline
  fusion,      ///< steps of fusion, as bars
};
constexpr std::array<std::string_view, 9> enum_names(ChartAxis) {
  return {"seq_len", "tokens", "heads",     "head_dim", "block_size",
          "density", "sram",   "intensity", "fusion"};
}

struct ChartChoice {
  ChartQuantity quantity = ChartQuantity::bytes;
  ChartAxis over = ChartAxis::seq_len;
  bool operator==(const ChartChoice&) const = default;
};
/// "time-heads", as in the names of files.
std::string name_of(const ChartChoice& chart);

/// All axes, in the order of the tabs.
std::vector<ChartAxis> chart_axes();
/// The quantities over this axis, in the order of the tabs; never empty.
std::vector<ChartQuantity> quantities_over(ChartAxis axis);
/// Every chart that can be chosen.
std::vector<ChartChoice> all_charts();

/// The label of the tab.
std::string_view tab_word(ChartAxis axis);
std::string_view tab_word(ChartQuantity quantity);

/// The fastest playing speed, as a multiple of the normal speed.
inline constexpr double kMaxSpeed = 1024.0;

/// The common clock of two racing algorithms: the bytes that their thread blocks have
/// requested, or their visits of tiles (app/play/playhead.h).
enum class RaceClock : std::uint8_t { requested_bytes, tiles };
constexpr std::array<std::string_view, 2> enum_names(RaceClock) {
  return {"requested_bytes", "tiles"};
}

/// A second run beside the chosen one.
struct Race {
  RunSpec rival;
  RaceClock clock = RaceClock::requested_bytes;
  bool operator==(const Race&) const = default;
};

struct ViewState {
  /// The last valid choice, which the simulator and the GPU run. Both sides of its
  /// tiles are set.
  RunSpec choice;
  std::optional<Race> race;
  std::optional<RunSpec> pinned;  ///< the choice is compared with it (app/jobs/run_comparison.h)
  Index race_tick = 0;  ///< place on the clock that both runs share; see app/play/playhead.h

  Index step = 0;  ///< the operation that has just run, as Snapshot::step; -1: none yet
  bool playing = false;
  double speed = 1.0;  ///< 1: three operations, tiles or iterations a second
  Granularity granularity = Granularity::op;

  // The selections of the panels
  Index query_row = 0;  ///< the row of the chosen head, for the online softmax
  Index O_column = 0;   ///< the column of O, for the online softmax
  Index head = 0;       ///< batch * heads + head
  MemoryTab memory_tab = MemoryTab::memory;
  SoftmaxTab softmax_tab = SoftmaxTab::row;
  ScoresTab scores_tab = ScoresTab::latest;
  TimelineTab timeline_tab = TimelineTab::operations;
  ExplainTab explain_tab = ExplainTab::pseudo_code;
  LedgerScope ledger_scope = LedgerScope::so_far;
  bool hides_break = false;     ///< true while a quiz asks which operation is missing
  bool hides_effect = false;    ///< true while a lesson asks what the break of its run changes
  std::set<PanelPart> hidden;   ///< the parts about which a lesson asks later
  bool shows_query_row = true;  ///< false: a lesson does not follow a row
  ChartQuantity chart = ChartQuantity::bytes;
  ChartAxis chart_over = ChartAxis::seq_len;
  Carry error_carry = Carry::fp32;  ///< in the error chart: precision of flash1's O in HBM

  // The thing under the mouse: a panel notes it while it is drawn; in the next frame, other panels
  // highlight what belongs to it
  std::optional<Thing> pointed;      ///< the thing in the last frame
  std::optional<Thing> now_pointed;  ///< the thing found so far in this frame
  /// The run that an operation or a line under the mouse belongs to; not kept alive.
  std::weak_ptr<const RunInfo> pointed_run;

  // Appearance
  ThemeName theme = ThemeName::dark;
  bool presenter = false;        ///< larger fonts, fewer panels
  std::optional<Slot> enlarged;  ///< the panel of this slot replaces all others
  bool show_keys = false;
  /// The requested dialog: to save a scene (true) or to open one.
  std::optional<bool> scene_dialog;
  std::optional<std::string> guide_page;  ///< the requested page of the guide; "": the last one
  std::optional<Walk> start_walk;         ///< the requested walk
  bool welcome = false;                   ///< the card of the first start is requested
};

/// The chosen quantity over the chosen axis, or the axis's first if it does not have this one.
ChartChoice shown_chart(const ViewState& view);

/// Enlarges the panel of the slot; shows all panels again if it is enlarged.
inline void enlarge_or_back(ViewState& view, Slot slot) {
  view.enlarged = view.enlarged == slot ? std::nullopt : std::optional(slot);
}

}  // namespace attnscope::app
