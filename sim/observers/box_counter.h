/// Counts the bytes that kernels request beyond the tiles of a schedule, because they move whole
/// boxes or pieces.
#pragma once

#include "sim/observers/traffic_counter.h"

namespace attnscope {

/// The boxes of bulk copies (cp.async.bulk.tensor), in elements. A box of K or V has the tile's
/// rows.
struct BulkBoxes {
  Index query_rows = 0;  ///< of a box of Q, dO, O or dQ
  Index columns = 0;     ///< of each box, along d
};

/// The reasons why bytes are requested beyond the tiles.
enum class BeyondTiles : std::uint8_t {
  /// As if bulk copies loaded every tile of a [B, H, rows, d] tensor: an SM also requests the part
  /// of a box beyond the tensor or beyond the last valid key, and fills it with zeros.
  boxes,
  /// dQ in fp32 has whole pieces of 16 rows, which are set to zero and read in pairs of rows 8 rows
  /// apart.
  pieces,
  added_pieces,  ///< as if whole pieces were added to dQ
};
inline constexpr std::size_t kBeyondTiles = 3;

class BoxCounter : public LaunchCounter<std::array<Bytes, kBeyondTiles>> {
 public:
  explicit BoxCounter(const BulkBoxes& boxes) : boxes_(boxes) {}
  void observe(std::span<const TileOp> ops) override;

 private:
  void count_box(const TileOp& load);
  void count_piece(const TileOp& op);
  Bytes& of(BeyondTiles cause) { return counts()[static_cast<std::size_t>(cause)]; }

  BulkBoxes boxes_;
};

}  // namespace attnscope
