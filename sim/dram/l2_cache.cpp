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

L2Cache::L2Cache(Index bytes, int partitions, std::vector<std::uint32_t> piece_bytes)
    : piece_bytes_(std::move(piece_bytes)) {
  ATTNSCOPE_CHECK(partitions == 1 || partitions == 2, ==, true);
  const Index partition_bytes = bytes / partitions;
  const Index largest = piece_bytes_.empty() ? 1 : std::ranges::max(piece_bytes_);
  const Index sets = std::max<Index>(1, partition_bytes / (kL2Ways * largest));
  set_bytes_ = partition_bytes / sets;
  partitions_.resize(static_cast<std::size_t>(partitions));
  std::vector<Node> nodes(piece_bytes_.size());
  for (std::uint32_t piece = 0; piece < nodes.size(); ++piece) {
    nodes[piece].set = spread(piece) % static_cast<std::uint32_t>(sets);
  }
  for (Partition& partition : partitions_) {
    partition.nodes = nodes;
    partition.sets.resize(static_cast<std::size_t>(sets));
  }
}

L2Cache::Partition& L2Cache::home_of(std::uint32_t piece) {
  const std::uint32_t fibonacci_hash = piece * 2654435769U;
  return partitions_[partitions_.size() == 1 ? 0 : fibonacci_hash >> 31U];
}

FoundIn L2Cache::read(int partition, std::uint32_t piece) {
  Partition& own = partitions_[static_cast<std::size_t>(partition)];
  if (use(own, piece)) return FoundIn::own_partition;
  traffic_.missed += piece_bytes_[piece];
  Partition& home = home_of(piece);
  if (&home != &own && use(home, piece)) return FoundIn::other_partition;
  traffic_.read += piece_bytes_[piece];
  return FoundIn::dram;
}

void L2Cache::write(std::uint32_t piece) {
  Partition& home = home_of(piece);
  use(home, piece);
  home.nodes[piece].dirty = true;

  // A copy would now be stale
  for (Partition& partition : partitions_) {
    if (&partition == &home || !partition.nodes[piece].held) continue;
    unlink(partition, partition.sets[partition.nodes[piece].set], piece);
  }
}

FoundIn L2Cache::add(std::uint32_t piece) {
  const bool was_held = home_of(piece).nodes[piece].held;
  if (!was_held) {
    traffic_.read += piece_bytes_[piece];
    traffic_.missed += piece_bytes_[piece];
  }
  write(piece);
  return was_held ? FoundIn::own_partition : FoundIn::dram;
}

bool L2Cache::use(Partition& partition, std::uint32_t piece) {
  Node& node = partition.nodes[piece];
  Set& set = partition.sets[node.set];
  if (set.newest == piece) return true;
  const bool was_held = node.held;
  const bool dirty = node.dirty;
  if (was_held) {
    unlink(partition, set, piece);
  } else {
    while (set.oldest != kNone && set.held_bytes + piece_bytes_[piece] > set_bytes_) {
      drop_oldest(partition, set);
    }
  }
  link(partition, set, piece);
  node.dirty = dirty;
  return was_held;
}

void L2Cache::link(Partition& partition, Set& set, std::uint32_t piece) {
  Node& node = partition.nodes[piece];
  node.older = set.newest;
  node.held = true;
  (set.newest == kNone ? set.oldest : partition.nodes[set.newest].newer) = piece;
  set.newest = piece;
  set.held_bytes += piece_bytes_[piece];
}

void L2Cache::unlink(Partition& partition, Set& set, std::uint32_t piece) {
  Node& node = partition.nodes[piece];
  (node.newer == kNone ? set.newest : partition.nodes[node.newer].older) = node.older;
  (node.older == kNone ? set.oldest : partition.nodes[node.older].newer) = node.newer;
  node = {.set = node.set};
  set.held_bytes -= piece_bytes_[piece];
}

void L2Cache::drop_oldest(Partition& partition, Set& set) {
  const std::uint32_t piece = set.oldest;
  if (partition.nodes[piece].dirty) traffic_.written += piece_bytes_[piece];
  unlink(partition, set, piece);
}

}  // namespace attnscope
