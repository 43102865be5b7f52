/// Tile operations: emitted by a schedule, received by every observer.
///
/// An op says what happens to which tile. It has no time, address or value: geometry belongs to the
/// launch's TileGrid, values to the numeric executor, time to the timeline.
#pragma once

#include <bitset>
#include <cstdint>
#include <span>

#include "reference/enum_names.h"
#include "reference/tiling.h"

namespace attnscope {

/// Every tensor of every algorithm, by the papers' names. m_tile, l_tile and beta are flash1's
/// m~_ij, l~_ij and exp(m~_ij - m_i_new); O_carry is its O in fp32 between passes over j. dQ_accum
/// is dQ in fp32 while thread blocks add to it; dK_heads, dV_heads are the gradients of each query
/// head of a group, before they are summed. P_drop is P~, P after dropout, if P is needed as well;
/// T is the derivative of the soft cap. O_split and LSE_split are the results of split_kv's thread
/// blocks over their part of the keys; their tile (i, j) is row tile i of split j. Z holds
/// dropout's factors, if a launch stores them.
// clang-format off
enum class Tensor : std::uint8_t {
  Q, K, V, O, LSE, S, P, m, l, alpha, m_tile, l_tile, beta, O_carry,
  dO, dQ, dK, dV, dP, dS, D, dQ_accum, dK_heads, dV_heads,
  P_drop, T, O_split, LSE_split, Z,
};
// clang-format on
inline constexpr int kTensorCount = 29;

constexpr std::array<std::string_view, kTensorCount> enum_names(Tensor) {
  return split_names<kTensorCount>(
      "Q, K, V, O, LSE, S, P, m, l, alpha, m_tile, l_tile, beta, O_carry, dO, dQ, dK, dV, dP, dS, "
      "D, dQ_accum, dK_heads, dV_heads, P_drop, T, O_split, LSE_split, Z");
}

using TensorSet = std::bitset<kTensorCount>;

/// Every tensor, in the order of the enumeration.
inline constexpr auto kTensors = [] {
  std::array<Tensor, kTensorCount> tensors{};
  for (int t = 0; t < kTensorCount; ++t) tensors[static_cast<std::size_t>(t)] = Tensor(t);
  return tensors;
}();

/// Column index of a tile that spans all keys.
inline constexpr std::int32_t kAllColumns = -1;

/// The largest number of slots of a tensor on chip.
inline constexpr std::size_t kMostSlots = 4;

/// One tile, in HBM (slot 0) or in a named slot on chip (slot 1, 2, ... of its tensor; more than
/// one if a schedule buffers tiles).
struct Tile {
  static constexpr std::uint8_t kHbm = 0;

  Tensor tensor = Tensor::Q;
  std::uint8_t slot = kHbm;
  bool last_use = false;  ///< as a source: no later op reads it; its slot becomes invalid
  /// The index among TileGrid::d_parts(), for a tensor with d columns; in a grid with
  /// TileGrid::shares(), a TileShare.
  std::uint8_t part = 0;
  std::int32_t i = 0;  ///< row tile (queries); of dK_heads, dV_heads: query head of the group
  std::int32_t j = 0;  ///< column tile (keys), or kAllColumns; unused for row-tile tensors

  bool on_chip() const { return slot != kHbm; }
  Tile in_hbm() const { return {tensor, kHbm, false, part, i, j}; }
};

/// The tile, marked as read for the last time.
constexpr Tile last_use(Tile tile) {
  tile.last_use = true;
  return tile;
}

/// The largest number of parts that Tile::part can distinguish.
inline constexpr Index kMostParts = 256;

/// The tile with the same rows and only the columns of this part of d.
constexpr Tile part_of(Tile tile, Index part) {
  tile.part = static_cast<std::uint8_t>(part);
  return tile;
}

/// An agent's part of a tile that several agents share: an equal part of its queries or keys, or
/// all of it.
struct TileShare {
  enum class Of : std::uint8_t { whole, queries, keys };
  Of of = Of::whole;
  bool in_whole_tile = false;  ///< its slot holds the whole tile; otherwise only the share
  Index number = 0;

