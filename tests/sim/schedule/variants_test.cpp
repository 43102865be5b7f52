/// The variants of standard attention and flash1: numbers equal to the reference, bytes equal to
/// closed forms.

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "sim/simulation.h"
#include "tests/support/model_request.h"
#include "tests/support/tensor_assertions.h"

namespace attnscope {
namespace {

using test::is_near;

struct Variant {
  std::string_view algorithm;
  ScheduleVariant variant;
};

std::vector<Variant> variants() {
  std::vector<Variant> all;
  for (const Fusion fusion : {Fusion::separate, Fusion::figure2, Fusion::pairs, Fusion::rows}) {
    for (const bool checkpoint : {false, true}) {
      all.push_back({"standard", {.fusion = fusion, .checkpoint = checkpoint}});
    }
  }
  for (const bool skip : {false, true}) {
    for (const bool d_once : {false, true}) {
      all.push_back({"flash1", {.skip_first_reads = skip, .d_once = d_once}});
    }
  }
  // Product tiles that cut d = 8 into parts of 3, 3 and 2 columns
  all.push_back(
      {"standard", {.product_tiles = {{20, 7}, {30, 3}, {11, 3}, {9, 50}, {16, 5}, {0, 3}}}});
  all.push_back({"flash2", {.stages = 2}});
  for (const Index consumers : {1, 2, 3}) {
    all.push_back({"flash2", {.stages = 1 + consumers, .consumers = consumers}});
  }
  all.push_back({"flash2", {.stages = 1, .consumers = 2}});
  all.push_back({"flash2", {.visit_hidden = true}});
  return all;
}

test::ModelRequest request_for(const Variant& variant, const AttentionProblem& problem,
                               PassKind pass) {
  return {{.problem = problem,
           .algorithm = std::string(variant.algorithm),
           .pass = pass,
           .Br = variant.variant.consumers == 3 ? 18 : 16,  // divided equally
           .Bc = 24,
           .variant = variant.variant,
           .allow_overflow = true},
          load_gpu("h200").value()};
}

class EveryVariant : public testing::TestWithParam<Variant> {};

TEST_P(EveryVariant, EqualsTheReferenceInBothPasses) {
  const Mask masks[] = {Mask::none(), Mask::causal(), Mask::causal(Mask::Alignment::top_left),
                        Mask::window(5, 3), Mask::window(0, 0)};
  for (const Mask& mask : masks) {
    for (const auto& [N, N_kv] : {std::pair<Index, Index>{64, 64}, {37, 90}, {90, 37}, {1, 33}}) {
      AttentionProblem problem{.heads = 2,
                               .kv_heads = 1,
                               .N = N,
                               .N_kv = N_kv,
                               .d = 8,
                               .dtype = DType::fp32,
                               .mask = mask};
      problem.score.dropout = {N == 64 ? 0.3 : 0.0, 5};
      if (N == 37) problem.key_lengths = {50};
      const AttentionInputs inputs = make_inputs(problem, {InputKind::gaussian, 7});
      const auto result =
          simulate_numbers(request_for(GetParam(), problem, PassKind::both), inputs, {});
      ASSERT_TRUE(result.ok()) << result.error().message;
      const ForwardResult forward = naive_forward(problem, inputs);
      const Gradients gradients = naive_backward(problem, inputs, forward);
      EXPECT_TRUE(is_near(result.value().output.O, forward.O, 1e-10)) << to_string(mask);
      EXPECT_TRUE(is_near(result.value().gradients->dQ, gradients.dQ, 1e-10)) << to_string(mask);
      EXPECT_TRUE(is_near(result.value().gradients->dK, gradients.dK, 1e-10)) << to_string(mask);
      EXPECT_TRUE(is_near(result.value().gradients->dV, gradients.dV, 1e-10)) << to_string(mask);
    }
  }
}

TEST_P(EveryVariant, KeepsTheMatrixProductsButWhatCheckpointingRunsAgain) {
  const AttentionProblem problem{.N = 100, .N_kv = 70, .d = 16};
  const SimulationReport report =
      simulate(request_for(GetParam(), problem, PassKind::both)).value();
  const bool standard = GetParam().algorithm == "standard";
  const Index products = (standard ? 6 : 7) + (GetParam().variant.checkpoint ? 2 : 0);
  EXPECT_EQ(report.matmul_flops, products * 2 * 100 * 70 * 16);
}

INSTANTIATE_TEST_SUITE_P(Both, EveryVariant, testing::ValuesIn(variants()), [](const auto& test) {
  const ScheduleVariant& variant = test.param.variant;
  return fmt::format("{}_{}_{}{}{}{}{}{}{}", test.param.algorithm, to_string(variant.fusion),
                     variant.stages, variant.checkpoint ? "_checkpoint" : "",
                     variant.skip_first_reads ? "_skip" : "", variant.d_once ? "_d_once" : "",
                     variant.product_tiles == ProductTiles{} ? "" : "_product_tiles",
                     variant.visit_hidden ? "_hidden" : "",
                     variant.consumers > 0 ? "_by_agents" : "");
});

/// Each product reads B H N N_kv d e (1 / rows + 1 / cols) bytes: each tile of its result reads a
/// row panel of one operand and a column panel of the other.
TEST(ProductTilesOfStandard, DecideHowOftenOperandsAreRead) {
  const AttentionProblem problem{.heads = 2, .N = 96, .N_kv = 192, .d = 48, .dtype = DType::fp16};
  const ProductTiles tiles{{48, 64}, {32, 16}, {64, 24}, {24, 96}, {96, 12}, {96, 48}};
  const Variant variant{"standard", {.product_tiles = tiles}};
  const auto read_bytes = [&](PassKind pass, std::string_view name) {
    const SimulationReport report = simulate(request_for(variant, problem, pass)).value();
    for (const LaunchReport& launch : report.launches) {
      if (launch.name == name) return launch.requested.read_bytes;
    }
    return Index{-1};
  };
  struct Product {
    std::string_view launch;
    PassKind pass;
    Index rows, cols, depth;  // sizes of the result, length of the sum
    ProductTile tile;
  };
  const Product products[] = {{"scores", PassKind::forward, 96, 192, 48, tiles.S},
                              {"output", PassKind::forward, 96, 48, 192, tiles.O},
                              {"dV", PassKind::backward, 192, 48, 96, tiles.dV},
                              {"dP", PassKind::backward, 96, 192, 48, tiles.dP},
                              {"dQ", PassKind::backward, 96, 48, 192, tiles.dQ},
                              {"dK", PassKind::backward, 192, 48, 96, tiles.dK}};
  for (const Product& p : products) {
    const Index row_panels = p.rows / p.tile.rows;
    const Index col_panels = p.cols / p.tile.cols;
    const Index elements = p.rows * p.depth * col_panels + p.cols * p.depth * row_panels;
    EXPECT_EQ(read_bytes(p.pass, p.launch), 2 * 2 * elements) << p.launch;
  }
}

TEST(HiddenTiles, CostWhatTheyWouldWithoutAMask) {
  const auto visiting = [](bool hidden, const Mask& mask, PassKind pass) {
    const AttentionProblem problem{.heads = 2, .N = 100, .N_kv = 170, .d = 16, .mask = mask};
    const Variant variant{"flash2", {.visit_hidden = hidden}};
    return simulate(request_for(variant, problem, pass)).value();
  };
  for (const PassKind pass : {PassKind::forward, PassKind::backward}) {
    const SimulationReport all = visiting(false, Mask::none(), pass);
    for (const Mask& mask : {Mask::causal(), Mask::window(20, 3)}) {
      const SimulationReport hidden = visiting(true, mask, pass);
      EXPECT_EQ(hidden.requested, all.requested) << to_string(mask);
      EXPECT_EQ(hidden.matmul_flops, all.matmul_flops) << to_string(mask);
      EXPECT_LT(visiting(false, mask, pass).matmul_flops, all.matmul_flops) << to_string(mask);
    }
  }
}

TEST(HiddenTiles, OfPaddingAreNotVisited) {
  AttentionProblem problem{.N = 64, .N_kv = 240, .d = 16, .mask = Mask::causal()};
  problem.key_lengths = {72};  // three column tiles of 24
  AttentionProblem shorter = problem;
  shorter.N_kv = 72;
  shorter.key_lengths.clear();
  const Variant variant{"flash2", {.visit_hidden = true}};
  for (const PassKind pass : {PassKind::forward, PassKind::backward}) {
    EXPECT_EQ(simulate(request_for(variant, problem, pass)).value().matmul_flops,
              simulate(request_for(variant, shorter, pass)).value().matmul_flops);
  }
}

TEST(Stages, TakeSharedMemoryAndMoveNoBytes) {
  const AttentionProblem problem{.N = 100, .N_kv = 200, .d = 16, .mask = Mask::causal()};
  const auto report = [&](Index stages) {
    const Variant variant{"flash2", {.stages = stages}};
    return simulate(request_for(variant, problem, PassKind::forward)).value();
  };
  const SimulationReport one = report(1);
  const SimulationReport two = report(2);
  EXPECT_EQ(two.by_tensor, one.by_tensor);
  EXPECT_EQ(two.tile_ops, one.tile_ops);
  EXPECT_EQ(two.register_bytes_per_block, one.register_bytes_per_block);
  // K_j and V_j of 24 keys, 16 columns and 2 bytes
  EXPECT_EQ(two.sram_bytes_per_block - one.sram_bytes_per_block, 2 * 24 * 16 * 2);
}

/// The passes over the N x N_kv scores in the paper's accounting, in halves of a pass.
struct Passes {
  Fusion fusion;
  Index forward, backward;
};

TEST(StandardVariants, EachLaunchLessSavesItsPassesOverTheScores) {
  const AttentionProblem problem{.batch = 2,
                                 .heads = 3,
                                 .kv_heads = 3,
                                 .N = 100,
                                 .N_kv = 100,
                                 .d = 16,
                                 .dtype = DType::fp16,
                                 .mask = Mask::causal()};
  const Index scores = Index{6} * 100 * 100 * 2;
  const Index matrix = Index{6} * 100 * 16 * 2;
  for (const auto& [fusion, forward, backward] :
       {Passes{Fusion::separate, 8, 11}, Passes{Fusion::figure2, 6, 7}, Passes{Fusion::pairs, 6, 9},
        Passes{Fusion::rows, 4, 7}}) {
    const Variant variant{"standard", {.fusion = fusion}};
    const auto bytes = [&](PassKind pass) {
      return simulate(request_for(variant, problem, pass)).value().paper.total();
    };
    EXPECT_EQ(bytes(PassKind::forward), forward * scores + 4 * matrix) << to_string(fusion);
    EXPECT_EQ(bytes(PassKind::backward), backward * scores + 8 * matrix) << to_string(fusion);
  }
}

TEST(StandardVariants, SeparateDropoutMovesPTwiceAndAByteForEachElementEachWay) {
  AttentionProblem problem{.N = 100, .N_kv = 100, .d = 16, .dtype = DType::fp16};
  const Index scores = Index{100} * 100 * 2;
  for (const Fusion fusion : {Fusion::separate, Fusion::figure2}) {
    const Variant variant{"standard", {.fusion = fusion}};
    const auto bytes = [&](PassKind pass, double probability) {
      problem.score.dropout.probability = probability;
      return simulate(request_for(variant, problem, pass)).value().paper.total();
    };
    for (const PassKind pass : {PassKind::forward, PassKind::backward}) {
      EXPECT_EQ(bytes(pass, 0.1) - bytes(pass, 0), 5 * scores / 2) << to_string(fusion);
    }
  }
}

TEST(StandardVariants, CheckpointingAddsAForwardPassToTheBackwardPass) {
  const AttentionProblem problem{.N = 100, .N_kv = 70, .d = 16, .mask = Mask::causal()};
  for (const Fusion fusion : {Fusion::separate, Fusion::rows}) {
    const auto report = [&](PassKind pass, bool checkpoint) {
      const Variant variant{"standard", {.fusion = fusion, .checkpoint = checkpoint}};
      return simulate(request_for(variant, problem, pass)).value();
    };
    const SimulationReport forward = report(PassKind::forward, true);
    Bytes expected = report(PassKind::backward, false).requested;
    expected += forward.requested;
    EXPECT_EQ(report(PassKind::backward, true).requested, expected);
    EXPECT_EQ(forward.requested, report(PassKind::forward, false).requested);
  }
}

TEST(Flash1Variants, SaveWhatTheyNoLongerMove) {
  const AttentionProblem problem{.N = 100, .N_kv = 70, .d = 16, .dtype = DType::fp16};
  const Index Tc = ceil_div(70, 24);
  const Index Nd = Index{100} * 16 * 2;
  const Index row_numbers = Index{100} * 4;
  const auto read = [&](PassKind pass, const ScheduleVariant& variant) {
    return simulate(request_for({"flash1", variant}, problem, pass)).value().requested.read_bytes;
  };
  const ScheduleVariant skip{.skip_first_reads = true};
  const ScheduleVariant d_once{.d_once = true};
  EXPECT_EQ(read(PassKind::forward, {}) - read(PassKind::forward, skip), Nd + 2 * row_numbers);
  EXPECT_EQ(read(PassKind::backward, {}) - read(PassKind::backward, skip), Nd);
  // With d_once, O and dO are read once and D in every sweep; without it, O in every sweep
  EXPECT_EQ(read(PassKind::backward, {}) - read(PassKind::backward, d_once),
            Tc * Nd - 2 * Nd - Tc * row_numbers);
  EXPECT_EQ(read(PassKind::forward, {}), read(PassKind::forward, d_once));
}

TEST(Variants, RefuseScoreFunctionsThatHaveNoLaunchOfTheirOwn) {
  AttentionProblem problem{.N = 16, .N_kv = 16, .d = 16};
  problem.score.soft_cap = 30;
  const Variant separate{"standard", {.fusion = Fusion::separate}};
  EXPECT_FALSE(simulate(request_for(separate, problem, PassKind::forward)).ok());
  EXPECT_TRUE(simulate(request_for({"standard", {}}, problem, PassKind::forward)).ok());
}

TEST(Variants, AreRefusedForAlgorithmsThatLackThem) {
  const AttentionProblem problem{.N = 16, .N_kv = 16, .d = 16};
  const Variant wrong[] = {{"flash2", {.fusion = Fusion::pairs}},
                           {"flash1", {.checkpoint = true}},
                           {"standard", {.d_once = true}},
                           {"flash2", {.skip_first_reads = true}}};
  for (const Variant& variant : wrong) {
    const auto report = simulate(request_for(variant, problem, PassKind::forward));
    ASSERT_FALSE(report.ok());
    EXPECT_EQ(report.error().kind, Error::Kind::invalid_request);
  }
}

}  // namespace
}  // namespace attnscope
