/// Warps and shared memory of one block of flash2's forward launch. Plain C++: the catalog uses
/// them to choose a tiling, and the launch uses them to start the kernel.
#pragma once

#include "kernels/score_shared.cuh"
#include "reference/tiling.h"

namespace attnscope::kernels {

/// Bytes of Qi, then Kj and Vj in stages; 16-bit tiles of width d.
constexpr Index flash2_forward_shared_bytes(Index d, const Tiling& tiling, Index stages = 2) {
  constexpr Index kElementBytes = 2;
  return (tiling.Br + 2 * stages * tiling.Bc) * d * kElementBytes;
}

/// Warps of a block. A warp has 32 rows if O and S of 32 rows fit in its registers and the block
/// still has other warps, else 16. `scored`: with score features, which take additional registers.
constexpr int flash2_forward_warps(Index d, const Tiling& tiling, bool scored) {
  const Index most_columns = scored ? 160 : 192;  // of O and S together
  const bool two_pieces = tiling.Br >= 128 && tiling.Br % 32 == 0 && d + tiling.Bc <= most_columns;
  return static_cast<int>(tiling.Br / (two_pieces ? 32 : 16));
}

/// Warps of a block that share the keys of a column tile (knob::kSlicedK): at most four, each with
/// pieces of 16 keys.
constexpr int flash2_sliced_warps(const Tiling& tiling) {
  int warps = 4;
  while (tiling.Bc % (16 * warps) != 0) warps /= 2;
  return warps;
}

/// Bytes that such a warp writes for the merge, in the layout of its threads: O, and m and l of
/// each row in the four threads that share the row.
constexpr Index flash2_slice_bytes(Index d, Index Br) {
  constexpr Index kElementBytes = 4;
  return Br * (d + 8) * kElementBytes;
}

/// The consumers of a block with Hopper's own instructions: groups of four warps with 64 rows each.
/// One more group, the producer, loads for them.
constexpr int flash2_hopper_consumers(const Tiling& tiling) {
  return static_cast<int>(tiling.Br / 64);
}
constexpr int flash2_hopper_threads(const Tiling& tiling) {
  return (flash2_hopper_consumers(tiling) + 1) * 128;
}

/// The distribution of registers in such a block: a launch gives each thread the same number, in
/// steps of eight; the producer keeps few. With one consumer, all threads have as many as they can
/// use.
struct HopperRegisters {
  int serving, consuming;  ///< of a thread
  bool moved;
};
constexpr HopperRegisters flash2_hopper_registers(int consumers) {
  constexpr int kOfSm = 65536, kMost = 255, kServing = 24;
  const int at_launch = kOfSm / ((consumers + 1) * 128) / 8 * 8;
  if (at_launch > kMost) return {kMost, kMost, false};
  return {kServing, ((consumers + 1) * at_launch - kServing) / consumers / 8 * 8, true};
}

/// Whether O, S and the rounded 16-bit P fit in the registers of a consumer's threads, beside 32
/// registers for everything else, and the products of the tile are few and wide. Up to three
/// consumers need at least 80 keys to keep the tensor cores busy; four need only 64, the most that
/// their registers hold.
constexpr bool flash2_hopper_holds(Index d, const Tiling& tiling) {
  constexpr Index kOthers = 32;
  const bool has_groups = tiling.Br % 64 == 0 && tiling.Br <= 256;
  const Index fewest_keys = tiling.Br == 256 ? 64 : 80;
  const bool has_products =
      fewest_keys <= tiling.Bc && tiling.Bc <= 192 && tiling.Bc % 16 == 0 && d >= 64;
  return has_groups && has_products &&
         d / 2 + tiling.Bc / 2 + tiling.Bc / 4 + kOthers <=
             flash2_hopper_registers(flash2_hopper_consumers(tiling)).consuming;
}

/// Width of a tile on chip: whole panels of 64 columns.
constexpr int flash2_hopper_width(Index d) {
  return static_cast<int>((d + 63) / 64 * 64);
}

/// The layout of a thread block's shared memory: offsets in bytes, and the total. Qi comes first.
struct Flash2HopperLayout {
  Index K, V;      ///< the rings of Kj and Vj
  Index O;         ///< Oi before it is stored; 0: in the rows of Qi
  Index news;      ///< numbers of the next row tiles (device::TileNews)
  Index barriers;  ///< two for each stage of a ring, two for each consumer, five more
  Index scores;    ///< data of the score features, separate for each warp
  Index bytes;
};

/// A block that computes several row tiles has a separate slot for Oi if there is room, so that the
/// next Qi need not wait for the stores.
constexpr Flash2HopperLayout flash2_hopper_layout(Index d, const Tiling& tiling, Index stages,
                                                  bool persistent, const ScoreFeatures& features) {
  constexpr Index kBarrierBytes = 8, kNewsBytes = 32, kElementBytes = 2;
  constexpr Index kMostBytes = Index{227} * 1024;
  const Index row_bytes = flash2_hopper_width(d) * kElementBytes;
  const Index consumers = flash2_hopper_consumers(tiling);
  const Index ring = stages * tiling.Bc * row_bytes;
  const Index rows = tiling.Br * row_bytes;
  const Index warp_scores = score_rows_shared_bytes(features, {16, tiling.Bc});
  const Index others =
      (4 * stages + 2 * consumers + 5) * kBarrierBytes + kNewsBytes + 4 * consumers * warp_scores;
  const bool own_slot = persistent && 2 * rows + 2 * ring + others <= kMostBytes;
  Flash2HopperLayout layout{.K = rows, .V = rows + ring, .O = own_slot ? rows + 2 * ring : 0};
  layout.news = rows + 2 * ring + (own_slot ? rows : 0);
  layout.barriers = layout.news + kNewsBytes;
  layout.scores = layout.barriers + (4 * stages + 2 * consumers + 5) * kBarrierBytes;
  layout.bytes = layout.scores + 4 * consumers * warp_scores;
  return layout;
}

/// The number of heads whose row tiles of the same index start one after another under a causal
/// mask: as many as keep their K and V within a part of L2, but no more than are needed to give
/// each SM a few row tiles, or eight if that is more, since row tiles of the same length all end at
/// the same time. The heads form whole groups of `group` heads that share a KV head; the number of
/// groups divides `kv_heads`.
constexpr Index flash2_hopper_heads_at_once(Index kv_heads, Index group, Index kv_bytes,
                                            Index row_tiles) {
  constexpr Index kL2Bytes = Index{32} * 1024 * 1024, kRowTiles = 256, kHeads = 8;
  const Index few = kRowTiles / row_tiles > kHeads ? kRowTiles / row_tiles : kHeads;
  Index most = kL2Bytes / kv_bytes < few / group ? kL2Bytes / kv_bytes : few / group;
  if (most < 1) most = 1;
  if (most > kv_heads) most = kv_heads;
  while (kv_heads % most != 0) --most;
  return most * group;
}

/// Shared memory in fp32 on the CUDA cores, for flash1 as well: Qi, Kj, Vj and P, whose rows are
/// padded by four elements.
constexpr Index flash2_forward_fp32_shared_bytes(Index d, const Tiling& tiling) {
  constexpr Index kElementBytes = 4;
  return kElementBytes * ((tiling.Br + 2 * tiling.Bc) * d + tiling.Br * (tiling.Bc + 4));
}

}  // namespace attnscope::kernels
