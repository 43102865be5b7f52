/// The order in which resident thread blocks move tiles.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <queue>
#include <utility>
#include <vector>

namespace attnscope {

/// The time at which each slot (room for one thread block on an SM) next moves tiles, in ticks;
/// among slots with the same time, the lowest number comes first.
///
/// Most slots move at the same time as others, and move again soon. A ring holds the slots of each
/// of the next kTicks ticks as a set of bits; later ones wait in a heap.
class SlotQueue {
 public:
  static constexpr std::size_t kMostSlots = std::size_t{1} << 20U;
  static constexpr std::uint64_t kTicks = 1024;

  struct Next {
    std::size_t slot;
    std::uint64_t tick;
  };

  explicit SlotQueue(std::size_t slots = 1)
      : words_((slots + kWordBits - 1) / kWordBits), slots_(kTicks * words_), counts_(kTicks) {}

  bool empty() const { return in_ring_ == 0 && later_.empty(); }

  /// Adds a slot that is not in the queue. Its time is not before that of the last one taken.
  void add(std::size_t slot, std::uint64_t tick) {
    if (tick - now_ < kTicks) {
      add_to_ring(slot, tick);
    } else {
      later_.emplace(tick, slot);
    }
  }

  /// Removes the slot that moves next; the queue must not be empty.
  Next take() {
    if (counts_[now_ % kTicks] == 0) advance();
    std::uint64_t* const words = &slots_[now_ % kTicks * words_];
    while (words[first_word_] == 0) ++first_word_;
    std::uint64_t& word = words[first_word_];
    const auto bit = static_cast<std::size_t>(std::countr_zero(word));
    word &= word - 1;
    --in_ring_;
    if (--counts_[now_ % kTicks] == 0) set_occupied(now_, false);
    return {first_word_ * kWordBits + bit, now_};
  }

 private:
  static constexpr std::size_t kWordBits = 64;

  void add_to_ring(std::size_t slot, std::uint64_t tick) {
    const std::size_t place = tick % kTicks, word = slot / kWordBits;
    slots_[place * words_ + word] |= std::uint64_t{1} << slot % kWordBits;
    if (counts_[place]++ == 0) set_occupied(tick, true);
    if (tick == now_ && word < first_word_) first_word_ = word;
    ++in_ring_;
  }
  void set_occupied(std::uint64_t tick, bool is_occupied) {
    const std::uint64_t bit = std::uint64_t{1} << tick % kWordBits;
    std::uint64_t& word = occupied_[tick % kTicks / kWordBits];
    word = is_occupied ? word | bit : word & ~bit;
  }
  /// Continues with the next tick that has slots.
  void advance() {
    now_ = in_ring_ > 0 ? next_in_ring() : later_.top().first;
    first_word_ = 0;
    while (!later_.empty() && later_.top().first - now_ < kTicks) {
      add_to_ring(later_.top().second, later_.top().first);
      later_.pop();
    }
  }
  std::uint64_t next_in_ring() const {
    // The rest of this word, then the following words, and finally the beginning of this word
    const std::size_t first = now_ % kTicks / kWordBits;
    std::uint64_t word = occupied_[first] & ~std::uint64_t{0} << now_ % kWordBits;
    std::size_t index = first;
    while (word == 0) {
      index = (index + 1) % occupied_.size();
      word = occupied_[index];
    }
    const std::size_t place = index * kWordBits + static_cast<std::size_t>(std::countr_zero(word));
    return now_ + (place - now_) % kTicks;
  }

  using Later = std::pair<std::uint64_t, std::size_t>;  ///< tick and slot

  std::size_t words_;                                         ///< of the set of one tick's slots
  std::vector<std::uint64_t> slots_;                          ///< the sets, by tick modulo kTicks
  std::vector<std::uint32_t> counts_;                         ///< of slots in each set
  std::array<std::uint64_t, kTicks / kWordBits> occupied_{};  ///< which sets have slots
  std::priority_queue<Later, std::vector<Later>, std::greater<>> later_;
  std::size_t in_ring_ = 0;
  std::uint64_t now_ = 0;
  std::size_t first_word_ = 0;  ///< of the set of `now_`: all words before it are empty
};

}  // namespace attnscope
