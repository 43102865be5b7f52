#include "kernels/measure/calibrate/curve_analysis.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace attnscope::kernels {
namespace {

TEST(SharedChunks, EverySmComesToEveryChunk) {
  for (const Index sms : {1, 2, 66, 108, 132, 148}) {
    for (Index wanted = 0; wanted < 600; ++wanted) {
      const Index chunks = shared_chunks(wanted, sms);
      EXPECT_GE(chunks, std::max<Index>(wanted, 1));
      EXPECT_LE(chunks, std::max<Index>(wanted, 1) + 20);
      std::vector<bool> visited(static_cast<std::size_t>(chunks));
      Index at = 0;
      for (Index visit = 0; visit < chunks; ++visit, at = (at + sms) % chunks) {
        visited[static_cast<std::size_t>(at)] = true;
      }
      EXPECT_TRUE(std::ranges::all_of(visited, [](bool was) { return was; }))
          << chunks << " chunks, " << sms << " SMs";
    }
  }
}

TEST(WhereRisen, LiesBetweenTwoPoints) {
  const std::vector<double> x{10, 20, 30, 40}, y{1, 1, 3, 5};
  EXPECT_DOUBLE_EQ(where_risen(x, y, 1, 5, 0.5).value(), 30);
  EXPECT_DOUBLE_EQ(where_risen(x, y, 1, 5, 0.25).value(), 25);
  EXPECT_DOUBLE_EQ(where_risen(x, y, 1, 5, 1).value(), 40);
}

TEST(WhereRisen, IsTheFirstOfSeveralPlaces) {
  EXPECT_DOUBLE_EQ(where_risen({0, 1, 2, 3}, {0, 4, 0, 4}, 0, 4, 0.5).value(), 0.5);
}

TEST(WhereRisen, PassesOverPointsAtTheBeginningThatAreNotBelow) {
  EXPECT_DOUBLE_EQ(where_risen({1, 2, 3, 4}, {3, 1, 1, 5}, 1, 5, 0.5).value(), 3.5);
  EXPECT_DOUBLE_EQ(where_risen({1, 2, 3, 4}, {1.5, 1, 1, 5}, 1, 5, 0.1).value(), 3.1);
  EXPECT_DOUBLE_EQ(where_risen({1, 2, 3, 4}, {1.5, 2, 1, 5}, 1, 5, 0.1).value(), 3.1);
}

TEST(WhereRisen, IsNothingWithoutARise) {
  EXPECT_FALSE(where_risen({1, 2, 3}, {1, 1, 1}, 1, 1, 0.5));
  EXPECT_FALSE(where_risen({1, 2, 3}, {1, 1.1, 1.2}, 1, 5, 0.5));
  EXPECT_FALSE(where_risen({1, 2, 3}, {4, 4, 5}, 1, 5, 0.5));
  EXPECT_FALSE(where_risen({1, 2, 3}, {NAN, NAN, NAN}, 1, 5, 0.5));
  EXPECT_FALSE(where_risen({1, 2, 3}, {1, NAN, 5}, 1, 5, 0.5));
}

/// Latencies of an L2 with two partitions: lines of half 0 are close to the SMs of half 0, and
/// those of half 1 to the others.
std::vector<std::vector<double>> two_partitions(const std::vector<int>& halves, double noise) {
  std::vector<std::vector<double>> latencies;
  unsigned state = 1;
  const auto random = [&] {
    state = state * 1664525u + 1013904223u;
    return static_cast<double>(state >> 8U) / 0x1p24 - 0.5;
  };
  for (std::size_t s = 0; s < halves.size(); ++s) {
    auto& row = latencies.emplace_back();
    for (int line = 0; line < 64; ++line) {
      const bool is_near = (line * 7 % 5 % 2) == halves[s];
      // SMs and lines also differ individually, by more than the partitions
      row.push_back(200 + 8.0 * static_cast<double>(s % 7) + 3.0 * (line % 11) +
                    (is_near ? 0 : 20) + noise * random());
    }
  }
  return latencies;
}

TEST(HalvesOf, FollowsWhichLinesAreNear) {
  std::vector<int> halves(132);
  for (std::size_t s = 0; s < halves.size(); ++s) halves[s] = s * 5 % 9 < 4 ? 1 : 0;
  const std::vector<int> found = halves_of(two_partitions(halves, 12.0));
  std::vector<int> others = halves;
  for (int& half : others) half = 1 - half;
  EXPECT_TRUE(found == halves || found == others);  // it does not matter which half is 0
}

TEST(HalvesOf, AreNeverEmpty) {
  const std::vector<int> equal = halves_of(std::vector(8, std::vector<double>(4, 250.0)));
  EXPECT_EQ(std::count(equal.begin(), equal.end(), 0), 4);
  EXPECT_EQ(halves_of({{250.0, 260.0}}).size(), 1u);
}

}  // namespace
}  // namespace attnscope::kernels
