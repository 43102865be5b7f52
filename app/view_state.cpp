#include "app/view_state.h"

namespace attnscope::app {

std::string_view to_string(Granularity granularity) {
  switch (granularity) {
    case Granularity::op:
      return "op";
    case Granularity::tile:
      return "tile";
    case Granularity::outer_loop:
      return "outer_loop";
  }
  return "op";
}

std::optional<Granularity> parse_granularity(std::string_view name) {
  for (Granularity each : {Granularity::op, Granularity::tile, Granularity::outer_loop}) {
    if (to_string(each) == name) return each;
  }
  return std::nullopt;
}

std::string_view to_string(RaceClock clock) {
  return clock == RaceClock::tiles ? "tiles" : "requested_bytes";
}

std::optional<RaceClock> parse_race_clock(std::string_view name) {
  for (RaceClock each : {RaceClock::requested_bytes, RaceClock::tiles}) {
    if (to_string(each) == name) return each;
  }
  return std::nullopt;
}

}  // namespace attnscope::app
