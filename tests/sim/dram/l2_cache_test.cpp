/// The L2 cache of the DRAM model: what it keeps, what it reads and what it writes back.

#include "sim/dram/l2_cache.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <list>
#include <utility>

namespace attnscope {
namespace {

constexpr std::uint32_t kPieceBytes = 1024;
constexpr Index kCacheBytes = Index{1024} * 1024;
constexpr std::uint32_t kCachePieces = 1024;

L2Cache cache_of(int partitions, std::uint32_t pieces) {
  const std::vector<std::uint32_t> piece_bytes(pieces, kPieceBytes);
  return {{{kCacheBytes}}, partitions, piece_bytes};
}

constexpr auto kBytes = [](std::uint32_t pieces) { return Index{pieces} * kPieceBytes; };

TEST(L2Cache, ReadsAPieceOnceWhileItIsHeld) {
  constexpr std::uint32_t kPieces = kCachePieces / 4;
  L2Cache cache = cache_of(1, kPieces);
  for (int round = 0; round < 3; ++round) {
    for (std::uint32_t piece = 0; piece < kPieces; ++piece) cache.read(0, piece);
  }
  EXPECT_EQ(cache.traffic().front().read, kBytes(kPieces));
  EXPECT_EQ(cache.traffic().front().written, 0);
}

TEST(L2Cache, ReadsEverythingAgainWhenEachSetIsLessThanWhatPassesThroughIt) {
  constexpr std::uint32_t kPieces = 4 * kCachePieces;
  L2Cache cache = cache_of(1, kPieces);
  for (int round = 0; round < 3; ++round) {
    for (std::uint32_t piece = 0; piece < kPieces; ++piece) cache.read(0, piece);
  }
  EXPECT_EQ(cache.traffic().front().read, 3 * kBytes(kPieces));
}

TEST(L2Cache, LosesPiecesBeforeItIsFullBecauseSetsFillUnevenly) {
  constexpr std::uint32_t kPieces = kCachePieces * 9 / 10;
  L2Cache cache = cache_of(1, kPieces);
  for (int round = 0; round < 2; ++round) {
    for (std::uint32_t piece = 0; piece < kPieces; ++piece) cache.read(0, piece);
  }
  const Index again = cache.traffic().front().read - kBytes(kPieces);
  EXPECT_GT(again, kBytes(kPieces) / 10);
  EXPECT_LT(again, kBytes(kPieces) / 2);
}

TEST(L2Cache, HoldsManySmallPiecesInOneSet) {
  constexpr std::uint32_t kPieces = 10'000;
  std::vector<std::uint32_t> piece_bytes(kPieces, 64);
  piece_bytes.front() = 64 * 1024;  // 16 of these fill the cache, which is therefore one set
  L2Cache cache({{kCacheBytes}}, 1, piece_bytes);
  for (int round = 0; round < 2; ++round) {
    for (std::uint32_t piece = 0; piece < kPieces; ++piece) cache.read(0, piece);
  }
  EXPECT_EQ(cache.traffic().front().read, 64 * 1024 + 64 * Index{kPieces - 1});
}

/// A cache with one set is a list of pieces, in the order of their last use. Half of it may be
/// dirty.
TEST(L2Cache, EvictsAndWritesBackTheLeastRecentlyUsedPieces) {
  constexpr std::uint32_t kPieces = 60, kLargest = 64;
  constexpr Index kCapacity = kL2Ways * kLargest;
  std::vector<std::uint32_t> piece_bytes;
  for (std::uint32_t n = 0; n < kPieces; ++n) piece_bytes.push_back(kLargest >> n % 3);
  L2Cache cache({{kCapacity}}, 1, piece_bytes);

  struct Held {
    std::uint32_t piece;
    bool dirty;
  };
  std::list<Held> by_last_use;
  Index held = 0, read = 0, written = 0, written_back = 0;
  const auto use = [&](std::uint32_t piece, bool reads, bool writes) {
    const auto found = std::ranges::find(by_last_use, piece, &Held::piece);
    const bool is_held = found != by_last_use.end();
    const bool dirty = writes || (is_held && found->dirty);
    if (is_held) by_last_use.erase(found);
    if (!is_held) held += piece_bytes[piece];
    if (!is_held && reads) read += piece_bytes[piece];
    by_last_use.push_front({piece, dirty});
    for (; held > kCapacity; by_last_use.pop_back()) {
      const Index bytes = piece_bytes[by_last_use.back().piece];
      held -= bytes;
      if (by_last_use.back().dirty) written += bytes;
    }
    Index dirty_bytes = 0;
    for (const Held& each : by_last_use) dirty_bytes += each.dirty ? piece_bytes[each.piece] : 0;
    for (auto each = by_last_use.rbegin(); dirty_bytes > kCapacity / 2; ++each) {
      if (!std::exchange(each->dirty, false)) continue;
      const Index bytes = piece_bytes[each->piece];
      dirty_bytes -= bytes;
      written += bytes;
      written_back += bytes;
    }
  };
  std::uint32_t state = 1;
  for (int n = 0; n < 5000; ++n) {
    state = state * 1664525U + 1013904223U;
    const std::uint32_t piece = (state >> 16U) % kPieces;
    const bool writes = n % 5 < 2, adds = !writes && n % 7 == 0;
    if (writes) {
      cache.write(piece);
    } else if (adds) {
      cache.add(piece);
    } else {
      cache.read(0, piece);
    }
    use(piece, !writes, writes || adds);
    ASSERT_EQ(cache.traffic().front().read, read) << n;
    ASSERT_EQ(cache.traffic().front().written, written) << n;
  }
  EXPECT_GT(written_back, 0);
  EXPECT_GT(written, written_back);
}

/// As the launch does that sets O in flash1: what it writes beyond half of L2 goes to DRAM, and is
/// still in L2 afterwards.
TEST(L2Cache, KeepsAboutHalfOfItDirty) {
  constexpr std::uint32_t kPieces = kCachePieces * 8 / 10;
  L2Cache cache = cache_of(2, kPieces);
  for (std::uint32_t piece = 0; piece < kPieces; ++piece) cache.write(piece);
  const Index written = cache.traffic().front().written, left = kBytes(kPieces) - written;
  EXPECT_LE(left, kCacheBytes / 2);
  EXPECT_GT(left, kCacheBytes * 45 / 100);
  for (std::uint32_t piece = 0; piece < kPieces; ++piece) cache.add(piece);
  EXPECT_LT(cache.traffic().front().read, written * 7 / 10);
}

TEST(L2Cache, FollowsEachSizeLikeACacheOfItsOwn) {
  constexpr std::uint32_t kPieces = kCachePieces;
  const std::vector<std::uint32_t> piece_bytes(kPieces, kPieceBytes);
  const std::array<Index, 3> sizes = {kCacheBytes, kCacheBytes / 2, 2 * kCacheBytes};
  const auto transfer = [](L2Cache& cache) {
    for (std::uint32_t n = 0; n < 20 * kPieces; ++n) {
      const std::uint32_t piece = (n * n + n / 3) % kPieces;
      if (n % 5 == 0) {
        cache.write(piece);
      } else if (n % 7 == 0) {
        cache.add(piece);
      } else {
        cache.read(static_cast<int>(n / 2 % 2), piece);
      }
    }
  };
  L2Cache all(sizes, 2, piece_bytes);
  transfer(all);
  for (std::size_t n = 0; n < sizes.size(); ++n) {
    L2Cache one({{sizes[n]}}, 2, piece_bytes);
    transfer(one);
    EXPECT_EQ(all.traffic()[n].read, one.traffic().front().read) << n;
    EXPECT_EQ(all.traffic()[n].written, one.traffic().front().written) << n;
    EXPECT_EQ(all.traffic()[n].missed, one.traffic().front().missed) << n;
    EXPECT_GT(all.traffic()[n].written, 0) << n;
  }
}

TEST(L2Cache, HoldsTwiceWhatBothHalvesOfTheGpuRead) {
  constexpr std::uint32_t kPieces = kCachePieces * 4 / 10;
  const auto read_again = [](bool by_both) {
    L2Cache cache = cache_of(2, 2 * kPieces);
    const std::uint32_t pieces = by_both ? 2 * kPieces : kPieces;
    for (int round = 0; round < 2; ++round) {
      for (std::uint32_t piece = 0; piece < pieces; ++piece) {
        cache.read(static_cast<int>(piece % 2), piece);
        if (by_both) cache.read(static_cast<int>((piece + 1) % 2), piece);
      }
    }
    return cache.traffic().front().read - kBytes(pieces);
  };
  EXPECT_LT(read_again(false), kBytes(kPieces) / 50);
  EXPECT_GT(read_again(true), kBytes(kPieces));
}

TEST(L2Cache, AnSmFindsWhatOneOfTheOtherHalfRead) {
  L2Cache cache = cache_of(2, 64);
  for (std::uint32_t piece = 0; piece < 64; ++piece) cache.read(0, piece);
  for (std::uint32_t piece = 0; piece < 64; ++piece) cache.read(1, piece);
  EXPECT_EQ(cache.traffic().front().read, kBytes(64));
}

TEST(L2Cache, WritesAPieceWhenItLeavesAndNotBefore) {
  constexpr std::uint32_t kPieces = 8 * kCachePieces;
  L2Cache cache = cache_of(2, kPieces);
  for (int again = 0; again < 3; ++again) cache.write(0);
  EXPECT_EQ(cache.traffic().front().written, 0);
  for (std::uint32_t piece = 1; piece < kPieces; ++piece) cache.read(0, piece);
  EXPECT_EQ(cache.traffic().front().written, kBytes(1));
  EXPECT_EQ(cache.traffic().front().read, kBytes(kPieces - 1));
}

TEST(L2Cache, ACopyIsOutOfDateAfterAWriteAndIsReadFromTheOtherHalf) {
  L2Cache cache = cache_of(2, 64);
  for (int round = 0; round < 2; ++round) {
    for (std::uint32_t piece = 0; piece < 64; ++piece) {
      cache.read(0, piece);
      cache.read(1, piece);
      cache.write(piece);
    }
  }
  EXPECT_EQ(cache.traffic().front().read, kBytes(64));
  EXPECT_EQ(cache.traffic().front().written, 0);
}

TEST(L2Cache, AddsNeedThePieceAndStoresDoNot) {
  L2Cache cache = cache_of(2, 2);
  cache.write(0);
  cache.add(0);
  EXPECT_EQ(cache.traffic().front().read, 0);
  cache.add(1);
  cache.add(1);
  EXPECT_EQ(cache.traffic().front().read, kBytes(1));
}

}  // namespace
}  // namespace attnscope
