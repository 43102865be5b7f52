/// Split-KV decoding equals the reference with any number of splits, in any order of thread blocks;
/// its bytes equal their closed forms; it has no backward pass, and the error says so.

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "reference/key_splits.h"
#include "sim/schedule/algorithm.h"
#include "sim/schedule/schedules.h"
#include "tests/sim/schedule/schedule_cases.h"
#include "tests/support/model_request.h"
#include "tests/support/tensor_assertions.h"

namespace attnscope {
namespace {

using test::is_near;

struct SplitCase {
  Index N, N_kv;
  Tiling tiling;
  Index splits;
  Mask mask;
  Index heads = 1, kv_heads = 1;
};

void PrintTo(const SplitCase& c, std::ostream* out) {
  *out << fmt::format("N={} N_kv={} {}x{} {} splits {} heads={}/{}", c.N, c.N_kv, c.tiling.Br,
                      c.tiling.Bc, c.splits, to_string(c.mask), c.heads, c.kv_heads);
}

test::ModelRequest request_for(const SplitCase& c) {
  test::ModelRequest request =
      test::request_for({c.N, c.N_kv, 8, c.tiling, c.mask, c.heads, c.kv_heads}, "split_kv",
                        DType::fp32, /*batch=*/2);
  if (c.splits > 0) request.splits = c.splits;
  return request;
}

class SplitKv : public testing::TestWithParam<SplitCase> {};

TEST_P(SplitKv, EqualsTheReferenceInAnyOrderOfThreadBlocks) {
  const test::ModelRequest request = request_for(GetParam());
  for (const InputKind kind : {InputKind::gaussian, InputKind::needle}) {
    const AttentionInputs inputs = make_inputs(request.problem, {kind, 7});
    const auto result = simulate_numbers(request, inputs, {});
    ASSERT_TRUE(result.ok()) << result.error().message;
    const ForwardResult reference = naive_forward(request.problem, inputs);
    EXPECT_TRUE(is_near(result.value().output.O, reference.O, 1e-12));
    EXPECT_TRUE(is_near(result.value().output.LSE, reference.LSE, 1e-12));
    const auto shuffled =
        simulate_numbers(request, inputs, {.order = {BlockOrder::Kind::shuffled, 3}});
    ASSERT_TRUE(shuffled.ok());
    EXPECT_EQ(shuffled.value().output.O, result.value().output.O);
    EXPECT_EQ(shuffled.value().output.LSE, result.value().output.LSE);
  }
}

std::vector<SplitCase> split_cases() {
  std::vector<SplitCase> all;
  for (const Mask& mask : {Mask::none(), Mask::causal(), Mask::window(40, 0)}) {
    for (const Index splits : {1, 2, 3, 7}) {
      for (const auto& [N, N_kv] : {std::pair<Index, Index>{1, 100}, {5, 130}, {40, 128}}) {
        all.push_back({N, N_kv, {16, 16}, splits, mask});
      }
    }
  }
  all.push_back({1, 90, {16, 16}, 4, Mask::causal(), 6, 2});
  all.push_back({90, 64, {16, 8}, 8, Mask::causal(), 4, 1});  // some queries see nothing
  return all;
}

INSTANTIATE_TEST_SUITE_P(RaggedAndMasked, SplitKv, testing::ValuesIn(split_cases()));

TEST(SplitKvTraffic, AddsThePartsOfEachSplit) {
  for (const SplitCase& c : {SplitCase{1, 65536, {16, 128}, 16, Mask::none(), 8, 8},
                             SplitCase{100, 1000, {32, 48}, 5, Mask::none(), 3, 1}}) {
    test::ModelRequest request = request_for(c);
    request.problem.dtype = DType::bf16;
    const SimulationReport report = simulate(request).value();
    const Index d = request.problem.d;
    const Index heads = 2 * c.heads;
    const Index Tr = ceil_div(c.N, c.tiling.Br);
    const Index parts = c.splits * (c.N * d + c.N) * 4;
    ASSERT_EQ(report.launches.size(), 2U);
    EXPECT_EQ(
        report.launches[0].requested,
        (Bytes{heads * (c.splits * c.N * d * 2 + Tr * 2 * c.N_kv * d * 2), heads * parts, 0}));
    EXPECT_EQ(report.launches[1].requested,
              (Bytes{heads * parts, heads * (c.N * d * 2 + 4 * c.N), 0}));
    EXPECT_EQ(report.launches[0].thread_blocks, heads * Tr * c.splits);
    EXPECT_EQ(report.matmul_flops, heads * 4 * c.N * c.N_kv * d);
    const Index io = 2 * heads * c.N * d * 2 + Index{2} * 2 * c.kv_heads * c.N_kv * d * 2;
    EXPECT_EQ(report.peak_hbm_bytes, io + heads * (4 * c.N + parts));
  }
}

TEST(SplitKvDefault, IsTheRuleThatTheKernelFollows) {
  test::ModelRequest request = request_for({1, 65536, {16, 128}, 0, Mask::none(), 8, 8});
  request.problem.batch = 1;
  EXPECT_EQ(simulate(request).value().run.splits,
            split_count(request.problem, {16, 128}, request.gpu_description.sm_count));
}

std::string refusal(const test::ModelRequest& request) {
  const auto report = simulate(request);
  return report.ok() ? "accepted" : report.error().message;
}

TEST(SplitKvRequest, RefusesABackwardPassAndMoreSplitsThanTiles) {
  test::ModelRequest request = request_for({1, 100, {16, 16}, 8, Mask::none()});
  EXPECT_EQ(refusal(request),
            "8 splits of 7 column tiles of 16 keys; use at most 7 splits, or smaller "
            "tiles");
  request.splits = 7;
  EXPECT_EQ(refusal(request), "accepted");
  for (const PassKind pass : {PassKind::backward, PassKind::both}) {
    request.pass = pass;
    EXPECT_EQ(test::resolve(request).error().code, ErrorCode::not_applicable);
    EXPECT_EQ(test::resolve(request).error().field, "pass");
  }
  request.pass = PassKind::forward;
  request.algorithm = "flash2";
  EXPECT_EQ(test::resolve(request).error().code, ErrorCode::not_applicable);
  EXPECT_EQ(test::resolve(request).error().field, "splits");
}

}  // namespace
}  // namespace attnscope
