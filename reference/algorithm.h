/// The attention algorithms and the choices that each offers. Their loops are in sim/schedule/,
/// their kernels in kernels/.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "reference/attention_problem.h"

namespace attnscope {

/// How the softmax visits the keys of a row and when it divides by the sum l; this determines which
/// values the forward pass keeps.
enum class SoftmaxForm : std::uint8_t {
  whole_rows,     ///< all keys of a row at once; S and P are stored, and the backward pass reads P
  divided_often,  ///< online; O is divided in every step; m and l are kept for the backward pass
  divided_once,   ///< online; O is divided at the end; LSE is kept
};

/// How the warps of a thread block divide the scores of a tile.
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

/// The number of warps of a thread block in the paper's figure.
inline constexpr Index kPaperWarps = 4;
inline constexpr Index kWarpThreads = 32;
/// The largest number of warps in a thread block: 1024 threads.
inline constexpr Index kMaxWarps = 32;

struct Algorithm {
  std::string_view name;     ///< "standard", "flash1", "flash2"
  std::string_view title;    ///< for readers: "FlashAttention-2"
  std::string_view summary;  ///< one sentence
  std::string_view source;   ///< paper and algorithm number
  SoftmaxForm softmax = SoftmaxForm::divided_once;
  bool has_backward = true;
  /// Computes only the tiles that a block mask keeps; the other algorithms reject a block mask.
  bool takes_block_mask = false;
  /// O is kept in HBM between passes over j, in the precision ScheduleVariant::carry.
  bool carries_output = false;
  /// Line 1 of the algorithm sets Bc and Br from the size of the SRAM (sim/tiling_rules.h);
  /// ScheduleVariant has variants of line 2 and of D.
  bool sets_tiling_from_sram = false;
  /// How the warps share a tile according to the paper; nothing if warps are not modelled.
  std::optional<WarpPartition> warps;
  /// Divides the keys into RunSpec::splits parts.
  bool splits_keys = false;
  /// If a key length ends inside a column tile, the rows of K and V beyond it are not loaded.
  bool skips_padded_keys = false;
};

/// Every algorithm, simplest first.
std::span<const Algorithm> algorithms();
std::vector<std::string> algorithm_names();
/// The algorithm with this name; null if there is none.
const Algorithm* find_algorithm(std::string_view name);

}  // namespace attnscope
