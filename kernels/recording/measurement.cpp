#include "kernels/recording/measurement.h"

namespace attnscope {

std::optional<double> Measurement::counter(std::string_view name) const {
  const auto found = counters.find(name);
  if (found == counters.end()) return std::nullopt;
  return found->second;
}

}  // namespace attnscope
