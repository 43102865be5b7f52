#include "kernels/kernel_parameters.h"

#include <gtest/gtest.h>

#include <list>
#include <span>
#include <vector>

#include "kernels/forward_parameters.cuh"
#include "kernels/tile_lists.h"

namespace attnscope::kernels {
namespace {

/// The parameters with their arrays in host memory.
struct HostScores {
  std::list<std::vector<std::byte>> arrays;
  ScoreParameters scores;

  explicit HostScores(const AttentionProblem& problem, ScoreUnit unit = ScoreUnit::before_scale)
      : scores(score_parameters(problem, unit, [this](std::span<const std::byte> array) {
          return array.empty() ? nullptr : arrays.emplace_back(array.begin(), array.end()).data();
        })) {}
};

std::vector<Mask> masks() {
  std::vector<Mask> all;
  for (const Index left : {-1, 0, 3, 100}) {
    for (const Index right : {-1, 0, 2, 100}) {
      for (const auto alignment : {Mask::Alignment::bottom_right, Mask::Alignment::top_left}) {
        all.push_back({left, right, alignment});
      }
    }
  }
  all.push_back(Mask::window(Index{1} << 40, Index{1} << 40));
  return all;
}

void expect_the_problems_keys(const AttentionProblem& problem) {
  const ForwardShape shape = forward_shape(problem);
  const HostScores host(problem);
  for (Index b = 0; b < problem.batch; ++b) {
    for (Index query = 0; query < problem.N; ++query) {
      const SeenKeys seen =
          seen_keys(shape, host.scores, static_cast<int>(b), static_cast<int>(query));
      const KeyRange keys = problem.keys_of(query, b);
      ASSERT_EQ((KeyRange{seen.begin, seen.end}), keys)
          << to_string(problem.mask) << ", " << extras_text(problem) << ", query " << query;
      ASSERT_EQ(seen.aligned, problem.aligned_key(query, Mask::Alignment::bottom_right));
    }
  }
}

TEST(SeenKeys, AreThoseOfTheProblemUnderEveryMask) {
  for (const Mask& mask : masks()) {
    for (const auto& [N, N_kv] : {std::pair<Index, Index>{9, 9}, {4, 13}, {13, 4}, {1, 1}}) {
      expect_the_problems_keys({.N = N, .N_kv = N_kv, .mask = mask});
    }
  }
}

TEST(SeenKeys, EndWithTheKeysThatAreNotPadding) {
  for (const Mask& mask : masks()) {
    AttentionProblem problem{.batch = 4, .N = 7, .N_kv = 9, .mask = mask};
    problem.key_lengths = {9, 0, 1, 5};
    expect_the_problems_keys(problem);
  }
}

AttentionProblem packed_problem(const Mask& mask) {
  AttentionProblem problem{.N = 40, .N_kv = 53, .mask = mask};
  problem.cu_seqlens_q = {0, 0, 1, 18, 18, 23, 40, 40};
  problem.cu_seqlens_k = {0, 4, 9, 21, 30, 30, 53, 53};
  return problem;
}

TEST(SeenKeys, StayInTheQuerysOwnSequence) {
  for (const Mask& mask : masks()) expect_the_problems_keys(packed_problem(mask));
}

TEST(PackedTiles, AreThoseInWhichAQuerySeesAKey) {
  constexpr Tiling kTiling{8, 4};
  for (const Mask& mask : masks()) {
    const AttentionProblem problem = packed_problem(mask);
    const auto is_seen = [&](Index i, Index j) {
      for (Index q = i * kTiling.Br; q < std::min((i + 1) * kTiling.Br, problem.N); ++q) {
        for (Index k = j * kTiling.Bc; k < std::min((j + 1) * kTiling.Bc, problem.N_kv); ++k) {
          if (problem.attends(q, k)) return true;
        }
      }
      return false;
    };
    const auto lists = [](Index tiles, Index others, const auto& visits) {
      std::vector<int> expected(static_cast<std::size_t>(tiles));
      for (Index t = 0; t < tiles; ++t) {
        expected[static_cast<std::size_t>(t)] = static_cast<int>(expected.size());
        for (Index other = 0; other < others; ++other) {
          if (visits(t, other)) expected.push_back(static_cast<int>(other));
        }
        expected.push_back(-1);
      }
      return expected;
    };
    const Index Tr = ceil_div(problem.N, kTiling.Br);
    const Index Tc = ceil_div(problem.N_kv, kTiling.Bc);
    EXPECT_EQ(column_tile_lists(problem, kTiling), lists(Tr, Tc, is_seen)) << to_string(mask);
    EXPECT_EQ(row_tile_lists(problem, kTiling),
              lists(Tc, Tr, [&](Index j, Index i) { return is_seen(i, j); }))
        << to_string(mask);
  }
}

TEST(ScoreParameters, AreInTheUnitOfTheKernelsScores) {
  AttentionProblem problem{.heads = 2, .kv_heads = 1, .d = 64};
  problem.score.soft_cap = 30.0;
  problem.score.alibi_slopes = {0.5, 0.25};
  problem.score.dropout = {.probability = 0.25, .seed = 7, .first_batch = 3, .first_head = 4};
  const HostScores host(problem);
  EXPECT_FLOAT_EQ(host.scores.soft_cap, 240.0f);
  EXPECT_FLOAT_EQ(host.scores.inverse_soft_cap, 1.0f / 240.0f);
  EXPECT_FLOAT_EQ(host.scores.alibi_slopes[1], 2.0f);
  EXPECT_TRUE(host.scores.drops);
  EXPECT_EQ(host.scores.dropout_threshold, 1u << 30);
  EXPECT_FLOAT_EQ(host.scores.dropout_scale, 4.0f / 3.0f);
  EXPECT_EQ(host.scores.dropout_seed, 7u);
  EXPECT_EQ(host.scores.first_batch, 3u);
  EXPECT_EQ(host.scores.first_head, 4u);

  const HostScores scaled(problem, ScoreUnit::scaled);
  EXPECT_FLOAT_EQ(scaled.scores.soft_cap, 30.0f);
  EXPECT_FLOAT_EQ(scaled.scores.alibi_slopes[1], 0.25f);

  const ScoreParameters plain = HostScores(AttentionProblem{}).scores;
  EXPECT_EQ(plain.soft_cap, 0.0f);
  EXPECT_FALSE(plain.drops);
  EXPECT_EQ(plain.dropout_scale, 1.0f);
}

}  // namespace
}  // namespace attnscope::kernels
