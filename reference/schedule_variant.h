/// Variants of an algorithm: deviations of a framework or a kernel from the paper, so that their
/// effect can be counted.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "reference/attention_problem.h"
#include "reference/run_break.h"

namespace attnscope {

/// How much of standard attention's elementwise work one launch combines. Launches that the problem
/// does not need (no mask, no dropout) are omitted.
enum class Fusion : std::uint8_t {
  separate,  ///< scale, mask, softmax, dropout: one launch each, forward and backward
  figure2,   ///< one accounting that yields the 40.3 GB of arXiv 2205.14135, Figure 2, which the
             ///< paper does not explain: scale in the product, separate mask launch in the forward
             ///< pass, separate dropout launch in both
  pairs,     ///< scale and mask in one launch; softmax and dropout in another
  rows,      ///< all of it in one launch over whole rows
};

constexpr std::array<std::string_view, 4> enum_names(Fusion) {
  return {"separate", "figure2", "pairs", "rows"};
}

/// The largest number of buffers of K_j and V_j, which is the number of slots per tensor on chip.
inline constexpr Index kMaxStages = 4;
/// The largest number of warp groups that compute.
inline constexpr Index kMaxConsumers = 4;

/// The tile of a matrix product's result, in elements; 0: the side from the tiling, or all of d.
struct ProductTile {
  Index rows = 0;
  Index cols = 0;
  bool operator==(const ProductTile&) const = default;
};

/// The tiles of standard attention's products, one for each result matrix. A library chooses each
/// separately.
struct ProductTiles {
  ProductTile S;   ///< queries by keys
  ProductTile O;   ///< queries by d
  ProductTile dV;  ///< keys by d
  ProductTile dP;  ///< queries by keys
  ProductTile dQ;  ///< queries by d
  ProductTile dK;  ///< keys by d
  bool operator==(const ProductTiles&) const = default;
};

/// The choices that an algorithm leaves open, apart from its tiles. The defaults are those of the
/// paper.
struct ScheduleVariant {
  Carry carry = Carry::problem;  ///< precision of O in HBM between passes: flash1, block_sparse
  Fusion fusion = Fusion::rows;  ///< standard
  /// standard: the backward pass keeps only Q, K and V and repeats the forward pass (activation
  /// checkpointing).
  bool checkpoint = false;
  ProductTiles product_tiles;  ///< standard
  /// flash1: the tensors that line 2 initialises start on chip; the first visit of a row tile does
  /// not read O, m, l or dQ.
  bool skip_first_reads = false;
  /// flash1: D = rowsum(dO o O) once, in a separate launch, instead of for every column tile.
  bool d_once = false;
  /// With a block mask, K_j and V_j of a column tile that no row tile computes stay in HBM; the
  /// paper loads them anyway.
  bool skip_unused_kv = false;
  /// flash2, block_sparse2, split_kv, forward: buffers of K_j and V_j in shared memory. With more
  /// than 1, tile j + stages - 1 is loaded while tile j is processed. Backward, with consumers:
  /// buffers of Q_i, dO_i, LSE_i, D_i and dS.
  Index stages = 1;
  /// flash2, block_sparse2: groups of warps that compute, each on its share of the row tile's rows,
  /// beside one that loads K_j and V_j for all of them. Backward: each on its share of the column
  /// tile's keys, beside warps that load Q_i and dO_i, load LSE_i and D_i, and add dQ_i. The groups
  /// synchronize at barriers. 0: every warp loads and computes.
  Index consumers = 0;
  /// flash2: tiles in which the mask leaves no key are loaded and computed like the others.
  bool visit_hidden = false;
  /// A dropped operation, or a replaced operand. The values are then wrong, but all counts are
  /// those of the correct run.
  RunBreak broken;
  bool operator==(const ScheduleVariant&) const = default;
};

/// The differences from the paper in the order of operations, as text: "", or for example
/// "fusion separate", "D once".
std::string to_string(const ScheduleVariant& variant);

}  // namespace attnscope
