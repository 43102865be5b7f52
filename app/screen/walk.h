/// The first start: a card with four ways to begin, the walk "FlashAttention in two minutes", and a
/// tour of the panels. Both can be left at any time.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "app/scene/view_state.h"
#include "app/screen/widgets.h"
#include "sim/snapshot/snapshot.h"

namespace attnscope::app {

/// A place on the screen and the text about it.
struct Stop {
  std::string_view place;  ///< the named rectangle that it points at
  std::string_view title;
  std::string_view text;
  std::string_view until = {};  ///< in Walk::watch: plays up to this tile, "i, j", or to the "end"
  std::string_view against = {};  ///< in Walk::watch: plays a race against this algorithm instead
  std::string_view over = {};     ///< the card covers this panel; empty: it is beside its place
};

std::span<const Stop> stops_of(Walk walk);

/// Seconds at each stop of the walk that plays; all stops together take two minutes.
inline constexpr double kSecondsPerStop = 15.0;

/// The card with the text of a stop, beside its place.
class WalkCard {
 public:
  /// Begins a walk when the view requests it, and draws the stop while it lasts.
  void draw(const Frame& frame);
  bool active() const { return walk_.has_value(); }

 private:
  void begin(const Frame& frame, Walk walk);
  void go_to(const Frame& frame, std::size_t stop);
  void leave(const Frame& frame);
  void end(const Frame& frame);
  void play(const Frame& frame);
  void play_run(const Frame& frame, double share) const;
  void play_race(const Frame& frame, double share) const;
  ImVec2 place_card(const Frame& frame, const Rect& place, ImVec2 size);
  void draw_card(const Frame& frame, const Stop& stop, const Rect& place);

  std::optional<Walk> walk_;
  std::size_t stop_ = 0;
  double played_s_ = 0.0;  ///< seconds played at this stop
  double last_s_ = 0.0;    ///< time of the last frame
  /// The lower left corner of the card, near its buttons.
  std::optional<ImVec2> corner_;
};

/// The last step of the part of the run that is played at a stop; the end of the run if it lacks
/// the tile.
Index last_step_of(const RunInfo& run, const Stop& stop);

/// Draws the card of the first start. Esc or a click outside the card closes it.
void draw_welcome(const Frame& frame);

}  // namespace attnscope::app
