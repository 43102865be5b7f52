#include "sim/dram/l2_cache.h"

#include <algorithm>
#include <utility>

#include "reference/check.h"

namespace attnscope {

L2Answer& L2Answer::operator+=(const L2Answer& other) {
  hit_bytes += other.hit_bytes;
  other_bytes += other.other_bytes;
  dram_bytes += other.dram_bytes;
  return *this;
}

namespace {

/// Distributes pieces irregularly over the sets, as a GPU distributes addresses.
std::uint32_t spread(std::uint32_t piece) {
  piece = (piece ^ piece >> 16U) * 0x7feb352dU;
  piece = (piece ^ piece >> 15U) * 0x846ca68bU;
  return piece ^ piece >> 16U;
}

}  // namespace

L2Cache::L2Cache(std::span<const Index> cache_bytes, int partitions,
                 std::span<const std::uint32_t> piece_bytes)
    : partitions_(static_cast<std::size_t>(partitions)), traffic_(cache_bytes.size()) {
  ATTNSCOPE_CHECK(partitions == 1 || partitions == 2, ==, true);
  ATTNSCOPE_CHECK(cache_bytes.size(), <=, kMostSizes);
  const Index largest = piece_bytes.empty() ? 1 : std::ranges::max(piece_bytes);
  for (const Index bytes : cache_bytes) {
    const Index partition_bytes = bytes / partitions;
    const Index sets = std::max<Index>(1, partition_bytes / (kL2Ways * largest));
    Cache& cache = caches_.emplace_back();
    cache.number = caches_.size() - 1;
    cache.set_bytes = partition_bytes / sets;
    cache.sets = Remainder(static_cast<std::uint32_t>(sets));
    for (std::size_t n = 0; n < partitions_; ++n) {
      cache.partitions[n].resize(static_cast<std::size_t>(sets));
    }
  }
  states_.reserve(piece_bytes.size());
  std::size_t size = 0;
  for (const std::uint32_t each : piece_bytes) {
    if (sizes_.empty() || sizes_[size] != each) {
      size = static_cast<std::size_t>(std::ranges::find(sizes_, each) - sizes_.begin());
      if (size == sizes_.size()) sizes_.push_back(each);
    }
    states_.push_back(static_cast<PieceState>(size << kFirstSizeBit));
  }
  static_assert(kMostPieceSizes << kFirstSizeBit <= std::size_t{1} + PieceState(~0U));
  ATTNSCOPE_CHECK(sizes_.size(), <=, kMostPieceSizes);
}

std::size_t L2Cache::home_of(std::uint32_t piece) const {
  const std::uint32_t fibonacci_hash = piece * 2654435769U;
  return partitions_ == 1 ? 0 : fibonacci_hash >> 31U;
}

Index L2Cache::missed_bytes() const {
  Index missed = 0;
  for (const Traffic& traffic : traffic_) missed += traffic.missed;
  return missed;
}

L2Cache::Moving L2Cache::begin(std::uint32_t piece) const {
  const unsigned state = states_[piece];
  return {piece, spread(piece), home_of(piece), state, bytes_of(state)};
}

FoundIn L2Cache::read(int partition, std::uint32_t piece) {
  Moving moving = begin(piece);
  FoundIn first = FoundIn::own_partition;
  for (Cache& cache : caches_) {
    const FoundIn found = read(cache, static_cast<std::size_t>(partition), moving);
    if (cache.number == 0) first = found;
  }
  end(moving);
  return first;
}

inline FoundIn L2Cache::read(Cache& cache, std::size_t own, Moving& moving) {
  const std::size_t set = cache.sets.of(moving.hash);
  if (use(cache, own, set, moving)) return FoundIn::own_partition;
  Traffic& traffic = traffic_[cache.number];
  traffic.missed += moving.bytes;
  if (moving.home != own && use(cache, moving.home, set, moving)) return FoundIn::other_partition;
  traffic.read += moving.bytes;
  return FoundIn::dram;
}

void L2Cache::write(std::uint32_t piece) {
  Moving moving = begin(piece);
  for (Cache& cache : caches_) write(cache, moving);
  end(moving);
}

FoundIn L2Cache::add(std::uint32_t piece) {
  Moving moving = begin(piece);
  FoundIn first = FoundIn::own_partition;
  for (Cache& cache : caches_) {
    const FoundIn found = write(cache, moving);
    if (cache.number == 0) first = found;
    if (found == FoundIn::own_partition) continue;
    traffic_[cache.number].read += moving.bytes;
    traffic_[cache.number].missed += moving.bytes;
  }
  end(moving);
  return first;
}

/// `dram` if the piece's home partition did not hold it.
inline FoundIn L2Cache::write(Cache& cache, Moving& moving) {
  const std::size_t set = cache.sets.of(moving.hash);
  const bool was_held = use(cache, moving.home, set, moving);
  make_dirty(cache, cache.partitions[moving.home][set], moving);
  if (partitions_ > 1) drop_copy(cache, 1 - moving.home, set, moving);  // it would now be stale
  return was_held ? FoundIn::own_partition : FoundIn::dram;
}

/// Marks the newest piece of the set, in its home partition; other pieces are written back if too
/// many are dirty.
inline void L2Cache::make_dirty(Cache& cache, Set& set, Moving& moving) {
  const unsigned dirty = dirty_bit(cache);
  if ((moving.state & dirty) != 0) return;
  moving.state |= dirty;
  set.dirty_bytes += moving.bytes;
  const Index most_bytes = cache.set_bytes * kMostDirtyWays / kL2Ways;
  for (std::uint32_t n = 0; set.dirty_bytes > most_bytes && n + 1 < set.count; ++n) {
    const std::uint32_t piece = place(set, set.oldest + n);
    const unsigned state = states_[piece];
    if (home_of(piece) != moving.home || (state & dirty) == 0) continue;
    states_[piece] = static_cast<PieceState>(state & ~dirty);
    set.dirty_bytes -= bytes_of(state);
    traffic_[cache.number].written += bytes_of(state);
  }
}

/// Makes the piece the most recent one of its set; false if it was not held before.
inline bool L2Cache::use(Cache& cache, std::size_t partition, std::size_t set, Moving& moving) {
  Set& used = cache.partitions[partition][set];
  if ((moving.state & held_bit(cache, partition)) != 0) {
    if (used.newest != moving.piece) make_newest(used, moving.piece);
    return true;
  }
  insert(cache, partition, used, moving);
  return false;
}

/// Moves the pieces that were used more recently back by one place.
inline void L2Cache::make_newest(Set& set, std::uint32_t piece) {
  set.newest = piece;
  std::uint32_t* const ring = &rings_[set.ring];
  const std::uint32_t mask = ring_places_ - 1;
  std::uint32_t moved = piece;
  for (std::uint32_t number = set.oldest + set.count - 1;; --number) {
    std::swap(moved, ring[number & mask]);
    if (moved == piece) return;
  }
}

inline void L2Cache::insert(Cache& cache, std::size_t partition, Set& set, Moving& moving) {
  while (set.count > 0 && set.held_bytes + moving.bytes > cache.set_bytes) {
    drop_oldest(cache, partition, set);
  }
  if (set.ring == kNone) add_ring(set);
  if (set.count == ring_places_) widen_rings();
  set.newest = place(set, set.oldest + set.count) = moving.piece;
  ++set.count;
  set.held_bytes += moving.bytes;
  moving.state |= held_bit(cache, partition);
}

/// Without branches: whether a piece is at home and dirty is as hard to predict as a coin toss.
inline void L2Cache::drop_oldest(Cache& cache, std::size_t partition, Set& set) {
  const std::uint32_t piece = place(set, set.oldest);
  ++set.oldest;
  --set.count;
  const unsigned state = states_[piece];
  const unsigned dirty = home_of(piece) == partition ? dirty_bit(cache) : 0;
  const Index bytes = bytes_of(state), written = (state & dirty) != 0 ? bytes : 0;
  set.held_bytes -= bytes;
  set.dirty_bytes -= written;
  traffic_[cache.number].written += written;
  states_[piece] = static_cast<PieceState>(state & ~(held_bit(cache, partition) | dirty));
}

/// Removes the piece from the partition, which is not its home.
inline void L2Cache::drop_copy(Cache& cache, std::size_t partition, std::size_t set,
                               Moving& moving) {
  if ((moving.state & held_bit(cache, partition)) == 0) return;
  Set& used = cache.partitions[partition][set];
  make_newest(used, moving.piece);
  --used.count;
  used.newest = used.count > 0 ? place(used, used.oldest + used.count - 1) : kNone;
  used.held_bytes -= moving.bytes;
  moving.state &= ~held_bit(cache, partition);
}

void L2Cache::add_ring(Set& set) {
  set.ring = static_cast<std::uint32_t>(rings_.size());
  rings_.resize(rings_.size() + ring_places_);
}

/// Doubles the places of every ring: a set holds many small pieces.
void L2Cache::widen_rings() {
  std::vector<std::uint32_t> wide(2 * rings_.size());
  const std::uint32_t places = std::exchange(ring_places_, 2 * ring_places_);
  for (Cache& cache : caches_) {
    for (std::vector<Set>& sets : cache.partitions) {
      for (Set& set : sets) {
        if (set.ring == kNone) continue;
        const std::uint32_t wide_ring = 2 * set.ring;
        for (std::uint32_t n = 0; n < set.count; ++n) {
          wide[wide_ring + n] = rings_[set.ring + ((set.oldest + n) & (places - 1))];
        }
        set.ring = wide_ring;
        set.oldest = 0;
      }
    }
  }
  rings_ = std::move(wide);
}

}  // namespace attnscope
