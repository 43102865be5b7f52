/// How the warps of a thread block divide the scores of a tile among them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "reference/attention_problem.h"

namespace attnscope {

/// FlashAttention-2 (arXiv 2307.08691), section 3.3 and Figure 3:
///   split_q    each warp has its own query rows, and all keys: FlashAttention-2;
///   sliced_k   each warp has its own keys, and all query rows: FlashAttention-1.
enum class WarpPartition : std::uint8_t { split_q, sliced_k };
inline constexpr std::size_t kWarpPartitions = 2;

constexpr std::array<std::string_view, kWarpPartitions> enum_names(WarpPartition) {
  return {"split-q", "sliced-k"};
}

struct WarpLayout {
  WarpPartition partition = WarpPartition::split_q;
  Index warps = 4;  ///< of a thread block
  bool operator==(const WarpLayout&) const = default;
};

/// The warps of a thread block in the paper's figure.
inline constexpr Index kPaperWarps = 4;
inline constexpr Index kWarpThreads = 32;
/// Most warps of a thread block: 1024 threads.
inline constexpr Index kMaxWarps = 32;

}  // namespace attnscope
