/// Block-sparse schedules equal the reference under the same block mask, both passes, in any order
/// of thread blocks; their gradients equal finite differences; their bytes equal the closed forms
/// of Algorithm 5 (arXiv 2205.14135) and of FlashAttention-2's loops over the ones of the mask.

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "sim/schedule/algorithm.h"
#include "tests/sim/schedule/schedule_cases.h"
#include "tests/support/finite_differences.h"
#include "tests/support/listed_block_mask.h"
#include "tests/support/model_request.h"
#include "tests/support/tensor_assertions.h"

namespace attnscope {
namespace {

using test::is_near;

struct SparseCase {
  std::string pattern;
  Index N, N_kv;
  Tiling tiling;
  Mask mask;
  Index heads = 1, kv_heads = 1;
};

void PrintTo(const SparseCase& c, std::ostream* out) {
  *out << fmt::format("{} N={} N_kv={} {}x{} {} heads={}/{}", c.pattern, c.N, c.N_kv, c.tiling.Br,
                      c.tiling.Bc, to_string(c.mask), c.heads, c.kv_heads);
}

test::ModelRequest request_for(const SparseCase& c, std::string_view algorithm) {
  test::ModelRequest request =
      test::request_for({c.N, c.N_kv, 8, c.tiling, c.mask, c.heads, c.kv_heads}, algorithm);
  request.pass = PassKind::both;
  request.block_mask = parse_block_pattern(c.pattern).value();
  const auto run = test::resolve(request);
  EXPECT_TRUE(run.ok());
  request.problem.block_mask = run.value().problem.block_mask;
  return request;
}

constexpr std::string_view kNames[] = {"block_sparse", "block_sparse2"};

class BlockSparse : public testing::TestWithParam<SparseCase> {};

TEST_P(BlockSparse, EqualsTheReference) {
  for (const std::string_view name : kNames) {
    for (const bool skip_unused_kv : {false, true}) {
      for (const Carry carry : {Carry::problem, Carry::fp32}) {
        if (carry == Carry::fp32 && !find_algorithm(name)->carries_output) continue;
        test::ModelRequest request = request_for(GetParam(), name);
        request.variant.skip_unused_kv = skip_unused_kv;
        request.variant.carry = carry;
        const AttentionInputs inputs = make_inputs(request.problem, {InputKind::gaussian, 7});
        const auto result = simulate_numbers(request, inputs, {});
        ASSERT_TRUE(result.ok()) << result.error().message;
        const ForwardResult forward = naive_forward(request.problem, inputs);
        const Gradients gradients = naive_backward(request.problem, inputs, forward);
        EXPECT_TRUE(is_near(result.value().output.O, forward.O, 1e-12)) << name;
        EXPECT_TRUE(is_near(result.value().output.LSE, forward.LSE, 1e-12)) << name;
        EXPECT_TRUE(is_near(result.value().gradients->dQ, gradients.dQ, 1e-11)) << name;
        EXPECT_TRUE(is_near(result.value().gradients->dK, gradients.dK, 1e-11)) << name;
        EXPECT_TRUE(is_near(result.value().gradients->dV, gradients.dV, 1e-11)) << name;
      }
    }
  }
}

TEST_P(BlockSparse, ChangesOnlyTheRoundingOfDqWithTheOrderOfThreadBlocks) {
  for (const std::string_view name : kNames) {
    const test::ModelRequest request = request_for(GetParam(), name);
    const AttentionInputs inputs = make_inputs(request.problem, {InputKind::gaussian, 7});
    const auto ascending = simulate_numbers(request, inputs, {});
    const auto shuffled =
        simulate_numbers(request, inputs, {.order = {BlockOrder::Kind::shuffled, 3}});
    ASSERT_TRUE(ascending.ok() && shuffled.ok());
    EXPECT_EQ(shuffled.value().output.O, ascending.value().output.O);
    EXPECT_EQ(shuffled.value().output.LSE, ascending.value().output.LSE);
    EXPECT_EQ(shuffled.value().gradients->dK, ascending.value().gradients->dK);
    EXPECT_EQ(shuffled.value().gradients->dV, ascending.value().gradients->dV);
    EXPECT_TRUE(is_near(shuffled.value().gradients->dQ, ascending.value().gradients->dQ, 1e-13));
  }
}

std::vector<SparseCase> sparse_cases() {
  std::vector<SparseCase> all;
  for (const char* pattern : {"butterfly", "local-global:1,1", "random:0.2,3", "uniform:0.3,1"}) {
    for (const Tiling& tiling : {Tiling{16, 16}, Tiling{8, 24}, Tiling{24, 8}}) {
      for (const auto& [N, N_kv] : {std::pair<Index, Index>{96, 96}, {100, 75}, {37, 90}}) {
        all.push_back({pattern, N, N_kv, tiling, Mask::none()});
      }
      all.push_back({pattern, 100, 100, tiling, Mask::causal()});
    }
  }
  all.push_back({"random:0.3", 50, 70, {16, 8}, Mask::causal(), 6, 2});
  all.push_back({"uniform:0.3", 70, 50, {8, 16}, Mask::window(20, 10), 4, 1});
  return all;
}

INSTANTIATE_TEST_SUITE_P(PatternsRaggedAndMasked, BlockSparse, testing::ValuesIn(sparse_cases()));

TEST(BlockSparse, EqualsFlashAttentionIfEveryTileIsKept) {
  for (const auto& [sparse, dense] : {std::pair<std::string, std::string>{"block_sparse", "flash1"},
                                      {"block_sparse2", "flash2"}}) {
    const test::ModelRequest request =
        request_for({"random:1", 100, 90, {16, 32}, Mask::causal()}, sparse);
    test::ModelRequest other = request;
    other.problem.block_mask = nullptr;
    other.block_mask.reset();
    other.algorithm = dense;
    EXPECT_EQ(simulate(request).value().by_tensor, simulate(other).value().by_tensor);
    EXPECT_EQ(simulate(request).value().matmul_flops, simulate(other).value().matmul_flops);
  }
}

TEST(BlockSparse, GradientsEqualFiniteDifferences) {
  for (const std::string_view name : kNames) {
    const test::ModelRequest request =
        request_for({"random:0.4,2", 7, 6, {2, 2}, Mask::none(), 2, 1}, name);
    const AttentionInputs inputs = make_inputs(request.problem, {InputKind::gaussian, 7});
    const auto result = simulate_numbers(request, inputs, {});
    ASSERT_TRUE(result.ok()) << result.error().message;
    const auto differences = [&](auto member) {
      return test::finite_differences(request.problem, inputs, member);
    };
    EXPECT_TRUE(is_near(result.value().gradients->dQ, differences(&AttentionInputs::Q), 1e-8));
    EXPECT_TRUE(is_near(result.value().gradients->dK, differences(&AttentionInputs::K), 1e-8));
    EXPECT_TRUE(is_near(result.value().gradients->dV, differences(&AttentionInputs::V), 1e-8));
  }
}

/// The sums of the closed forms, counted tile by tile from the drawn mask.
struct Ones {
  Index rows = 0;       ///< query rows, summed over all ones
  Index keys = 0;       ///< keys, summed over all ones
  Index products = 0;   ///< elements of S, summed over all ones
  Index used_keys = 0;  ///< keys of the column tiles that have a one
};

Ones count_ones(const AttentionProblem& problem) {
  const BlockMask& M = *problem.block_mask;
  Ones ones;
  for (Index j = 0; j < M.Tc(); ++j) {
    const Index keys = std::min(M.tiling().Bc, problem.N_kv - j * M.tiling().Bc);
    bool used = false;
    for (Index i = 0; i < M.Tr(); ++i) {
      if (!M.contains(i, j)) continue;
      const Index rows = std::min(M.tiling().Br, problem.N - i * M.tiling().Br);
      ones.rows += rows;
      ones.keys += keys;
      ones.products += rows * keys;
      used = true;
    }
    if (used) ones.used_keys += keys;
  }
  return ones;
}

/// Cases large enough to leave column tiles unused.
const SparseCase kLarge[] = {
    {"random:0.05,3", 1000, 1300, {64, 32}, Mask::none(), 3, 3},
    {"uniform:0.1", 2048, 2048, {128, 128}, Mask::none()},
    {"butterfly", 1024, 1024, {32, 64}, Mask::none(), 2, 2},
};

SimulationReport counted(const SparseCase& c, std::string_view name, PassKind pass,
                         bool skip = false) {
  test::ModelRequest request = request_for(c, name);
  request.problem.dtype = DType::bf16;
  request.pass = pass;
  request.variant.skip_unused_kv = skip;
  return simulate(request).value();
}

TEST(BlockSparseTraffic, ForwardIsAlgorithm5ToTheByte) {
  for (const SparseCase& c : kLarge) {
    const SimulationReport report = counted(c, "block_sparse", PassKind::forward);
    const Ones ones = count_ones(report.run.problem);
    const Index d = report.run.problem.d;
    // K, V once, whatever the mask keeps; Q, O, l, m for every 1
    EXPECT_EQ(report.requested, (Bytes{c.heads * (2 * c.N_kv * d * 2 + ones.rows * (2 * d * 2 + 8)),
                                       c.heads * ones.rows * (d * 2 + 8), 0}));
    EXPECT_EQ(report.paper, report.requested);
    EXPECT_EQ(report.matmul_flops, c.heads * 4 * ones.products * d);
  }
}

TEST(BlockSparseTraffic, OfEvenTilesFollowsTheDensity) {
  // 2 N d + 3 N d Tc s + 4 N Tc s, in elements and row statistics
  const SparseCase c{"uniform:0.25", 1024, 1024, {64, 64}, Mask::none()};
  const SimulationReport report = counted(c, "block_sparse", PassKind::forward);
  const Index d = report.run.problem.d;
  const Index Tc_s = 4;  // 16 column tiles, a quarter of them
  EXPECT_EQ(report.requested.total(),
            2 * (Index{2} * 1024 * d + Index{3} * 1024 * d * Tc_s) + 4 * (Index{4} * 1024 * Tc_s));
}

TEST(BlockSparseTraffic, SkippingUnusedKeysSavesTheirBytesAlone) {
  for (const SparseCase& c : kLarge) {
    for (const PassKind pass : {PassKind::forward, PassKind::backward}) {
      const SimulationReport all = counted(c, "block_sparse", pass);
      const SimulationReport used = counted(c, "block_sparse", pass, true);
      const Index unused_keys = c.N_kv - count_ones(all.run.problem).used_keys;
      EXPECT_EQ(all.requested.read_bytes - used.requested.read_bytes,
                c.heads * 2 * unused_keys * all.run.problem.d * 2);
      EXPECT_EQ(all.requested.write_bytes, used.requested.write_bytes);
      EXPECT_EQ(all.matmul_flops, used.matmul_flops);
    }
  }
  EXPECT_LT(count_ones(request_for(kLarge[0], "block_sparse").problem).used_keys, kLarge[0].N_kv)
      << "the mask has no unused column";
}

TEST(BlockSparseTraffic, BackwardStreamsFourRowTensorsForEachOne) {
  for (const SparseCase& c : kLarge) {
    const SimulationReport report = counted(c, "block_sparse", PassKind::backward);
    const Ones ones = count_ones(report.run.problem);
    const Index d = report.run.problem.d;
    EXPECT_EQ(report.requested.read_bytes,
              c.heads * (2 * c.N_kv * d * 2 + ones.rows * (4 * d * 2 + 8)));
    EXPECT_EQ(report.requested.write_bytes, c.heads * (ones.rows * d * 2 + 2 * c.N_kv * d * 2));
    EXPECT_EQ(report.matmul_flops, c.heads * 10 * ones.products * d);
  }
}

TEST(BlockSparseTraffic, InFlashAttention2sLoopsFollowsTheListsOfTheRows) {
  for (const SparseCase& c : kLarge) {
    const SimulationReport forward = counted(c, "block_sparse2", PassKind::forward);
    const Ones ones = count_ones(forward.run.problem);
    const Index d = forward.run.problem.d;
    const Index Nd = c.N * d;
    EXPECT_EQ(forward.requested,
              (Bytes{c.heads * (Nd * 2 + 2 * ones.keys * d * 2), c.heads * (Nd * 2 + 4 * c.N), 0}));

    const SimulationReport backward = counted(c, "block_sparse2", PassKind::backward);
    const Index atomics = ones.rows * d * 4;
    EXPECT_EQ(backward.requested.atomic_bytes, c.heads * atomics);
    EXPECT_EQ(backward.requested.read_bytes,
              c.heads * (2 * Nd * 2 + 2 * c.N_kv * d * 2 + ones.rows * (2 * d * 2 + 8) + Nd * 4));
    EXPECT_EQ(backward.requested.write_bytes,
              c.heads * (4 * c.N + Nd * 4 + atomics + 2 * c.N_kv * d * 2 + Nd * 2));
  }
}

TEST(BlockSparseRequest, TakesTheDefaultTilingIfNoneIsGiven) {
  test::ModelRequest request;
  request.problem = {.N = 4096, .N_kv = 4096};
  request.algorithm = "block_sparse2";
  request.gpu_description = load_gpu("h200").value();
  const Tiling tiling = test::resolve(request).value().tiling;
  request.block_mask = parse_block_pattern("butterfly").value();
  const auto masked = test::resolve(request);
  ASSERT_TRUE(masked.ok());
  EXPECT_EQ(masked.value().tiling, tiling);
  EXPECT_EQ(masked.value().problem.block_mask->tiling(), tiling);
  EXPECT_TRUE(simulate(request).ok());
}

TEST(BlockSparseRequest, IsRefusedForDenseAlgorithmsAndForOtherTilings) {
  test::ModelRequest request =
      request_for({"butterfly", 64, 64, {16, 16}, Mask::none()}, "block_sparse");
  request.algorithm = "flash2";
  Result<SimulationReport> report = simulate(request);
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.error().code, ErrorCode::not_applicable);
  EXPECT_EQ(report.error().field, "block_mask");
  request.block_mask.reset();  // one that was already drawn is rejected as well
  EXPECT_EQ(simulate(request).error().field, "block_mask");
  request.algorithm = "block_sparse";
  request.set_tiling({32, 16});
  report = simulate(request);
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.error().message,
            "block mask butterfly has tiles of 16 x 16, but the tiling is 32 x 16; both must be "
            "the same");
}

}  // namespace
}  // namespace attnscope
