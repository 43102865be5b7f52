/// The vocabulary shared by the simulator and the kernels: the problem, its precision, its mask and
/// its tiles.
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
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "reference/block_mask.h"
#include "reference/enum_names.h"
#include "reference/result.h"
#include "reference/score_function.h"
#include "reference/tiling.h"

namespace attnscope {

/// The passes to compute: `both` is the forward pass, then the backward pass.
enum class PassKind : std::uint8_t { forward, backward, both };

constexpr std::array<std::string_view, 3> enum_names(PassKind) {
  return {"forward", "backward", "both"};
}

/// Storage precision of Q, K, V, O (and of S and P if they are stored).
enum class DType : std::uint8_t { fp32, fp16, bf16 };

/// Bytes of one element.
constexpr Index size_bytes(DType dtype) {
  return dtype == DType::fp32 ? 4 : 2;
}

constexpr std::array<std::string_view, 3> enum_names(DType) {
  return {"fp32", "fp16", "bf16"};
}

/// The keys that a query may attend to: a band around the diagonal.
///
/// Query row q attends to key column k when  -left <= k - (q + offset) <= right,  where offset is
/// N_kv - N (bottom-right alignment: the last query sees the last key) or 0 (top-left). Causal is
/// left = unlimited, right = 0.
struct Mask {
  enum class Alignment : std::uint8_t { bottom_right, top_left };
  static constexpr Index kUnlimited = -1;

  Index left = kUnlimited;   ///< visible keys before the diagonal
  Index right = kUnlimited;  ///< visible keys after the diagonal
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
/// command line's spelling. A side of -1 is unlimited. parse_mask() also accepts "window:KEYS", the
/// last KEYS keys up to the diagonal, at least 1: window:KEYS-1,0.
std::string to_string(const Mask& mask);
std::optional<Mask> parse_mask(std::string_view text);

/// Keys [begin, end) that a query may attend to; empty if begin >= end.
struct KeyRange {
  Index begin = 0;
  Index end = 0;
  Index size() const { return end > begin ? end - begin : 0; }
  bool operator==(const KeyRange&) const = default;
};

/// The queries and keys of one sequence: the whole head, or one of the sequences packed into it.
struct Sequence {
  Index query_begin = 0;
  Index query_end = 0;
  KeyRange keys;
  Index queries() const { return query_end - query_begin; }
  bool operator==(const Sequence&) const = default;
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
  ScoreFunction score;

  /// Key padding: valid keys of each batch entry, [B], each at most N_kv; empty: all of them. Later
  /// keys are hidden from every query; the diagonal still depends on N and N_kv.
  std::vector<Index> key_lengths;
  /// Packed sequences, as in flash-attention's varlen interface: sequence s has the queries
  /// [cu_seqlens_q[s], cu_seqlens_q[s + 1]) and the keys [cu_seqlens_k[s], cu_seqlens_k[s + 1]). A
  /// query sees only the keys of its own sequence, under the mask aligned to that sequence. The
  /// lists begin with 0 and end with N and N_kv; batch is 1. Empty: one sequence.
  std::vector<Index> cu_seqlens_q;
  std::vector<Index> cu_seqlens_k;

  /// The tiles of S that block-sparse attention computes, where the mask leaves keys visible; the
  /// same for every head. Null: all.
  SharedBlockMask block_mask = nullptr;

  /// tau of the papers: 1 / sqrt(d).
  double softmax_scale() const { return 1.0 / std::sqrt(static_cast<double>(d)); }
  Index heads_per_kv_head() const { return heads / kv_heads; }
  Index kv_head_of(Index head) const { return head / heads_per_kv_head(); }

  bool is_packed() const { return !cu_seqlens_q.empty(); }
  bool has_key_lengths() const { return !key_lengths.empty(); }
  Index sequence_count() const {
    return is_packed() ? static_cast<Index>(cu_seqlens_q.size()) - 1 : 1;
  }
  Sequence sequence(Index s) const;
  /// The sequence that query row q belongs to.
  Sequence sequence_of(Index query) const;

  /// Position on the key axis that query row q is aligned with, before the band is applied.
  Index diagonal(Index query) const {
    if (is_packed()) return aligned_key(query, mask.alignment);
    return mask.alignment == Mask::Alignment::bottom_right ? query + N_kv - N : query;
  }
  /// The key that query row q is aligned with inside its sequence.
  Index aligned_key(Index query, Mask::Alignment alignment) const;
  /// The keys that query row q of batch entry b attends to, ignoring the block mask, clipped to
  /// those of its sequence. Batch entries differ only in key lengths.
  KeyRange keys_of(Index query, Index b = 0) const;
  /// Whether the query attends to the key; includes the block mask.
  bool attends(Index query, Index key, Index b = 0) const;
  /// ALiBi's bias on a score of query head h: -slope |k - (q + N_kv - N)|. Requires slopes.
  double alibi_bias(Index h, Index query, Index key) const;
  /// The factor Z of dropout for one element of P: 0, or 1 / (1 - p). Requires dropout.
  double dropout_factor(Index b, Index h, Index query, Index key) const;

  bool operator==(const AttentionProblem&) const = default;
};

/// Largest size that a problem accepts on any axis: tile and element counts of one head's scores
/// then fit in 63 bits with room to spare.
inline constexpr Index kMaxSequenceLength = Index{1} << 27;
inline constexpr Index kMaxHeadDim = 4096;
inline constexpr Index kMaxHeads = Index{1} << 20;
/// Upper limit on B H N N_kv d: the bytes and operations of any pass, at most 32 times as many, fit
/// in 63 bits.
inline constexpr double kMaxMultiplyAdds = 0x1p57;

/// Nothing if the problem can be computed, else an error about the first invalid field.
std::optional<Error> validate(const AttentionProblem& problem);

/// The properties of a problem other than its sizes, precision and mask, as text: "", or for
/// example "softcap 30, key lengths 5,7" or "alibi, 3 packed sequences".
std::string extras_text(const AttentionProblem& problem);

std::optional<Error> validate(const Tiling& tiling);

/// The precision in which flash1 and block_sparse keep O (backward: dQ) in HBM between passes over
/// j: the problem's (AttnScope's choice), which moves the bytes counted in the paper and rounds in
/// every pass; or fp32, as in the 2022 implementation, which moves more bytes and rounds once.
enum class Carry : std::uint8_t { problem, fp32 };

constexpr std::array<std::string_view, 2> enum_names(Carry) {
  return {"problem", "fp32"};
}

/// Rows per thread block of a softmax launch of `standard`: short rows share a block, one per warp.
constexpr Index softmax_rows_per_block(Index N_kv) {
  return N_kv <= 1024 ? 4 : 1;
}

// The sequences of a problem: key lengths and packing.

/// Batch entries with the same key length: their heads move the same bytes, so counting one entry
/// suffices.
struct KeyLengthGroup {
  Index first = 0;      ///< one of the entries
  Index count = 0;      ///< size of the group
  Index key_count = 0;  ///< valid keys of each
};

/// The groups of the batch entries, each entry in one; the shortest key lengths come first.
std::vector<KeyLengthGroup> group_batch_by_key_length(const AttentionProblem& problem);

/// Reduces the problem to one batch entry, with the group's key length if it has key lengths.
void leave_one_entry(AttentionProblem& problem, const KeyLengthGroup& group);

/// Nothing, or an error in one line: the field, the reason and the accepted values. The sizes of
/// the problem must be valid.
std::optional<Error> validate_key_lengths(const AttentionProblem& problem);
std::optional<Error> validate_packing(const AttentionProblem& problem);

}  // namespace attnscope
