#include "sim/schedule/catalog.h"

#include <algorithm>

#include "sim/schedule/flash1_forward.h"
#include "sim/schedule/flash2_forward.h"
#include "sim/schedule/standard_forward.h"

namespace attnscope {

TileGrid plain_grid(const AttentionProblem& problem, const Tiling& tiling,
                    const ScheduleOptions& options) {
  return {problem, tiling, options};
}

Index block_per_row_tile(const TileGrid& grid) {
  return grid.Tr();
}

std::span<const Algorithm> algorithms() {
  static constexpr Algorithm kAlgorithms[] = {
      {"standard", "Standard attention",
       "Three launches: S = Q Kᵀ, P = softmax S, O = P V; S and P are stored in HBM.",
       "arXiv 2205.14135, Algorithm 0", standard_forward_pass},
      {"flash1", "FlashAttention-1",
       "Tiles of K and V outermost; O, m and l travel through HBM for every one of them.",
       "arXiv 2205.14135, Algorithm 1", flash1_forward_pass},
      {"flash2", "FlashAttention-2",
       "Tiles of Q outermost and in parallel; O, m and l stay on chip, divided once at the end.",
       "arXiv 2307.08691, Algorithm 1", flash2_forward_pass},
  };
  return kAlgorithms;
}

std::vector<std::string> algorithm_names() {
  std::vector<std::string> names;
  for (const Algorithm& algorithm : algorithms()) names.emplace_back(algorithm.name);
  return names;
}

const Algorithm* find_algorithm(std::string_view name) {
  const auto all = algorithms();
  const auto found = std::ranges::find(all, name, &Algorithm::name);
  return found == all.end() ? nullptr : &*found;
}

}  // namespace attnscope
