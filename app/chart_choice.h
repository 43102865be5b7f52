/// The charts, by the names that scenes use. They are grouped by topic.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "reference/enum_names.h"

namespace attnscope::app {

enum class ChartChoice : std::uint8_t {
  bytes,  ///< against N, like the next two
  time,
  memory,
  error,           ///< against the reference, of every algorithm
  recorded_bytes,  ///< of the settings that were recorded, 16k tokens in all
  recorded_time,
  recorded_memory,
  io_seq_len,  ///< bytes and the IO theorems, against N, d, M, Bc and the density
  io_head_dim,
  io_sram,
  io_block_cols,
  io_density,
  fusion,          ///< bytes after each step of fusion, of the problem that is shown
  fusion_figure2,  ///< and of Figure 2 (left) of arXiv 2205.14135
  model_training,  ///< memory of a whole model against N
  model_inference,
};

constexpr std::array<std::string_view, 16> enum_names(ChartChoice) {
  return {"bytes",          "time",           "memory",          "error",
          "recorded_bytes", "recorded_time",  "recorded_memory", "io_seq_len",
          "io_head_dim",    "io_sram",        "io_block_cols",   "io_density",
          "fusion",         "fusion_figure2", "model_training",  "model_inference"};
}

enum class ChartTopic : std::uint8_t { sizes, recorded, theorems, fusion, models };

std::vector<ChartTopic> chart_topics();
/// In the order of the tabs; never empty.
std::vector<ChartChoice> charts_of(ChartTopic topic);
ChartTopic topic_of(ChartChoice chart);

/// The label of the tab: "theorems", "block size".
std::string_view tab_word(ChartTopic topic);
std::string_view tab_word(ChartChoice chart);

}  // namespace attnscope::app
