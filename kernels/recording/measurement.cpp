#include "kernels/recording/measurement.h"

namespace attnscope {

std::string_view to_string(CacheState state) {
  return state == CacheState::warm ? "warm" : "cold";
}

std::optional<CacheState> parse_cache_state(std::string_view name) {
  for (CacheState state : {CacheState::cold, CacheState::warm}) {
    if (name == to_string(state)) return state;
  }
  return std::nullopt;
}

std::optional<double> Measurement::counter(std::string_view name) const {
  const auto found = counters.find(name);
  if (found == counters.end()) return std::nullopt;
  return found->second;
}

}  // namespace attnscope
