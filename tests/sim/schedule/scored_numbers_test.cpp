/// Every schedule under score functions, key lengths and packed sequences, odd d, grouped heads,
/// few or many queries, block masks: numbers equal the reference in both passes, any order of
/// thread blocks, and finite differences; the flash schedules visit each tile with a visible
/// element once and no others, and mask only where something is hidden.

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <map>

#include "sim/schedule/algorithm.h"
#include "sim/simulation.h"
#include "tests/support/finite_differences.h"
#include "tests/support/listed_block_mask.h"
#include "tests/support/model_request.h"
#include "tests/support/tensor_assertions.h"

namespace attnscope {
namespace {

using test::is_near;

struct Feature {
  std::string_view name;
  ScoreFunction score;
  std::vector<Index> key_lengths;
  std::vector<Index> cu_seqlens_q, cu_seqlens_k;
};

std::vector<Feature> features() {
  const std::vector<double> slopes = {0.5, 0.25, 0.125, 0.0625};
  const ScoreFunction all{1.5, slopes, {0.3, 5}};
  return {
      {"softcap", {1.5, {}, {}}, {}, {}, {}},
      {"alibi", {{}, slopes, {}}, {}, {}, {}},
      {"dropout", {{}, {}, {0.3, 5}}, {}, {}, {}},
      {"all_steps", all, {}, {}, {}},
      {"key_lengths", {}, {50, 0, 17}, {}, {}},
      {"key_lengths_all_steps", all, {33, 50, 1}, {}, {}},
      {"packed", {}, {}, {0, 5, 5, 21, 37}, {0, 21, 22, 30, 50}},
      {"packed_many", {}, {}, {0, 1, 2, 3, 11, 30, 37, 37}, {0, 4, 4, 9, 12, 12, 49, 50}},
      {"packed_all_steps", all, {}, {0, 16, 37}, {0, 24, 50}},
  };
}

/// Heads, lengths and head dimension.
struct Size {
  Index heads = 4, kv_heads = 2;
  Index N = 37, N_kv = 50;
  Index d = 8;
};

struct ScoredCase {
  Feature feature;
  Tiling tiling;
  Mask mask;
  Size size;
  bool sparse = false;  ///< row tiles of 16 skip some of the column tiles of 16 keys
};

void PrintTo(const ScoredCase& c, std::ostream* out) {
  *out << fmt::format("{}{} {}x{} {} heads {}/{} N={} N_kv={} d={}", c.feature.name,
                      c.sparse ? " sparse" : "", c.tiling.Br, c.tiling.Bc, to_string(c.mask),
                      c.size.heads, c.size.kv_heads, c.size.N, c.size.N_kv, c.size.d);
}

std::vector<ScoredCase> scored_cases() {
  std::vector<ScoredCase> all;
  for (const Feature& feature : features()) {
    for (const Tiling& tiling : {Tiling{16, 16}, {8, 24}, {1, 7}, {64, 64}}) {
      for (const Mask& mask : {Mask::none(), Mask::causal(),
                               Mask::causal(Mask::Alignment::top_left), Mask::window(4, 2)}) {
        all.push_back({feature, tiling, mask, {}});
      }
    }
  }
  // Every step in other shapes: one KV head, more queries than keys, one query, odd d
  const Feature steps = features()[3];
  for (const Size& size : {Size{3, 1, 50, 37, 5}, {4, 4, 1, 33, 7}, {4, 1, 45, 45, 13}}) {
    Feature feature = steps;
    feature.score.alibi_slopes.resize(static_cast<std::size_t>(size.heads));
    for (const Mask& mask : {Mask::none(), Mask::causal(), Mask::causal(Mask::Alignment::top_left),
                             Mask::window(4, 2)}) {
      all.push_back({feature, {8, 16}, mask, size});
    }
  }
  // Block masks with and without steps, under every mask
  for (const Feature& feature : {Feature{"plain", {}, {}, {}, {}}, steps, features()[5]}) {
    for (const Mask& mask : {Mask::none(), Mask::causal(), Mask::window(20, 9)}) {
      all.push_back({feature, {16, 16}, mask, {}, true});
    }
  }
  return all;
}

AttentionProblem problem_of(const ScoredCase& c) {
  AttentionProblem problem{.heads = c.size.heads,
                           .kv_heads = c.size.kv_heads,
                           .N = c.size.N,
                           .N_kv = c.size.N_kv,
                           .d = c.size.d,
                           .dtype = DType::fp32,
                           .mask = c.mask,
                           .score = c.feature.score};
  problem.key_lengths = c.feature.key_lengths;
  problem.batch = problem.has_key_lengths() ? static_cast<Index>(problem.key_lengths.size()) : 1;
  problem.cu_seqlens_q = c.feature.cu_seqlens_q;
  problem.cu_seqlens_k = c.feature.cu_seqlens_k;
  if (c.sparse) {
    problem.block_mask = test::listed_block_mask(c.tiling, 4, {{0, 2}, {1, 2, 3}, {0, 3}});
  }
  return problem;
}

test::ModelRequest request_for(const ScoredCase& c, std::string_view algorithm) {
  test::ModelRequest request;
  request.problem = problem_of(c);
  request.algorithm = algorithm;
  request.set_tiling(c.tiling);
  request.pass = find_algorithm(algorithm)->has_backward ? PassKind::backward : PassKind::forward;
  request.gpu_description = load_gpu("h200").value();
  request.allow_overflow = true;
  return request;
}

class EveryScheduleWithSteps : public testing::TestWithParam<ScoredCase> {};

TEST_P(EveryScheduleWithSteps, EqualsTheReferenceInBothPassesAndAnyOrder) {
  const AttentionProblem problem = problem_of(GetParam());
  ASSERT_EQ(validate(problem), std::nullopt);
  const AttentionInputs inputs = make_inputs(problem, {InputKind::gaussian, 7});
  const ForwardResult reference = naive_forward(problem, inputs);
  const Gradients gradients = naive_backward(problem, inputs, reference);
  for (const Algorithm& algorithm : algorithms()) {
    if (GetParam().sparse && !algorithm.takes_block_mask) continue;
    SCOPED_TRACE(algorithm.name);
    const test::ModelRequest request = request_for(GetParam(), algorithm.name);
    const auto result = simulate_numbers(request, inputs, {});
    ASSERT_TRUE(result.ok()) << result.error().message;
    const NumericResult& numbers = result.value();
    EXPECT_TRUE(is_near(numbers.output.O, reference.O, 1e-11));
    EXPECT_TRUE(is_near(numbers.output.LSE, reference.LSE, 1e-11));
    const auto shuffled =
        simulate_numbers(request, inputs, {.order = {BlockOrder::Kind::shuffled, 3}});
    ASSERT_TRUE(shuffled.ok());
    EXPECT_EQ(shuffled.value().output.O, numbers.output.O);
    if (!algorithm.has_backward) continue;

    EXPECT_TRUE(is_near(numbers.gradients->dQ, gradients.dQ, 1e-11));
    EXPECT_TRUE(is_near(numbers.gradients->dK, gradients.dK, 1e-11));
    EXPECT_TRUE(is_near(numbers.gradients->dV, gradients.dV, 1e-11));
    EXPECT_EQ(shuffled.value().gradients->dK, numbers.gradients->dK);
    EXPECT_EQ(shuffled.value().gradients->dV, numbers.gradients->dV);
    EXPECT_TRUE(is_near(shuffled.value().gradients->dQ, numbers.gradients->dQ, 1e-13));
  }
}

/// Counts the scores and the masks of every tile.
class TileVisits : public Observer {
 public:
  using Visits = std::map<std::pair<std::int32_t, std::int32_t>, int>;
  void begin_launch(std::string_view /*name*/, const TileGrid& /*grid*/) override {
    launches_.emplace_back();
  }
  void observe(std::span<const TileOp> ops) override {
    auto& [scores, masks] = launches_.back();
    for (const TileOp& op : ops) {
      const Tile& tile = op.dest_tiles[0];
      if (op.kind == OpKind::scores) ++scores[{tile.i, tile.j}];
      if (op.kind == OpKind::mask) ++masks[{tile.i, tile.j}];
    }
  }
  const std::vector<std::pair<Visits, Visits>>& launches() const { return launches_; }

