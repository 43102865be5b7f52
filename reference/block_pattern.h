/// The patterns from which block masks are drawn, in the command line's spelling.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <string_view>

#include "reference/block_mask.h"
#include "reference/result.h"

namespace attnscope {

/// How to draw the 0/1 mask M over the Tr x Tc tile grid.
struct BlockPattern {
  enum class Kind : std::uint8_t {
    butterfly,     ///< i = j, or i XOR j is a power of two: the paper's fixed butterfly
    local_global,  ///< |i - j| <= window, and the first `global` rows and columns of tiles
    random,        ///< each tile independently, with probability `density`
    uniform,       ///< round(density Tc) tiles in each row, at random places, at least one
    file,          ///< .npy of shape [Tr, Tc] with values 0 and 1
  };
  Kind kind = Kind::butterfly;
  Index window = 0;
  Index global = 0;
  double density = 1.0;
  std::uint64_t seed = 0;
  std::string path;
  /// Whether drawing takes time for every tile, including zeros, because tiles are drawn or read
  /// one by one.
  bool visits_every_tile() const { return kind != Kind::butterfly && kind != Kind::local_global; }
  bool operator==(const BlockPattern&) const = default;
};

/// "butterfly", "local-global:W,G", "random:DENSITY[,SEED]", "uniform:DENSITY[,SEED]", "FILE.npy".
std::string to_string(const BlockPattern& pattern);
/// Whether the text of a pattern is the path of a file.
inline bool names_mask_file(std::string_view text) {
  return text.ends_with(".npy");
}
/// The inverse of to_string(). invalid_request for any other text: W, G and SEED are whole numbers
/// of at least 0, DENSITY is in (0, 1].
Result<BlockPattern> parse_block_pattern(std::string_view text);

/// Limits of a mask.
struct MaskLimits {
  Index ones = 100'000'000;      ///< tiles kept, listed by row and by column: 800 MB
  Index steps = Index{1} << 28;  ///< drawing_steps()
};

/// The cost of drawing a mask, apart from its ones, in visited tiles: Tr Tc if every tile is
/// visited once, else Tr times the steps of a row; at least the cost of the lists of its rows and
/// of its columns.
Index drawing_steps(const BlockPattern& pattern, Index Tr, Index Tc);

/// Draws the mask for N queries and N_kv keys in these tiles. If Tr and Tc differ, butterfly and
/// local_global stretch the shorter axis to the longer one. The draws are Philox integers: the same
/// on every machine. invalid_request for a mask beyond the limits, and for a file that cannot be
/// read, whose shape is not [Tr, Tc], or that has a value other than 0 and 1. If another thread
/// sets `cancel`, returns ErrorCode::cancelled before the next row is drawn.
Result<std::shared_ptr<const BlockMask>> make_block_mask(const BlockPattern& pattern, Index N,
                                                         Index N_kv, const Tiling& tiling,
                                                         const MaskLimits& limits = {},
                                                         const std::atomic<bool>* cancel = nullptr);

}  // namespace attnscope
