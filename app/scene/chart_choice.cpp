#include <fmt/core.h>

#include <algorithm>

#include "app/scene/view_state.h"

namespace attnscope::app {

namespace {

using Quantity = ChartQuantity;

struct AxisEntry {
  ChartAxis axis;
  std::string_view tab;
  std::vector<Quantity> quantities;
};

// clang-format off
const AxisEntry kAxes[] = {
    {ChartAxis::seq_len, "N", {Quantity::bytes, Quantity::time, Quantity::rate, Quantity::memory,
                               Quantity::error, Quantity::theorems, Quantity::training,
                               Quantity::inference}},
    {ChartAxis::tokens, "16k tokens",
     {Quantity::bytes, Quantity::time, Quantity::rate, Quantity::memory}},
    {ChartAxis::heads, "heads", {Quantity::bytes, Quantity::time, Quantity::rate, Quantity::memory}},
    {ChartAxis::head_dim, "d", {Quantity::bytes, Quantity::time, Quantity::rate, Quantity::memory,
                                Quantity::theorems}},
    {ChartAxis::block_size, "block", {Quantity::bytes, Quantity::time, Quantity::rate,
                                      Quantity::memory, Quantity::theorems}},
    {ChartAxis::density, "density", {Quantity::bytes, Quantity::time, Quantity::rate,
                                     Quantity::memory, Quantity::theorems}},
    {ChartAxis::sram, "SRAM", {Quantity::theorems}},
    {ChartAxis::intensity, "roofline", {Quantity::rate}},
    {ChartAxis::fusion, "fusion", {Quantity::bytes, Quantity::figure2}},
};
// clang-format on

const AxisEntry& entry(ChartAxis axis) {
  return *std::ranges::find(kAxes, axis, &AxisEntry::axis);
}

}  // namespace

std::string name_of(const ChartChoice& chart) {
  return fmt::format("{}-{}", to_string(chart.quantity), to_string(chart.over));
}

std::vector<ChartAxis> chart_axes() {
  std::vector<ChartAxis> axes;
  for (const AxisEntry& each : kAxes) axes.push_back(each.axis);
  return axes;
}

std::vector<ChartQuantity> quantities_over(ChartAxis axis) {
  return entry(axis).quantities;
}

std::vector<ChartChoice> all_charts() {
  std::vector<ChartChoice> charts;
  for (const AxisEntry& each : kAxes) {
    for (const Quantity quantity : each.quantities) charts.push_back({quantity, each.axis});
  }
  return charts;
}

std::string_view tab_word(ChartAxis axis) {
  return entry(axis).tab;
}

std::string_view tab_word(ChartQuantity quantity) {
  constexpr std::string_view kWords[] = {"bytes",    "time",     "TFLOP/s",  "memory",   "error",
                                         "theorems", "Figure 2", "training", "inference"};
  return kWords[static_cast<std::size_t>(quantity)];
}

ChartChoice shown_chart(const ViewState& view) {
  const std::vector<Quantity> offered = quantities_over(view.chart_over);
  const bool has = std::ranges::find(offered, view.chart) != offered.end();
  return {has ? view.chart : offered.front(), view.chart_over};
}

}  // namespace attnscope::app
