#include "reference/algorithm.h"

#include <algorithm>

namespace attnscope {

std::span<const Algorithm> algorithms() {
  static constexpr Algorithm kAlgorithms[] = {
      {.name = "standard",
       .title = "Standard attention",
       .summary =
           "Three launches: S = Q Kᵀ, P = softmax S, O = P V; S and P are stored in global memory.",
       .source = "arXiv 2205.14135, Algorithms 0 and 3",
       .softmax = SoftmaxForm::whole_rows},
      {.name = "flash1",
       .title = "FlashAttention-1",
       .summary = "Tiles of K and V outermost; O, m and l are read and written back for every one "
                  "of them.",
       .source = "arXiv 2205.14135, Algorithms 1 and 4",
       .softmax = SoftmaxForm::divided_often,
       .carries_output = true,
       .sets_tiling_from_sram = true,
       .warps = WarpPartition::sliced_k,
       .skips_padded_keys = true},
      {.name = "flash2",
       .title = "FlashAttention-2",
       .summary = "Tiles of Q outermost and in parallel; O, m and l stay on chip; O is divided by "
                  "l once, at the end.",
       .source = "arXiv 2307.08691, Algorithms 1 and 2",
       .warps = WarpPartition::split_q,
       .skips_padded_keys = true},
      {.name = "block_sparse",
       .title = "Block-sparse FlashAttention",
       .summary = "FlashAttention-1's loops; tile (i, j) is computed where the block mask has a 1.",
       .source = "arXiv 2205.14135, Algorithm 5",
       .softmax = SoftmaxForm::divided_often,
       .takes_block_mask = true,
       .carries_output = true,
       .warps = WarpPartition::sliced_k},
      {.name = "block_sparse2",
       .title = "Block-sparse FlashAttention-2",
       .summary =
           "FlashAttention-2's loops; a row tile visits the tiles that its block mask lists.",
       .source = "arXiv 2205.14135, section 3.3, in the loop order of 2307.08691",
       .takes_block_mask = true,
       .warps = WarpPartition::split_q,
       .skips_padded_keys = true},
      {.name = "split_kv",
       .title = "Split-KV decoding",
       .summary = "For few queries: a thread block for each split of the keys; the outputs of the "
                  "splits are merged, weighted by their LSE.",
       .source = "Flash-Decoding; arXiv 2307.08691, Algorithm 1, for each split",
       .has_backward = false,
       .warps = WarpPartition::split_q,
       .splits_keys = true,
       .skips_padded_keys = true},
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
