/// Counts the bytes that thread blocks request from memory beyond their SRAM ("requested"), by
/// tensor and direction, valid rows only.
#pragma once

#include <array>

#include "reference/checked_count.h"
#include "sim/ops/observer.h"

namespace attnscope {

/// Bytes read and written. `write_bytes` includes `atomic_bytes`. Sums and products throw
/// CountTooLarge.
struct Bytes {
  Index read_bytes = 0;
  Index write_bytes = 0;
  Index atomic_bytes = 0;
  Index total() const { return checked_sum(read_bytes, write_bytes); }
  bool operator==(const Bytes&) const = default;
  static constexpr std::array kCounts = {&Bytes::read_bytes, &Bytes::write_bytes,
                                         &Bytes::atomic_bytes};
};

using BytesByTensor = std::array<Bytes, kTensorCount>;

inline Bytes& of(BytesByTensor& bytes, Tensor tensor) {
  return bytes[static_cast<std::size_t>(tensor)];
}
inline const Bytes& of(const BytesByTensor& bytes, Tensor tensor) {
  return bytes[static_cast<std::size_t>(tensor)];
}
Bytes sum(const BytesByTensor& bytes);

/// Bytes that an op moves between HBM and SRAM; 0 for any other op.
Index moved_bytes(const TileOp& op, const TileGrid& grid);

/// Adds the bytes that the op moves to those of its tensor: the payload of an atomic add counts
/// once as written and once, separately, as added atomically.
void count_moved(const TileOp& op, const TileGrid& grid, BytesByTensor& by_tensor);

class TrafficCounter : public LaunchCounter<BytesByTensor> {
 public:
  void observe(std::span<const TileOp> ops) override;
};

}  // namespace attnscope
