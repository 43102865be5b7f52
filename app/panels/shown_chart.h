/// A chart as the charts panel shows it, with the words around it.
#pragma once

#include <string>
#include <variant>

#include "app/draw/bar_chart.h"
#include "sim/device/gpu_description.h"

namespace attnscope::app {

struct ShownChart {
  std::string title;     ///< "BYTES AGAINST N"
  std::string subtitle;  ///< of what: sizes, type, device
  std::string about;     ///< hover on the heading: what the chart assumes
  std::variant<draw::Chart, draw::BarChart> picture;
};

/// "151 GB (140 GiB) of HBM": products are named in GiB, charts count in GB.
std::string capacity_words(const GpuDescription& gpu);

}  // namespace attnscope::app
