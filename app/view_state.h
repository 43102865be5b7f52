/// What the user has chosen, and nothing that is computed from it. A scene file stores the most of
/// it (app/scene.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "app/chart_choice.h"
#include "app/theme.h"
#include "reference/block_pattern.h"
#include "reference/inputs.h"
#include "sim/ops/schedule_variant.h"

namespace attnscope::app {

/// One press of a step button moves by this much.
enum class Granularity : std::uint8_t { op, tile, outer_loop };

std::string_view to_string(Granularity granularity);
std::optional<Granularity> parse_granularity(std::string_view name);

/// .npy files that stand instead of generated tensors; an empty path: generated.
struct InputFiles {
  std::string Q, K, V, dO;
  bool any() const { return !Q.empty() || !K.empty() || !V.empty() || !dO.empty(); }
  bool operator==(const InputFiles&) const = default;
};

/// Largest memory that may be chosen in place of a GPU's.
inline constexpr Index kMostMemoryBytes = Index{1} << 40;

/// What the simulator runs and the GPU is asked to run.
struct Choice {
  AttentionProblem problem;
  std::string algorithm = "flash2";
  std::string pass = "forward";
  Tiling tiling;
  Carry carry = Carry::problem;
  std::string gpu = "h200";  ///< a name in assets/gpus
  InputSpec inputs;
  InputFiles files;
  std::optional<BlockPattern> block_mask;  ///< where the algorithm takes one; over the tiling
  bool skip_unused_kv = false;             ///< of block-sparse attention
  Index splits = 0;                        ///< split_kv: parts of the keys; 0: what fills the SMs
  bool separate_heads = false;             ///< split_kv: a query head, not its group, is a tile
  ScheduleVariant variant;                 ///< of standard and flash1
  Index sram_bytes = 0;                    ///< shared memory of a thread block; 0: what the GPU has
  Index l2_bytes = 0;                      ///< 0: what the GPU has
  bool allow_overflow = false;             ///< tiles that do not fit on chip are counted
  bool round_to_storage = true;            ///< values are rounded where a kernel rounds them

  bool operator==(const Choice&) const = default;
};

/// Which panel of a slot that several share is shown.
enum class MemoryTab : std::uint8_t { memory, warps };
enum class SoftmaxTab : std::uint8_t { row, why_online };

/// What the timeline shows: the order of operations, or SMs in time.
enum class TimelineTab : std::uint8_t { operations, sms };

std::string_view to_string(MemoryTab tab);
std::optional<MemoryTab> parse_memory_tab(std::string_view name);
std::string_view to_string(SoftmaxTab tab);
std::optional<SoftmaxTab> parse_softmax_tab(std::string_view name);
std::string_view to_string(TimelineTab tab);
std::optional<TimelineTab> parse_timeline_tab(std::string_view name);

enum class ExplainTab : std::uint8_t { pseudo_code, cuda_source };
enum class LedgerScope : std::uint8_t { so_far, whole_pass };

std::string_view to_string(ExplainTab tab);
std::string_view to_string(LedgerScope scope);
std::optional<ExplainTab> parse_explain_tab(std::string_view name);
std::optional<LedgerScope> parse_ledger_scope(std::string_view name);

/// Fastest playing, as a multiple of the normal speed.
inline constexpr double kMaxSpeed = 1024.0;

/// What two algorithms have in common while they race: the bytes that their thread blocks have
/// requested, or their visits of tiles (app/race.h).
enum class RaceClock : std::uint8_t { requested_bytes, tiles };

std::string_view to_string(RaceClock clock);
std::optional<RaceClock> parse_race_clock(std::string_view name);

/// A second algorithm on the same problem, beside the chosen one.
struct Race {
  std::string rival;
  RaceClock clock = RaceClock::requested_bytes;
  bool operator==(const Race&) const = default;
};

struct ViewState {
  Choice choice;  ///< the last valid one
  std::optional<Race> race;
  Index race_tick = 0;  ///< place on the clock that both share; see app/race.h

  Index step = 0;  ///< the operation that has just run, as Snapshot::step; -1: none yet
  bool playing = false;
  double speed = 1.0;  ///< 1 = three operations (tiles, turns) a second
  Granularity granularity = Granularity::op;

  // What the panels point at
  Index query_row = 0;  ///< of the chosen head, for the online softmax
  Index O_column = 0;   ///< of O, for the online softmax
  Index head = 0;       ///< batch * heads + head
  MemoryTab memory_tab = MemoryTab::memory;
  SoftmaxTab softmax_tab = SoftmaxTab::row;
  TimelineTab timeline_tab = TimelineTab::operations;
  ExplainTab explain_tab = ExplainTab::pseudo_code;
  LedgerScope ledger_scope = LedgerScope::so_far;
  ChartChoice chart = ChartChoice::bytes;
  Carry error_carry = Carry::fp32;  ///< the error chart's: precision of flash1's O in HBM

  // The looks
  ThemeName theme = ThemeName::dark;
  bool presenter = false;    ///< larger fonts, fewer panels
  bool large_chart = false;  ///< the charts in the place of all other panels
  bool show_keys = false;
  /// The dialog that was asked for: to save a scene (true) or to open one.
  std::optional<bool> scene_dialog;
};

}  // namespace attnscope::app
