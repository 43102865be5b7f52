/// Counts what the warps of a thread block move through shared memory, and the barriers that this
/// takes, for the operations of the forward pass (warp_shares.h).
///
/// A barrier is counted where one is needed: before shared memory is read that other warps wrote
/// since the last barrier, and before it is overwritten after others read it.
#pragma once

#include <bitset>
#include <vector>

#include "sim/observers/warp_shares.h"
#include "sim/ops/observer.h"

namespace attnscope {

/// Of one launch, or of several. The exchange is part of the reads and writes.
struct WarpTraffic {
  Index shared_read_bytes = 0;
  Index shared_write_bytes = 0;
  Index exchange_read_bytes = 0;   ///< partial results of other warps and the warp's own
  Index exchange_write_bytes = 0;  ///< partial results
  Index barriers = 0;              ///< of a thread block, summed over thread blocks
  WarpTraffic& operator+=(const WarpTraffic& other);
  WarpTraffic operator*(Index count) const;
  bool operator==(const WarpTraffic&) const = default;
};

class WarpCounter : public Observer {
 public:
  explicit WarpCounter(const WarpLayout& layout) : layout_(layout) {}
  void begin_launch(std::string_view name, const TileGrid& grid) override;
  void begin_block(const BlockId& block) override;
  void observe(std::span<const TileOp> ops) override;

  /// One entry a launch, in the order in which they ran.
  const std::vector<WarpTraffic>& launches() const { return launches_; }

 private:
  /// Shared memory that a hazard can lie in: a tile's slot, or its exchange buffer.
  static constexpr std::size_t kPlaces = std::size_t{kTensorCount} * 4;
  struct Hazards {
    std::bitset<kPlaces> written;  ///< since the last barrier
    std::bitset<kPlaces> read;     ///< since the last barrier
  };
  void count(const TileOp& op);
  void write(std::size_t place);
  void read(std::size_t place);
  void barrier();

  WarpLayout layout_;
  const TileGrid* grid_ = nullptr;
  Hazards hazards_;
  std::vector<WarpTraffic> launches_;
};

}  // namespace attnscope
