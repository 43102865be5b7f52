#include "app/panels/charts/charts.h"

#include <fmt/core.h>

#include <iterator>

#include "app/draw/format.h"
#include "reference/message_text.h"
#include "sim/schedule/algorithm.h"

namespace attnscope::app {

ImU32 algorithm_color(const Theme& theme, std::string_view algorithm) {
  // Tensors whose colours everyone can distinguish, in the order in which algorithms take them
  constexpr std::string_view kTensors[] = {"alpha", "m", "Q", "O", "S", "V", "K", "l"};
  const Algorithm* found = find_algorithm(algorithm);
  if (found == nullptr) return theme.text_faint;
  const auto place = static_cast<std::size_t>(found - algorithms().data());
  return tensor_text_color(theme, kTensors[place % std::size(kTensors)]);
}

void add_series(draw::Chart& chart, draw::Series series, std::string label) {
  using Sample = draw::LegendEntry::Sample;
  Sample sample = series.dashed ? Sample::dashed : Sample::line;
  if (series.marker != draw::Marker::none) sample = Sample::marker;
  chart.legend.push_back({std::move(label), series.color, sample, series.marker});
  chart.series.push_back(std::move(series));
}

std::string capacity_words(const GpuDescription& gpu) {
  const auto bytes = static_cast<double>(gpu.hbm_bytes);
  return fmt::format("{} ({:.0f} GiB) of {}", draw::format_si(bytes, "B"), bytes / 0x1p30,
                     dram_name(gpu));
}

void add_capacity(draw::Chart& chart, const std::vector<double>& values, const GpuDescription& gpu,
                  const Theme& theme) {
  const auto bytes = static_cast<double>(gpu.hbm_bytes);
  const std::string name = capacity_words(gpu);
  draw::Series capacity{.name = name, .color = theme.error, .dashed = true};
  for (const double value : values) {
    capacity.points.push_back(
        {value, bytes,
         fmt::format("capacity of {}, as the device reports it; its name may be in GiB",
                     gpu.display_name)});
  }
  add_series(chart, std::move(capacity), name);
}

std::string axis_tick(ChartAxis axis, double value) {
  if (axis == ChartAxis::density) return fmt::format("{:.3g} %", 100.0 * value);
  const auto size = static_cast<Index>(value);
  return axis == ChartAxis::sram ? capacity_text(size) : draw::format_size(size);
}

std::string bytes_tick(double value) {
  return draw::format_tick(value, "B");
}

void fit_y(draw::Chart& chart, std::string name, int most_ticks, draw::TickLabel label) {
  chart.y.name = std::move(name);
  draw::fit_decades(chart.y, chart.series);
  chart.y_ticks = draw::ticks(chart.y, most_ticks, label);
  chart.y_label = label;
}

}  // namespace attnscope::app
