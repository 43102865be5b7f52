#include "app/scene/view_state.h"

#include <algorithm>

namespace attnscope::app {

namespace {

struct Entry {
  ChartChoice chart;
  ChartTopic topic;
  std::string_view tab;
};

// clang-format off
constexpr Entry kCharts[] = {
    {ChartChoice::bytes, ChartTopic::sizes, "bytes"},
    {ChartChoice::time, ChartTopic::sizes, "time"},
    {ChartChoice::rate, ChartTopic::sizes, "TFLOP/s"},
    {ChartChoice::memory, ChartTopic::sizes, "memory"},
    {ChartChoice::error, ChartTopic::sizes, "error"},
    {ChartChoice::recorded_bytes, ChartTopic::recorded, "bytes"},
    {ChartChoice::recorded_time, ChartTopic::recorded, "time"},
    {ChartChoice::recorded_rate, ChartTopic::recorded, "TFLOP/s"},
    {ChartChoice::recorded_memory, ChartTopic::recorded, "memory"},
    {ChartChoice::roofline, ChartTopic::roofline, "this run"},
    {ChartChoice::io_seq_len, ChartTopic::theorems, "N"},
    {ChartChoice::io_head_dim, ChartTopic::theorems, "d"},
    {ChartChoice::io_sram, ChartTopic::theorems, "SRAM"},
    {ChartChoice::io_block_cols, ChartTopic::theorems, "block"},
    {ChartChoice::io_density, ChartTopic::theorems, "density"},
    {ChartChoice::fusion, ChartTopic::fusion, "this problem"},
    {ChartChoice::fusion_figure2, ChartTopic::fusion, "the paper's Figure 2"},
    {ChartChoice::model_training, ChartTopic::models, "training"},
    {ChartChoice::model_inference, ChartTopic::models, "inference"},
};
// clang-format on

const Entry& entry(ChartChoice chart) {
  return *std::ranges::find(kCharts, chart, &Entry::chart);
}

}  // namespace

std::vector<ChartTopic> chart_topics() {
  return {ChartTopic::sizes,    ChartTopic::recorded, ChartTopic::roofline,
          ChartTopic::theorems, ChartTopic::fusion,   ChartTopic::models};
}

std::vector<ChartChoice> charts_of(ChartTopic topic) {
  std::vector<ChartChoice> charts;
  for (const Entry& each : kCharts) {
    if (each.topic == topic) charts.push_back(each.chart);
  }
  return charts;
}

ChartTopic topic_of(ChartChoice chart) {
  return entry(chart).topic;
}

std::string_view tab_word(ChartTopic topic) {
  constexpr std::string_view kWords[] = {"sizes",    "recorded", "roofline",
                                         "theorems", "fusion",   "models"};
  return kWords[static_cast<std::size_t>(topic)];
}

std::string_view tab_word(ChartChoice chart) {
  return entry(chart).tab;
}

}  // namespace attnscope::app
