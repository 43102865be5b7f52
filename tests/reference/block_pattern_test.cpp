#include "reference/block_pattern.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <atomic>
#include <bit>
#include <chrono>
#include <fstream>
#include <future>
#include <set>

#include "reference/npy.h"
#include "tests/support/temp_dir.h"

namespace attnscope {
namespace {

std::shared_ptr<const BlockMask> mask_of(std::string_view text, Index Tr, Index Tc) {
  const auto pattern = parse_block_pattern(text);
  EXPECT_TRUE(pattern.ok()) << text;
  const auto mask = make_block_mask(pattern.value(), Tr * 16, Tc * 16, {16, 16});
  EXPECT_TRUE(mask.ok()) << text;
  return mask.value();
}

/// A string for each row of tiles: '#' for a tile that is kept, '.' for one that is left out.
std::vector<std::string> picture(const BlockMask& M) {
  std::vector<std::string> rows;
  for (Index i = 0; i < M.Tr(); ++i) {
    std::string& row = rows.emplace_back(static_cast<std::size_t>(M.Tc()), '.');
    for (const std::int32_t j : M.columns_of(i)) row[static_cast<std::size_t>(j)] = '#';
  }
  return rows;
}

using Picture = std::vector<std::string>;

TEST(BlockPattern, ButterflyIsTheDiagonalAndTheDistancesOfPowersOfTwo) {
  EXPECT_EQ(picture(*mask_of("butterfly", 8, 8)),
            (Picture{"###.#...", "##.#.#..", "#.##..#.", ".###...#",  //
                     "#...###.", ".#..##.#", "..#.#.##", "...#.###"}));
  // log2(Tc) + 1 ones per row
  EXPECT_EQ(mask_of("butterfly", 1024, 1024)->nonzeros(), 1024 * 11);
}

TEST(BlockPattern, LocalGlobalIsABandWithItsFirstRowsAndColumns) {
  EXPECT_EQ(picture(*mask_of("local-global:1,1", 5, 5)),
            (Picture{"#####", "###..", "####.", "#.###", "#..##"}));
  EXPECT_EQ(picture(*mask_of("local-global:0,0", 2, 4)), (Picture{"#...", "..#."}));
}

TEST(BlockPattern, OnAnyGridStretchesTheShorterAxisToTheLongerOne) {
  for (Index Tr = 1; Tr <= 21; ++Tr) {
    for (Index Tc = 1; Tc <= 21; ++Tc) {
      const Index longer = std::max(Tr, Tc);
      const auto butterfly = mask_of("butterfly", Tr, Tc);
      const auto local_global = mask_of("local-global:2,1", Tr, Tc);
      for (Index i = 0; i < Tr; ++i) {
        for (Index j = 0; j < Tc; ++j) {
          const Index row = i * longer / Tr, column = j * longer / Tc;
          EXPECT_EQ(butterfly->contains(i, j),
                    std::popcount(static_cast<std::uint64_t>(row ^ column)) <= 1)
              << Tr << " x " << Tc << ": " << i << ", " << j;
          EXPECT_EQ(local_global->contains(i, j), std::abs(row - column) <= 2 || i == 0 || j == 0)
              << Tr << " x " << Tc << ": " << i << ", " << j;
        }
      }
    }
  }
}

TEST(BlockPattern, LimitsTheTilesThatAreDrawnOneByOneAndTheRowsOfOtherMasks) {
  constexpr Index kTokens = Index{1} << 24;
  const auto drawn = [](const char* text, Index side) {
    return make_block_mask(parse_block_pattern(text).value(), kTokens, kTokens, {side, side});
  };
  EXPECT_EQ(drawn("local-global:0,0", 128).value()->nonzeros(), kTokens / 128);
  EXPECT_TRUE(drawn("butterfly", 128));
  const auto expect_refused = [&](const char* text, Index side, const char* why) {
    const auto refused = drawn(text, side);
    ASSERT_FALSE(refused) << text;
    EXPECT_EQ(refused.error().code, ErrorCode::too_many);
    EXPECT_THAT(refused.error().message, testing::HasSubstr(why));
  };
  expect_refused("random:0.00001", 128, "131072 x 131072 tiles; at most 268435456 are drawn");
  expect_refused("uniform:0.00001", 128, "131072 x 131072 tiles; at most 134217728 are drawn");
  expect_refused("butterfly", 1, "16777216 x 16777216 tiles; at most 10737418 rows are drawn");
}

TEST(BlockPattern, AMaskThatKeepsTooManyTilesIsRefusedWithoutTheirMemory) {
  const auto peak_kb = [] {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;
  };
  constexpr Index kTokens = Index{1} << 20;
  const auto refused = [&](const char* text, const MaskLimits& limits) {
    const auto mask =
        make_block_mask(parse_block_pattern(text).value(), kTokens, kTokens, {1, 1}, limits);
    return !mask && mask.error().code == ErrorCode::too_many;
  };
  const long before_kb = peak_kb();
  EXPECT_TRUE(refused("local-global:60,60", {}));
  EXPECT_TRUE(refused("uniform:0.001", {.ones = 10'000, .steps = Index{1} << 62}));
  EXPECT_TRUE(refused("random:0.9", {.ones = 10'000, .steps = Index{1} << 62}));
  EXPECT_LT(peak_kb() - before_kb, 64 * 1024);
}

TEST(BlockPattern, LimitsTheListsOfRowsAndColumnsOfMasksOfFewTiles) {
  const auto expect_refused = [](const char* text, Index N, Index N_kv, const char* why) {
    const auto refused = make_block_mask(parse_block_pattern(text).value(), N, N_kv, {1, 1});
    ASSERT_FALSE(refused) << text << ": the longer list alone takes 1 GiB";
    EXPECT_EQ(refused.error().code, ErrorCode::too_many);
    EXPECT_THAT(refused.error().message, testing::HasSubstr(why));
  };
  constexpr Index kLong = Index{1} << 27;
  expect_refused("butterfly", 2, kLong, "2 x 134217728 tiles; at most 33554432 columns are drawn");
  expect_refused("random:0.5", kLong, 1, "134217728 x 1 tiles; at most 33554432 are drawn");
  expect_refused("uniform:0.5", kLong, 1, "134217728 x 1 tiles; at most 33554432 are drawn");
}

TEST(BlockPattern, UniformHasEquallyManyOnesInEachRow) {
  const auto M = mask_of("uniform:0.05,3", 200, 300);
  std::set<std::vector<std::int32_t>> rows;
  for (Index i = 0; i < 200; ++i) {
    EXPECT_EQ(M->columns_of(i).size(), 15U);
    rows.emplace(M->columns_of(i).begin(), M->columns_of(i).end());
  }
  EXPECT_GT(rows.size(), 190U) << "rows are drawn apart";
  for (Index j = 0; j < 300; ++j) EXPECT_LT(M->rows_of(j).size(), 35U);  // 10 are expected
  EXPECT_EQ(mask_of("uniform:0.0001", 4, 4)->nonzeros(), 4) << "at least one a row";
  EXPECT_EQ(mask_of("uniform:1", 7, 5)->nonzeros(), 35);
}

TEST(BlockPattern, RandomKeepsItsShareAndFollowsItsSeed) {
  const auto M = mask_of("random:0.05,3", 1024, 1024);
  EXPECT_NEAR(M->density(), 0.05, 0.001);
  EXPECT_EQ(picture(*M), picture(*mask_of("random:0.05,3", 1024, 1024)));
  EXPECT_NE(picture(*M), picture(*mask_of("random:0.05,4", 1024, 1024)));
  EXPECT_EQ(mask_of("random:1", 7, 5)->nonzeros(), 35);
}

TEST(BlockPattern, TextRoundTrips) {
  for (const char* text : {"butterfly", "local-global:2,1", "random:0.05", "random:0.05,7",
                           "uniform:0.125,18446744073709551615", "folder/mask.npy"}) {
    const auto pattern = parse_block_pattern(text);
    ASSERT_TRUE(pattern.ok()) << text;
    EXPECT_EQ(to_string(pattern.value()), text);
  }
}

TEST(BlockPattern, OtherTextIsRefusedWithWhatIsAccepted) {
  for (const char* text : {"", "butterflies", "local-global", "local-global:1", "local-global:-1,0",
                           "local-global:1,2,3", "random", "random:", "random:0", "random:1.5",
                           "random:nan", "random:0.1,", "random:0.1,x", "random:0.1,-1",
                           "uniform:-0.1", "uniform:inf", "mask.csv"}) {
    const auto pattern = parse_block_pattern(text);
    ASSERT_FALSE(pattern.ok()) << text;
    EXPECT_EQ(pattern.error().kind, Error::Kind::invalid_request);
    EXPECT_NE(pattern.error().message.find("uniform:DENSITY[,SEED]"), std::string::npos);
    EXPECT_EQ(pattern.error().message.find('\n'), std::string::npos);
  }
}

TEST(BlockPattern, DrawingEndsWhenItIsCancelled) {
  std::atomic<bool> cancel = false;
  const auto drawn = [&](const char* text, Index tiles) {
    return make_block_mask(parse_block_pattern(text).value(), tiles * 16, tiles * 16, {16, 16}, {},
                           &cancel);
  };
  EXPECT_TRUE(drawn("butterfly", 8).ok());

  // Thousands of rows, each of which takes a tenth of a millisecond
  auto drawing = std::async(std::launch::async, drawn, "random:0.00001", Index{1} << 14);
  EXPECT_EQ(drawing.wait_for(std::chrono::milliseconds(20)), std::future_status::timeout);
  cancel = true;
  ASSERT_EQ(drawing.wait_for(std::chrono::milliseconds(500)), std::future_status::ready);
  const auto mask = drawing.get();
  ASSERT_FALSE(mask.ok());
  EXPECT_EQ(mask.error().code, ErrorCode::cancelled);
}

std::string numpy_file(const test::TempDir& dir, const std::string& descr,
                       const std::string& payload) {
  std::string header = "{'descr': '" + descr + "', 'fortran_order': False, 'shape': (2, 3), }";
  header.append(117 - header.size(), ' ').push_back('\n');
  std::string path = dir.file("mask.npy");
  std::ofstream(path, std::ios::binary)
      << std::string("\x93NUMPY\x01\x00\x76\x00", 10) << header << payload;
  return path;
}

std::string refusal(const std::string& path, Index N, Index N_kv) {
  const auto mask =
      make_block_mask({.kind = BlockPattern::Kind::file, .path = path}, N, N_kv, {16, 16});
  return mask.ok() ? "accepted" : mask.error().message;
}

TEST(BlockMaskFile, HoldsZerosAndOnesOfAnyType) {
  const test::TempDir dir;
  for (const char* descr : {"|b1", "|u1", "|i1"}) {
    const std::string path = numpy_file(dir, descr, std::string("\x01\x00\x01\x00\x00\x01", 6));
    EXPECT_EQ(
        picture(*make_block_mask(parse_block_pattern(path).value(), 20, 48, {16, 16}).value()),
        (Picture{"#.#", "..#"}))
        << descr;
  }
  const double values[] = {1, 0, 1, 0, 0, 1};
  const Index shape[] = {2, 3};
  const std::string path = dir.file("doubles.npy");
  ASSERT_EQ(write_npy(path, shape, values), std::nullopt);
  EXPECT_EQ(refusal(path, 32, 48), "accepted");
  const std::string wide = numpy_file(dir, "<i8", [] {
    std::string payload(48, '\0');
    payload[0] = payload[16] = payload[40] = 1;
    return payload;
  }());
  EXPECT_EQ(picture(*make_block_mask(parse_block_pattern(wide).value(), 20, 48, {16, 16}).value()),
            (Picture{"#.#", "..#"}));
}

TEST(BlockMaskFile, OfAnotherShapeOrWithOtherValuesIsRefused) {
  const test::TempDir dir;
  const double values[] = {1, 0, 1, 0, 0.5, 1};
  const Index shape[] = {2, 3};
  const std::string path = dir.file("mask.npy");
  ASSERT_EQ(write_npy(path, shape, values), std::nullopt);
  EXPECT_EQ(refusal(path, 64, 48),
            path +
                ": shape [2, 3]; the block mask of this problem and tiling has shape [4, 3] "
                "(Tr, Tc)");
  EXPECT_EQ(refusal(path, 32, 48),
            path + ": the value at [1, 1] is 0.5; a block mask contains only 0 and 1");
  EXPECT_EQ(refusal(dir.file("none.npy"), 32, 48), dir.file("none.npy") + ": no such file");
  EXPECT_NE(
      refusal(numpy_file(dir, "|u1", "\x01\x01\x01\x01\x01\x02"), 32, 48).find("[1, 2] is 2;"),
      std::string::npos);
  EXPECT_NE(refusal(numpy_file(dir, "<c8", ""), 32, 48).find("type '<c8'"), std::string::npos);
}

}  // namespace
}  // namespace attnscope
