/// Counts at and beyond 2^63.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include "sim/observers/flop_counter.h"
#include "sim/observers/traffic_counter.h"
#include "sim/schedule/algorithm.h"
#include "sim/simulation.h"
#include "tests/support/model_request.h"

namespace attnscope {
namespace {

constexpr Index kHalf = Index{1} << 62;

TEST(CountLimit, SumsAndProductsThrowInsteadOfWrapping) {
  EXPECT_THROW((Bytes{kHalf, kHalf, 0}.total()), CountTooLarge);
  EXPECT_THROW((Bytes{kHalf, 0, 0} * 2), CountTooLarge);
  EXPECT_THROW((Flops{0, kHalf, 0} * 2), CountTooLarge);
  Bytes bytes{0, kHalf, 0};
  EXPECT_THROW((bytes += {0, kHalf, 0}), CountTooLarge);
  Flops flops{0, 0, kHalf};
  EXPECT_THROW((flops += {0, 0, kHalf}), CountTooLarge);
}

TEST(CountLimit, RepeatedCountsThrowInsteadOfWrapping) {
  MarkedCounts<std::array<Index, 1>> counts;
  std::array<Index, 1> now = {1};
  counts.mark(now);
  now[0] += 4;
  counts.mark(now);
  now[0] += 2;
  EXPECT_THROW(counts.repeat(now, kHalf), CountTooLarge);
}

/// The largest problems that validate() accepts; all have B H N N_kv d = 2^57.
std::vector<AttentionProblem> largest_problems() {
  const auto problem = [](int batch, int heads, int n, int n_kv, int d) {
    return AttentionProblem{.batch = Index{1} << batch,
                            .heads = Index{1} << heads,
                            .kv_heads = Index{1} << heads,
                            .N = Index{1} << n,
                            .N_kv = Index{1} << n_kv,
                            .d = Index{1} << d,
                            .dtype = DType::fp32};
  };
  return {problem(20, 10, 0, 27, 0), problem(20, 10, 27, 0, 0), problem(1, 2, 27, 27, 0),
          problem(20, 17, 10, 10, 0), problem(20, 15, 5, 5, 12)};
}

TEST(CountLimit, TheLargestProblemsFitInTilesOfOneElement) {
  for (const AttentionProblem& problem : largest_problems()) {
    for (const Algorithm& algorithm : algorithms()) {
      for (const PassKind pass : {PassKind::forward, PassKind::backward}) {
        if (pass == PassKind::backward && !algorithm.has_backward) continue;
        test::ModelRequest request;
        request.gpu_description = load_gpu("h200").value();
        request.algorithm = algorithm.name;
        request.pass = pass;
        request.problem = problem;
        request.set_tiling({1, 1});
        request.allow_overflow = true;
        SCOPED_TRACE(fmt::format("{} {} N {} x {}", algorithm.name, to_string(pass), problem.N,
                                 problem.N_kv));
        const auto whole = simulate(request);
        request.problem.batch /= 2;
        const auto half = simulate(request);
        ASSERT_TRUE(whole.ok()) << whole.error().message;
        ASSERT_TRUE(half.ok()) << half.error().message;
        EXPECT_EQ(whole.value().requested, half.value().requested * 2);
        EXPECT_EQ(whole.value().matmul_flops, 2 * half.value().matmul_flops);
        EXPECT_EQ(whole.value().non_matmul_flops, 2 * half.value().non_matmul_flops);
        EXPECT_EQ(whole.value().peak_hbm_bytes, 2 * half.value().peak_hbm_bytes);
        EXPECT_GT(half.value().requested.total(), 0);
      }
    }
  }
}

}  // namespace
}  // namespace attnscope
