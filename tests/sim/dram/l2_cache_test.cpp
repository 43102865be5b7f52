/// The L2 cache of the DRAM model: what it keeps, what it reads and what it writes back.

#include "sim/dram/l2_cache.h"

#include <gtest/gtest.h>

namespace attnscope {
namespace {

constexpr std::uint32_t kPieceBytes = 1024;
constexpr Index kCacheBytes = Index{1024} * 1024;
constexpr std::uint32_t kCachePieces = 1024;

L2Cache cache_of(int partitions, std::uint32_t pieces) {
  return {kCacheBytes, partitions, std::vector<std::uint32_t>(pieces, kPieceBytes)};
}

constexpr auto kBytes = [](std::uint32_t pieces) { return Index{pieces} * kPieceBytes; };

TEST(L2Cache, ReadsAPieceOnceWhileItIsHeld) {
  constexpr std::uint32_t kPieces = kCachePieces / 4;
  L2Cache cache = cache_of(1, kPieces);
  for (int round = 0; round < 3; ++round) {
    for (std::uint32_t piece = 0; piece < kPieces; ++piece) cache.read(0, piece);
  }
  EXPECT_EQ(cache.traffic().read, kBytes(kPieces));
  EXPECT_EQ(cache.traffic().written, 0);
}

TEST(L2Cache, ReadsEverythingAgainWhenEachSetIsLessThanWhatPassesThroughIt) {
  constexpr std::uint32_t kPieces = 4 * kCachePieces;
  L2Cache cache = cache_of(1, kPieces);
  for (int round = 0; round < 3; ++round) {
    for (std::uint32_t piece = 0; piece < kPieces; ++piece) cache.read(0, piece);
  }
  EXPECT_EQ(cache.traffic().read, 3 * kBytes(kPieces));
}

TEST(L2Cache, LosesPiecesBeforeItIsFullBecauseSetsFillUnevenly) {
  constexpr std::uint32_t kPieces = kCachePieces * 9 / 10;
  L2Cache cache = cache_of(1, kPieces);
  for (int round = 0; round < 2; ++round) {
    for (std::uint32_t piece = 0; piece < kPieces; ++piece) cache.read(0, piece);
  }
  const Index again = cache.traffic().read - kBytes(kPieces);
  EXPECT_GT(again, kBytes(kPieces) / 10);
  EXPECT_LT(again, kBytes(kPieces) / 2);
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
    return cache.traffic().read - kBytes(pieces);
  };
  EXPECT_LT(read_again(false), kBytes(kPieces) / 50);
  EXPECT_GT(read_again(true), kBytes(kPieces));
}

TEST(L2Cache, AnSmFindsWhatOneOfTheOtherHalfRead) {
  L2Cache cache = cache_of(2, 64);
  for (std::uint32_t piece = 0; piece < 64; ++piece) cache.read(0, piece);
  for (std::uint32_t piece = 0; piece < 64; ++piece) cache.read(1, piece);
  EXPECT_EQ(cache.traffic().read, kBytes(64));
}

TEST(L2Cache, WritesAPieceWhenItLeavesAndNotBefore) {
  constexpr std::uint32_t kPieces = 8 * kCachePieces;
  L2Cache cache = cache_of(2, kPieces);
  for (int again = 0; again < 3; ++again) cache.write(0);
  EXPECT_EQ(cache.traffic().written, 0);
  for (std::uint32_t piece = 1; piece < kPieces; ++piece) cache.read(0, piece);
  EXPECT_EQ(cache.traffic().written, kBytes(1));
  EXPECT_EQ(cache.traffic().read, kBytes(kPieces - 1));
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
  EXPECT_EQ(cache.traffic().read, kBytes(64));
  EXPECT_EQ(cache.traffic().written, 0);
}

TEST(L2Cache, AddsNeedThePieceAndStoresDoNot) {
  L2Cache cache = cache_of(2, 2);
  cache.write(0);
  cache.add(0);
  EXPECT_EQ(cache.traffic().read, 0);
  cache.add(1);
  cache.add(1);
  EXPECT_EQ(cache.traffic().read, kBytes(1));
}

}  // namespace
}  // namespace attnscope
