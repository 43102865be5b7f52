/// The lines and points of a chart, by name.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

#include "app/draw/chart.h"

namespace attnscope::app {

/// The first series whose name contains `part`, or null.
inline const draw::Series* find_series(const draw::Chart& chart, std::string_view part) {
  const auto found = std::ranges::find_if(chart.series, [&](const draw::Series& series) {
    return series.name.find(part) != std::string::npos;
  });
  return found == chart.series.end() ? nullptr : &*found;
}

}  // namespace attnscope::app