  static constexpr TileShare from_part(std::uint8_t part) {
    return {Of(part >> 6), (part & 0x20) != 0, part & 0x1f};
  }
  constexpr std::uint8_t part() const {
    const int bits = static_cast<int>(of) << 6 | (in_whole_tile ? 0x20 : 0);
    return static_cast<std::uint8_t>(bits | static_cast<int>(number));
  }
};

/// The tile's share of the queries, or of the keys, in a separate slot.
constexpr Tile query_share(Tile tile, Index number) {
  tile.part = TileShare{TileShare::Of::queries, false, number}.part();
  tile.slot = static_cast<std::uint8_t>(1 + number);
  return tile;
}
constexpr Tile key_share(Tile tile, Index number) {
  tile.part = TileShare{TileShare::Of::keys, false, number}.part();
  tile.slot = static_cast<std::uint8_t>(1 + number);
  return tile;
}
/// The same share, within the whole tile that the slot holds.
constexpr Tile queries_within(Tile tile, Index number) {
  tile.part = TileShare{TileShare::Of::queries, true, number}.part();
  return tile;
}
constexpr Tile keys_within(Tile tile, Index number) {
  tile.part = TileShare{TileShare::Of::keys, true, number}.part();
  return tile;
}

/// The kind of operation. Row-wise operations broadcast a [rows, 1] statistic over the columns. A
/// row without a visible key (its maximum is -inf) gives alpha = 1, P = 0 and O = 0, never NaN.
enum class OpKind : std::uint8_t {
  load,            ///< dest (on chip) = source (HBM)
  store,           ///< dest (HBM) = source (on chip)
  fill_zero,       ///< dest = 0
  fill_minus_inf,  ///< dest = -inf
  scores,          ///< S = softmax_scale * Q K^T
  mask,            ///< S = -inf where the mask hides the key
  row_max,         ///< dest = rowmax(source)
  running_max,  ///< m_prev = dest0; dest0 = max(m_prev, rowmax source); dest1 = exp(m_prev - dest0)
  exp,          ///< dest = exp(source0 - source1), source1 row-wise
  row_sum,      ///< dest = rowsum(source)
  add_row_sum,  ///< dest += rowsum(source)
  rescale,      ///< dest *= source, row-wise
  accumulate,   ///< dest += source0 source1 (matrix product)
  normalize,    ///< dest /= source, row-wise
  log_sum_exp,  ///< dest = source0 + log(source1): LSE = m + log l
  convert,      ///< dest = source
  product_transposed,           ///< dest = source0 source1^T
  accumulate_transposed,        ///< dest += source0^T source1
  gradient_product,             ///< dest += softmax_scale * source0 source1
  gradient_product_transposed,  ///< dest += softmax_scale * source0^T source1
  row_dot,                      ///< dest = rowsum(source0 * source1, element by element)
  add_row_dot,                  ///< dest += rowsum(source0 * source1, element by element)
  softmax_gradient,  ///< dest = source0 * (source1 - source2), source2 row-wise: dS = P (dP - D)
  add,               ///< dest += source
  atomic_add,        ///< dest (HBM) += source (on chip), atomically
  soft_cap,          ///< dest = cap tanh(dest / cap)
  soft_cap_slope,    ///< dest = 1 - (source / cap)^2, of capped scores
  alibi,             ///< dest -= slope * distance of key and query
  dropout,           ///< dest = Z * source, element by element: Z is 0 or 1 / (1 - p)
  multiply,          ///< dest *= source, element by element
  scale,             ///< dest = softmax_scale * dest, if no product includes the scale
  mask_gradient,     ///< dS = 0 where the mask hides the key
  dropout_factors,   ///< dest = Z, for a launch that stores Z
  wait,              ///< the agent continues once a phase of a barrier is complete
  arrive,            ///< one of the arrivals that complete a phase of a barrier
};
inline constexpr int kOpKindCount = 35;

constexpr std::array<std::string_view, kOpKindCount> enum_names(OpKind) {
  return split_names<kOpKindCount>(
      "load, store, fill_zero, fill_minus_inf, scores, mask, row_max, running_max, exp, row_sum, "
      "add_row_sum, rescale, accumulate, normalize, log_sum_exp, convert, product_transposed, "
      "accumulate_transposed, gradient_product, gradient_product_transposed, row_dot, add_row_dot, "
      "softmax_gradient, add, atomic_add, soft_cap, soft_cap_slope, alibi, dropout, multiply, "
      "scale, mask_gradient, dropout_factors, wait, arrive");
}

/// The executor of an operation. A thread block's program is either one sequence of operations or
/// several agents (warp groups) that run concurrently and synchronize at barriers.
enum class Agent : std::uint8_t {
  block,              ///< every warp: the program has no agents
  producer,           ///< loads tiles for the others
  statistics_loader,  ///< backward: loads LSE and D for the consumers
  dQ_adder,           ///< backward: adds the consumers' parts of dQ in HBM
  consumer,           ///< the first consumer; consumer n is Agent(consumer + n)
};

constexpr Agent consumer(Index n) {
  return Agent(static_cast<int>(Agent::consumer) + static_cast<int>(n));
}
/// The number of a consumer, counted from 0.
constexpr Index number_of(Agent agent) {
  return static_cast<Index>(agent) - static_cast<Index>(Agent::consumer);
}
constexpr bool is_consumer(Agent agent) {
  return agent >= Agent::consumer;
}

/// A barrier of a thread block, which guards one slot on chip, and one of its phases. Phase n is
/// complete after `arrivals` (n + 1) arrivals: an mbarrier of the GPU.
struct Barrier {
  enum class Signals : std::uint8_t {
    full,   ///< the tile is in the slot: its readers wait for this
    empty,  ///< every reader has read the tile: writers of the next one wait for this
  };
  Signals signals = Signals::full;
  std::uint8_t arrivals = 1;  ///< the number that completes a phase
  std::int32_t phase = 0;
  Tile tile;  ///< the tile that the phase refers to, in the slot that the barrier guards
};

/// One operation of one thread block. A wait or arrive has a barrier instead of tiles, stored in
/// its destinations, of which the first is the barrier's tile.
struct TileOp {
  OpKind kind = OpKind::load;
  std::uint8_t line = 0;  ///< index into the launch's pseudo-code
  Agent agent = Agent::block;
  std::uint8_t dest_count : 3 = 0;
  std::uint8_t source_count : 3 = 0;
  bool skipped : 1 = false;    ///< dropped by the run's break: no value changes
  bool unreached : 1 = false;  ///< skipped because its agent waits forever
  std::array<Tile, 2> dest_tiles;
  std::array<Tile, 3> source_tiles;