 private:
  std::vector<std::pair<Visits, Visits>> launches_;
};

TEST_P(EveryScheduleWithSteps, VisitsTheTilesThatShowSomethingAndMasksTheirEdges) {
  AttentionProblem problem = problem_of(GetParam());
  problem.block_mask = nullptr;
  const Tiling& tiling = GetParam().tiling;
  const ScheduleOptions options{.heads_per_kv_head = problem.heads_per_kv_head(),
                                .score_steps = score_steps_of(problem)};
  for (Index b = 0; b < problem.batch; ++b) {
    TileVisits::Visits visible, cut;
    for (Index i = 0; i * tiling.Br < problem.N; ++i) {
      for (Index j = 0; j * tiling.Bc < problem.N_kv; ++j) {
        int seen = 0, hidden = 0;
        for (Index q = i * tiling.Br; q < std::min(problem.N, (i + 1) * tiling.Br); ++q) {
          for (Index k = j * tiling.Bc; k < std::min(problem.N_kv, (j + 1) * tiling.Bc); ++k) {
            (problem.attends(q, k, b) ? seen : hidden) += 1;
          }
        }
        if (seen > 0) visible[{static_cast<int>(i), static_cast<int>(j)}] = 1;
        if (seen > 0 && hidden > 0) cut[{static_cast<int>(i), static_cast<int>(j)}] = 1;
      }
    }
    for (const std::string_view name : {"flash1", "flash2"}) {
      TileVisits visits;
      Observer* const observers[] = {&visits};
      run_head(make_pass(*find_algorithm(name), PassKind::both, options),
               {problem, tiling, options, {}}, b, 0, observers);
      int launches_with_scores = 0;
      for (const auto& [scores, masks] : visits.launches()) {
        if (scores.empty() && !visible.empty()) continue;  // a launch over rows
        EXPECT_EQ(scores, visible) << name << " entry " << b;
        EXPECT_EQ(masks, cut) << name << " entry " << b;
        ++launches_with_scores;
      }
      EXPECT_GE(launches_with_scores, 2);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(FeaturesTilingsMasks, EveryScheduleWithSteps,
                         testing::ValuesIn(scored_cases()));

TEST(ScheduleGradients, EqualFiniteDifferencesUnderEveryStepMaskAndShape) {
  const Feature plain{"plain", {}, {}, {}, {}};
  const Feature steps{"steps", {1.5, {0.5, 0.25}, {0.3, 5}}, {}, {}, {}};
  const Feature padded{"padded", steps.score, {4, 0}, {}, {}};
  const Feature packed{"packed", steps.score, {}, {0, 2, 5}, {0, 4, 6}};
  for (const Feature& feature : {plain, steps, padded, packed}) {
    for (const Mask& mask : {Mask::causal(), Mask::window(2, 1)}) {
      const ScoredCase c{feature, {2, 2}, mask, {2, 1, 5, 6, 3}};
      const AttentionProblem problem = problem_of(c);
      const AttentionInputs inputs = make_inputs(problem, {InputKind::gaussian, 7});
      const HeadTensor dQ = test::finite_differences(problem, inputs, &AttentionInputs::Q);
      const HeadTensor dK = test::finite_differences(problem, inputs, &AttentionInputs::K);
      const HeadTensor dV = test::finite_differences(problem, inputs, &AttentionInputs::V);
      for (const Algorithm& algorithm : algorithms()) {
        if (!algorithm.has_backward) continue;
        const auto result = simulate_numbers(request_for(c, algorithm.name), inputs, {});
        ASSERT_TRUE(result.ok()) << result.error().message;
        const std::string name = fmt::format("{} {}", algorithm.name, feature.name);
        EXPECT_TRUE(is_near(result.value().gradients->dQ, dQ, 1e-8)) << name;
        EXPECT_TRUE(is_near(result.value().gradients->dK, dK, 1e-8)) << name;
        EXPECT_TRUE(is_near(result.value().gradients->dV, dV, 1e-8)) << name;
      }
    }
  }
}

TEST(TwoSweepSoftmax, EqualsTheReferenceUnderEveryStep) {
  ScoredCase c{features()[5], {16, 32}, Mask::causal(), {}};
  test::ModelRequest request = request_for(c, "standard");
  request.problem.N_kv = 300;
  request.problem.key_lengths = {300, 129, 0};
  request.gpu_description.shared_bytes_per_block = 1024;
  request.gpu_description.register_bytes_per_sm = 4096;
  const ScheduleOptions options =
      schedule_options(request.problem, ScheduleVariant{}, request.gpu_description);
  ASSERT_GT(options.softmax_panel_cols, 0);
  ASSERT_GT(options.gradient_panel_cols, 0);
  const AttentionInputs inputs = make_inputs(request.problem, {InputKind::gaussian, 7});
  const auto result = simulate_numbers(request, inputs, {});
  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_LE(result.value().O_error.max_abs_error, 1e-11);
  EXPECT_LE(result.value().dQ_error.max_abs_error, 1e-11);
  EXPECT_LE(result.value().dK_error.max_abs_error, 1e-11);
  EXPECT_LE(result.value().dV_error.max_abs_error, 1e-11);
}

TEST(StoragePrecision, StepsRoundedToBf16StayNearTheReference) {
  for (const Algorithm& algorithm : algorithms()) {
    ScoredCase c{features()[3], {16, 16}, Mask::causal(), {}};
    test::ModelRequest request = request_for(c, algorithm.name);
    request.problem.dtype = DType::bf16;
    request.pass = PassKind::forward;
    if (algorithm.carries_output) request.variant.carry = Carry::fp32;
    const AttentionInputs inputs = make_inputs(request.problem, {InputKind::gaussian, 11});
    const auto rounded = simulate_numbers(with_rounding(request), inputs);
    ASSERT_TRUE(rounded.ok());
    const ForwardResult reference = naive_forward(request.problem, inputs);
    const Tolerance tolerance = forward_tolerance(request.problem, inputs, reference);
    EXPECT_TRUE(within(rounded.value().O_error, tolerance)) << algorithm.name;
  }
}

}  // namespace
}  // namespace attnscope
