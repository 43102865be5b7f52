/// The L2 cache of a GPU in the model of DRAM traffic. It holds pieces of tensors in sets of 16
/// ways: a piece belongs to one set, which evicts its least recently used piece when it needs room.
/// Sets fill unevenly, so pieces are evicted before the cache is full.
///
/// The L2 of large GPUs has two partitions, each connected to half of the SMs. A piece belongs to
/// one of them, which reads it from DRAM and writes it back. An SM of the other half reads it
/// through its own partition, which keeps a copy: data that SMs of both halves read is held twice.
#pragma once

#include <cstdint>
#include <vector>

#include "reference/attention_problem.h"

namespace attnscope {

/// L2's answer to an operation that moves a tile between HBM and an SM, in bytes of the pieces that
/// the operation moves: all 0 if they are part of another operation's transfer.
struct L2Answer {
  Index hit_bytes = 0;    ///< in the SM's partition; for a store, all bytes
  Index other_bytes = 0;  ///< only in the other partition
  Index dram_bytes = 0;   ///< in neither partition: read from DRAM

  Index total() const { return hit_bytes + other_bytes + dram_bytes; }
  L2Answer& operator+=(const L2Answer& other);
  bool operator==(const L2Answer&) const = default;
};

/// The number of pieces of the largest size in a set of the L2. NVIDIA does not state how many
/// lines a set has; 16 is assumed, which predicts the recordings of an H200 better than a single
/// set for the whole cache.
inline constexpr Index kL2Ways = 16;

/// Where a piece was when an SM requested it.
enum class FoundIn : std::uint8_t { own_partition, other_partition, dram };

class L2Cache {
 public:
  /// Bytes read from and written to DRAM, and bytes that SMs did not find in their own partition
  /// and that came from DRAM or the other partition.
  struct Traffic {
    Index read = 0;
    Index written = 0;
    Index missed = 0;
  };

  /// An empty cache of `bytes`, in one or two partitions, for pieces of these sizes.
  L2Cache(Index bytes, int partitions, std::vector<std::uint32_t> piece_bytes);

  /// An SM that is connected to `partition` reads the piece.
  FoundIn read(int partition, std::uint32_t piece);
  /// An SM writes the whole piece, which stays until it is evicted to DRAM.
  void write(std::uint32_t piece);
  /// Adds to the piece in its home partition, which first reads the piece from DRAM if necessary.
  FoundIn add(std::uint32_t piece);

  const Traffic& traffic() const { return traffic_; }

 private:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  /// A piece's position in its set's order of use.
  struct Node {
    std::uint32_t newer = kNone;
    std::uint32_t older = kNone;
    std::uint32_t set = 0;
    bool held = false;
    bool dirty = false;  ///< differs from DRAM
  };
  struct Set {
    std::uint32_t newest = kNone;
    std::uint32_t oldest = kNone;
    Index held_bytes = 0;
  };
  struct Partition {
    std::vector<Node> nodes;  ///< by piece
    std::vector<Set> sets;
  };

  Partition& home_of(std::uint32_t piece);
  /// Makes the piece the most recent one in its set; false if it was not in the cache.
  bool use(Partition& partition, std::uint32_t piece);
  void link(Partition& partition, Set& set, std::uint32_t piece);
  void unlink(Partition& partition, Set& set, std::uint32_t piece);
  void drop_oldest(Partition& partition, Set& set);

  std::vector<std::uint32_t> piece_bytes_;
  Index set_bytes_ = 0;
  std::vector<Partition> partitions_;
  Traffic traffic_;
};

}  // namespace attnscope