  std::span<const Tile> dests() const { return {dest_tiles.data(), dest_count}; }
  std::span<const Tile> sources() const { return {source_tiles.data(), source_count}; }
  bool is_of_barrier() const { return kind == OpKind::wait || kind == OpKind::arrive; }
  Barrier barrier() const {
    const Tile& kept = dest_tiles[1];
    return {Barrier::Signals(kept.slot), kept.part, kept.i, dest_tiles[0]};
  }
  void set_barrier(const Barrier& barrier) {
    dest_tiles[0] = barrier.tile;
    dest_tiles[1] = {.slot = static_cast<std::uint8_t>(barrier.signals),
                     .part = barrier.arrivals,
                     .i = barrier.phase};
  }
  bool moves_bytes() const {
    return kind == OpKind::load || kind == OpKind::store || kind == OpKind::atomic_add;
  }
  bool is_matrix_product() const {
    return kind == OpKind::scores || kind == OpKind::accumulate ||
           (kind >= OpKind::product_transposed && kind <= OpKind::gradient_product_transposed);
  }
  /// Whether it is a product whose result is a tile of scores: S or dP.
  bool makes_scores() const { return kind == OpKind::scores || kind == OpKind::product_transposed; }
  /// Whether it is a product that sums over the queries of a tile of scores: dV or dK.
  bool sums_queries() const {
    return kind == OpKind::accumulate_transposed || kind == OpKind::gradient_product_transposed;
  }
  /// Whether it computes one number per row of its source: a maximum or a sum.
  bool reduces_rows() const {
    return kind == OpKind::row_max || kind == OpKind::running_max || kind == OpKind::row_sum ||
           kind == OpKind::add_row_sum;
  }
};
static_assert(sizeof(TileOp) == 64, "a counted sweep spends most of its time writing them");

}  // namespace attnscope
