/// The L2 cache of a GPU in the model of DRAM traffic. It holds pieces of tensors in sets of 16
/// ways: a piece belongs to one set, which evicts its least recently used piece when it needs room.
/// Sets fill unevenly, so pieces are evicted before the cache is full. At most half of a set is
/// dirty: beyond that, its least recently used dirty pieces are written to DRAM, and stay.
///
/// The L2 of large GPUs has two partitions, each connected to half of the SMs. A piece belongs to
/// one of them, which reads it from DRAM and writes it back. An SM of the other half reads it
/// through its own partition, which keeps a copy: data that SMs of both halves read is held twice.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
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

/// The largest number of them that are dirty. The launch that sets O in flash1 writes nothing to
/// DRAM up to 29.8 MB on an H200 and 25.4 MB on an H100, and every byte beyond: 47 and 48 % of L2.
inline constexpr Index kMostDirtyWays = 8;

/// The remainder of 32-bit numbers by a fixed divisor, without a division (Lemire, Kaser and Kurz,
/// "Faster remainder by direct computation", 2019).
class Remainder {
 public:
  explicit Remainder(std::uint32_t divisor = 1)
      : divisor_(divisor), inverse_(~std::uint64_t{0} / divisor + 1) {}
  std::uint32_t of(std::uint32_t number) const {
    __extension__ using Product = unsigned __int128;
    return static_cast<std::uint32_t>(static_cast<Product>(inverse_ * number) * divisor_ >> 64U);
  }

 private:
  std::uint32_t divisor_;
  std::uint64_t inverse_;
};

/// Where a piece was when an SM requested it.
enum class FoundIn : std::uint8_t { own_partition, other_partition, dram };

/// Caches of several sizes, through which the same transfers go.
class L2Cache {
 public:
  /// Bytes read from and written to DRAM, and bytes that SMs did not find in their own partition
  /// and that came from DRAM or the other partition.
  struct Traffic {
    Index read = 0;
    Index written = 0;
    Index missed = 0;
  };
  static constexpr std::size_t kMostPartitions = 2;
  static constexpr std::size_t kMostSizes = 3;         ///< of caches
  static constexpr std::size_t kMostPieceSizes = 128;  ///< different ones; a tensor has up to four

  /// Empty caches of up to kMostSizes sizes, in one or two partitions, for pieces of these sizes.
  L2Cache(std::span<const Index> cache_bytes, int partitions,
          std::span<const std::uint32_t> piece_bytes);

  // Each transfer goes through the caches of all sizes; the returned answer is that of the first

  /// An SM that is connected to `partition` reads the piece.
  FoundIn read(int partition, std::uint32_t piece);
  /// An SM writes the whole piece, which stays until it is evicted.
  void write(std::uint32_t piece);
  /// Adds to the piece in its home partition, which first reads the piece from DRAM if necessary.
  FoundIn add(std::uint32_t piece);

  /// By size of the cache.
  const std::vector<Traffic>& traffic() const { return traffic_; }
  /// The bytes missed so far in all sizes together: every read that inserts a piece adds to them.
  Index missed_bytes() const;

 private:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
  /// The pieces that a set holds, in the order of their last use: a ring in `rings_`.
  struct Set {
    std::uint32_t newest = kNone;
    std::uint32_t ring = kNone;  ///< first place of its ring; none before the first piece
    std::uint32_t oldest = 0;    ///< place of the oldest piece, modulo the places of a ring
    std::uint32_t count = 0;
    Index held_bytes = 0;
    Index dirty_bytes = 0;
  };
  /// The cache of one size.
  struct Cache {
    std::size_t number = 0;
    Index set_bytes = 0;
    Remainder sets;  ///< divides hashes by the number of sets
    std::array<std::vector<Set>, kMostPartitions> partitions;  ///< their sets
  };

  /// The state of a piece, in 16 bits, so that the CPU keeps those of many pieces in its own cache:
  /// for each size of L2, which partitions hold it and whether it is dirty; then the number of the
  /// piece's own size in `sizes_`.
  using PieceState = std::uint16_t;
  static constexpr unsigned kBitsOfCache = kMostPartitions + 1;
  static constexpr unsigned kFirstSizeBit = kBitsOfCache * kMostSizes;
  static unsigned held_bit(const Cache& cache, std::size_t partition) {
    return 1U << (kBitsOfCache * cache.number + partition);
  }
  /// Whether the piece in its home partition differs from DRAM.
  static unsigned dirty_bit(const Cache& cache) { return held_bit(cache, kMostPartitions); }

  /// A piece during its transfer through the caches: what the caches need, looked up once. Its
  /// state is stored at the end; until then, no cache can evict it.
  struct Moving {
    std::uint32_t piece;
    std::uint32_t hash;
    std::size_t home;
    unsigned state;
    Index bytes;
  };
  Moving begin(std::uint32_t piece) const;
  void end(const Moving& moving) { states_[moving.piece] = static_cast<PieceState>(moving.state); }

  Index bytes_of(unsigned state) const { return sizes_[state >> kFirstSizeBit]; }
  std::size_t home_of(std::uint32_t piece) const;
  std::uint32_t& place(const Set& set, std::uint32_t number) {
    return rings_[set.ring + (number & (ring_places_ - 1))];
  }
  FoundIn read(Cache& cache, std::size_t own, Moving& moving);
  FoundIn write(Cache& cache, Moving& moving);
  bool use(Cache& cache, std::size_t partition, std::size_t set, Moving& moving);
  void make_newest(Set& set, std::uint32_t piece);
  void insert(Cache& cache, std::size_t partition, Set& set, Moving& moving);
  void make_dirty(Cache& cache, Set& set, Moving& moving);
  void drop_oldest(Cache& cache, std::size_t partition, Set& set);
  void drop_copy(Cache& cache, std::size_t partition, std::size_t set, Moving& moving);
  void add_ring(Set& set);
  void widen_rings();

  std::size_t partitions_;
  std::vector<PieceState> states_;  ///< by piece
  std::vector<Index> sizes_;        ///< different sizes of pieces, in bytes
  std::vector<Cache> caches_;
  std::vector<Traffic> traffic_;
  std::vector<std::uint32_t> rings_;         ///< pieces, one ring after another
  std::uint32_t ring_places_ = 2 * kL2Ways;  ///< of one ring; a power of two
};

}  // namespace attnscope
