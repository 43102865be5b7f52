/// The vocabulary below both the simulator and the kernels: what is computed, in which precision,
/// under which mask, in which tiles.
///
/// Symbols follow the FlashAttention papers (arXiv 2205.14135, 2307.08691):
///   N, N_kv   number of queries and of keys        d       head dimension
///   Br, Bc    rows and columns of a tile of S      Tr, Tc  number of row and column tiles
///   i, j      index of a row tile (queries) and of a column tile (keys)
/// Br and Bc are kBlockM and kBlockN of the flash-attention sources.
///
/// Tensor shapes, C order: Q, O, dO, dQ [B, H, N, d]; K, V, dK, dV [B, H_kv, N_kv, d];
/// LSE [B, H, N]. S = softmax_scale * Q K^T, P = softmax(S), O = P V.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

namespace attnscope {

/// Counts and sizes. Signed, so that differences are safe.
using Index = std::int64_t;

/// Storage precision of Q, K, V, O (and of S and P where they are stored).
enum class DType : std::uint8_t { fp32, fp16, bf16 };

/// Bytes of one element.
constexpr Index size_bytes(DType dtype) {
  return dtype == DType::fp32 ? 4 : 2;
}

/// Bytes of one row statistic (m, l, LSE, D): always fp32.
inline constexpr Index kStatisticBytes = 4;

std::string_view to_string(DType dtype);
std::optional<DType> parse_dtype(std::string_view name);

/// Which keys a query may attend to: a band around the diagonal.
///
/// Query row q attends to key column k when  -left <= k - (q + offset) <= right,  where offset is
/// N_kv - N (bottom-right alignment: the last query sees the last key) or 0 (top-left). Causal is
/// left = unlimited, right = 0.
struct Mask {
  enum class Alignment : std::uint8_t { bottom_right, top_left };
  static constexpr Index kUnlimited = -1;

  Index left = kUnlimited;   ///< keys before the diagonal that are visible
  Index right = kUnlimited;  ///< keys after the diagonal that are visible
  Alignment alignment = Alignment::bottom_right;

  static constexpr Mask none() { return {}; }
  static constexpr Mask causal(Alignment alignment = Alignment::bottom_right) {
    return {kUnlimited, 0, alignment};
  }
  static constexpr Mask window(Index left, Index right) { return {left, right, {}}; }

  bool is_none() const { return left == kUnlimited && right == kUnlimited; }
  bool is_causal() const { return left == kUnlimited && right == 0; }
  bool operator==(const Mask&) const = default;
};

/// "none", "causal", "causal:top-left", "window:LEFT,RIGHT", "window:LEFT,RIGHT:top-left"; the
/// command line's spelling. A side of -1 is unlimited.
std::string to_string(const Mask& mask);
std::optional<Mask> parse_mask(std::string_view text);

/// Keys [begin, end) that a query may attend to; empty when begin >= end.
struct KeyRange {
  Index begin = 0;
  Index end = 0;
  Index size() const { return end > begin ? end - begin : 0; }
  bool operator==(const KeyRange&) const = default;
};

/// One attention computation over a batch of heads.
struct AttentionProblem {
  Index batch = 1;
  Index heads = 1;
  Index kv_heads = 1;  ///< divides heads; query head h reads KV head h / (heads / kv_heads)
  Index N = 1024;      ///< queries of a head
  Index N_kv = 1024;   ///< keys of a head
  Index d = 64;        ///< head dimension
  DType dtype = DType::bf16;
  Mask mask;

  /// tau of the papers: 1 / sqrt(d).
  double softmax_scale() const { return 1.0 / std::sqrt(static_cast<double>(d)); }
  Index heads_per_kv_head() const { return heads / kv_heads; }
  Index kv_head_of(Index head) const { return head / heads_per_kv_head(); }

  /// Position on the key axis that query row q is aligned with, before the band is applied.
  Index diagonal(Index query) const {
    return mask.alignment == Mask::Alignment::bottom_right ? query + N_kv - N : query;
  }
  /// Keys that query row q attends to, clipped to [0, N_kv).
  KeyRange keys_of(Index query) const;
  bool attends(Index query, Index key) const {
    const KeyRange keys = keys_of(query);
    return key >= keys.begin && key < keys.end;
  }

  bool operator==(const AttentionProblem&) const = default;
};

/// Largest size that a problem accepts on any axis: tile and element counts of one head's scores
/// then fit in 63 bits with room to spare.
inline constexpr Index kMaxSequenceLength = Index{1} << 27;
inline constexpr Index kMaxHeadDim = 4096;
inline constexpr Index kMaxHeads = Index{1} << 20;
/// Bound on B H N N_kv d: bytes and operations of any pass, at most 32 times as many, fit in 63
/// bits.
inline constexpr double kMaxMultiplyAdds = 0x1p57;

/// Nothing when the problem can be computed, else one line: what, why, what would be accepted.
std::optional<std::string> validate(const AttentionProblem& problem);

/// Rows and columns of a tile of S: Br query rows by Bc key columns. Either may exceed the
/// sequence. For `standard`: BM and BN, the tile of its matrix products.
struct Tiling {
  Index Br = 64;
  Index Bc = 64;
  bool operator==(const Tiling&) const = default;
};

std::optional<std::string> validate(const Tiling& tiling);

/// How flash1 carries O through HBM between passes over j: in the problem's precision (the paper's
/// bytes) or in fp32 (full accuracy, more bytes).
enum class Carry : std::uint8_t { problem, fp32 };

std::string_view to_string(Carry carry);
std::optional<Carry> parse_carry(std::string_view name);

constexpr Index ceil_div(Index a, Index b) {
  return (a + b - 1) / b;
}

/// Row of a softmax launch of `standard` per thread block: short rows share a block, one a warp.
constexpr Index softmax_rows_per_block(Index N_kv) {
  return N_kv <= 1024 ? 4 : 1;
}

}  // namespace attnscope
