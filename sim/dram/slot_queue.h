/// The order in which resident thread blocks move tiles.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

namespace attnscope {

/// The time at which each slot (room for one thread block on an SM) next moves tiles, in ticks,
/// below 2^44; among slots with the same time, the lowest number comes first.
class SlotQueue {
 public:
  static constexpr std::size_t kMostSlots = std::size_t{1} << 20U;

  explicit SlotQueue(std::size_t slots = 1)
      : leaves_(std::bit_ceil(slots)), first_(2 * leaves_, kNever) {}

  bool empty() const { return first_[1] == kNever; }
  /// The slot that moves next, and its time; the queue must not be empty.
  std::size_t slot() const { return first_[1] & kSlotMask; }
  std::uint64_t tick() const { return first_[1] >> kSlotBits; }
  void set(std::size_t slot, std::uint64_t tick) { put(slot, tick << kSlotBits | slot); }
  void remove(std::size_t slot) { put(slot, kNever); }

 private:
  static constexpr std::uint64_t kSlotMask = kMostSlots - 1;
  static constexpr unsigned kSlotBits = std::popcount(kSlotMask);
  static constexpr std::uint64_t kNever = ~std::uint64_t{0};

  void put(std::size_t slot, std::uint64_t key) {
    std::size_t node = leaves_ + slot;
    first_[node] = key;
    for (node /= 2; node > 0; node /= 2) {
      const std::uint64_t first = std::min(first_[2 * node], first_[2 * node + 1]);
      if (first_[node] == first) return;
      first_[node] = first;
    }
  }

  std::size_t leaves_;
  std::vector<std::uint64_t> first_;  ///< a tree of minima; its root is at 1
};

}  // namespace attnscope
