#include "app/chart_choice.h"

namespace attnscope::app {

namespace {

struct Entry {
  ChartChoice chart;
  ChartTopic topic;
  std::string_view name;
  std::string_view tab;
};

// clang-format off
constexpr Entry kCharts[] = {
    {ChartChoice::bytes, ChartTopic::sizes, "bytes", "bytes"},
    {ChartChoice::time, ChartTopic::sizes, "time", "time"},
    {ChartChoice::memory, ChartTopic::sizes, "memory", "memory"},
    {ChartChoice::error, ChartTopic::sizes, "error", "error"},
    {ChartChoice::recorded_bytes, ChartTopic::recorded, "recorded_bytes", "bytes"},
    {ChartChoice::recorded_time, ChartTopic::recorded, "recorded_time", "time"},
    {ChartChoice::recorded_memory, ChartTopic::recorded, "recorded_memory", "memory"},
    {ChartChoice::io_seq_len, ChartTopic::theorems, "io_seq_len", "N"},
    {ChartChoice::io_head_dim, ChartTopic::theorems, "io_head_dim", "d"},
    {ChartChoice::io_sram, ChartTopic::theorems, "io_sram", "SRAM"},
    {ChartChoice::io_block_cols, ChartTopic::theorems, "io_block_cols", "block"},
    {ChartChoice::io_density, ChartTopic::theorems, "io_density", "density"},
    {ChartChoice::fusion, ChartTopic::fusion, "fusion", "this problem"},
    {ChartChoice::fusion_figure2, ChartTopic::fusion, "fusion_figure2", "the paper's Figure 2"},
    {ChartChoice::model_training, ChartTopic::models, "model_training", "training"},
    {ChartChoice::model_inference, ChartTopic::models, "model_inference", "inference"},
};
// clang-format on

const Entry& entry(ChartChoice chart) {
  for (const Entry& each : kCharts) {
    if (each.chart == chart) return each;
  }
  return kCharts[0];
}

}  // namespace

std::string_view to_string(ChartChoice chart) {
  return entry(chart).name;
}

std::optional<ChartChoice> parse_chart(std::string_view name) {
  for (const Entry& each : kCharts) {
    if (each.name == name) return each.chart;
  }
  return std::nullopt;
}

std::vector<ChartTopic> chart_topics() {
  return {ChartTopic::sizes, ChartTopic::recorded, ChartTopic::theorems, ChartTopic::fusion,
          ChartTopic::models};
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
  switch (topic) {
    case ChartTopic::sizes:
      return "sizes";
    case ChartTopic::recorded:
      return "recorded";
    case ChartTopic::theorems:
      return "theorems";
    case ChartTopic::fusion:
      return "fusion";
    case ChartTopic::models:
      return "models";
  }
  return "";
}

std::string_view tab_word(ChartChoice chart) {
  return entry(chart).tab;
}

}  // namespace attnscope::app
