/// The forward pass as a producer and consumers equals the reference; its traffic is that of one
/// sequence of operations, its order is the same on every run, and deadlocks name the agents.

#include <gtest/gtest.h>

#include "sim/studies/break_effect.h"
#include "tests/sim/ops/agents_cases.h"
#include "tests/support/tensor_assertions.h"

namespace attnscope {
namespace {

using test::agents_problems, test::agents_request, test::agents_stream, test::AgentsStream;

TEST(Agents, ComputeWhatTheReferenceDoes) {
  for (const AttentionProblem& problem : agents_problems()) {
    const AttentionInputs inputs = make_inputs(problem, {InputKind::gaussian, 7});
    const ForwardResult reference = naive_forward(problem, inputs);
    for (Index consumers = 1; consumers <= kMaxConsumers; ++consumers) {
      for (Index stages = 1; stages <= kMaxStages; ++stages) {
        const auto result =
            simulate_numbers(agents_request(problem, consumers, stages), inputs, {});
        ASSERT_TRUE(result.ok()) << result.error().message;
        EXPECT_TRUE(test::is_near(result.value().output.O, reference.O, 1e-12))
            << consumers << " " << stages << " " << to_string(problem.mask);
        EXPECT_TRUE(test::is_near(result.value().output.LSE, reference.LSE, 1e-12));
      }
    }
  }
}

TEST(Agents, MoveTheBytesOfOneSequenceOfOperations) {
  for (const AttentionProblem& problem : agents_problems()) {
    for (Index consumers = 1; consumers <= kMaxConsumers; ++consumers) {
      const SimulationReport one = simulate(agents_request(problem, 0, 2)).value();
      const SimulationReport agents = simulate(agents_request(problem, consumers, 2)).value();
      EXPECT_EQ(agents.by_tensor, one.by_tensor) << consumers << " " << to_string(problem.mask);
      EXPECT_EQ(agents.matmul_flops, one.matmul_flops);
      EXPECT_EQ(agents.non_matmul_flops > 0, one.non_matmul_flops > 0);
      EXPECT_EQ(agents.sram_bytes_per_block, one.sram_bytes_per_block);
      EXPECT_EQ(agents.register_bytes_per_block, one.register_bytes_per_block);
      EXPECT_EQ(agents.peak_hbm_bytes, one.peak_hbm_bytes);
    }
  }
}

TEST(Agents, TakeSharedMemoryForEachStage) {
  const AttentionProblem problem{.N = 80, .N_kv = 110, .d = 8, .dtype = DType::fp16};
  const auto sram = [&](Index stages) {
    return simulate(agents_request(problem, 3, stages)).value().sram_bytes_per_block;
  };
  // Q_i and P, then K_j and V_j of each stage
  for (Index stages = 1; stages <= kMaxStages; ++stages) {
    EXPECT_EQ(sram(stages), 2 * (24 * 8 + 24 * 16 + stages * 2 * 16 * 8));
  }
}

TEST(Agents, TakeTurnsInTheSameOrderOnEveryRun) {
  const AttentionProblem problem{.N = 80, .N_kv = 110, .d = 8, .mask = Mask::causal()};
  const AgentsStream first = agents_stream(agents_request(problem, 2, 2));
  EXPECT_EQ(first.listed, agents_stream(agents_request(problem, 2, 2)).listed);
  EXPECT_TRUE(first.stuck.empty());
  const auto of = [&](std::string_view agent) {
    return std::ranges::count_if(first.listed,
                                 [&](const std::string& op) { return op.find(agent) != op.npos; });
  };
  EXPECT_GT(of("producer"), 0);
  EXPECT_EQ(of("consumer 0") + of("consumer 1") + of("producer"), std::ssize(first.listed));
}

TEST(Agents, WithoutAnArrivalWaitForEachOtherByName) {
  const AttentionProblem problem{.N = 24, .N_kv = 64, .d = 8};
  test::ModelRequest request = agents_request(problem, 2, 2);
  const std::size_t operations = agents_stream(request).listed.size();

  // Consumer 1 never signals that it has read K_0
  request.variant.broken.dropped = {
      .launch = "forward", .line = 6, .kind = "arrive", .tensor = "K", .only = Occurrence{0, 4}};
  const AgentsStream released = agents_stream(request);
  EXPECT_EQ(released.stuck,
            (std::vector<std::string>{
                "producer waits until both consumers have read K₀ in buffer 1 (phase 0).",
                "consumer 0 waits until K₂ is in buffer 1 (phase 1).",
                "consumer 1 waits until K₂ is in buffer 1 (phase 1)."}));
  EXPECT_EQ(released.listed.size(), operations) << "operations that are not reached are listed";

  // The producer never signals that V has arrived
  request.variant.broken.dropped = {
      .launch = "forward", .line = 5, .kind = "arrive", .tensor = "V"};
  EXPECT_EQ(agents_stream(request).stuck,
            (std::vector<std::string>{
                "producer waits until both consumers have read V₀ in buffer 1 (phase 0).",
                "consumer 0 waits until V₀ is in buffer 1 (phase 0).",
                "consumer 1 waits until V₀ is in buffer 1 (phase 0)."}));
}

TEST(Agents, InADeadlockLeaveTheirResultsUnwritten) {
  const AttentionProblem problem{.N = 48, .N_kv = 64, .d = 8};
  test::ModelRequest request = agents_request(problem, 2, 2);
  request.variant.broken.dropped = {
      .launch = "forward", .line = 6, .kind = "arrive", .tensor = "K", .only = Occurrence{1, 0}};
  const auto effect =
      break_effect({.run = test::resolve(request).value(), .gpu = request.gpu_description});
  ASSERT_TRUE(effect.ok()) << effect.error().message;
  ASSERT_TRUE(effect.value().deadlock);
  EXPECT_EQ(effect.value().deadlock->block, 1);
  EXPECT_EQ(effect.value().deadlock->stuck.size(), 3U);
  EXPECT_EQ(effect.value().skipped_count, 1);
  const std::vector<double>& by_row = effect.value().results[0].by_row;
  EXPECT_EQ(by_row[0], 0) << "the other thread block goes on";
  EXPECT_TRUE(std::isinf(by_row[24]));
  const auto tiles = deviations_at(effect.value(), Tensor::O, true, 2, 1, 1000);
  EXPECT_FALSE(tiles[0].is_wrong());
  EXPECT_TRUE(tiles[1].has_nan);
}

TEST(Agents, OneOfWhichIsWrongMakeTheRowTileWrong) {
  test::ModelRequest request = agents_request({.N = 24, .N_kv = 64, .d = 8}, 2, 2);
  request.variant.broken.dropped = {.launch = "forward",
                                    .kind = "normalize",
                                    .tensor = "O",
                                    .only = Occurrence{0, 0}};  // the operation of consumer 0
  const auto effect =
      break_effect({.run = test::resolve(request).value(), .gpu = request.gpu_description});
  ASSERT_TRUE(effect.ok()) << effect.error().message;
  const std::vector<double>& by_row = effect.value().results[0].by_row;
  EXPECT_GT(by_row[0], 0);
  EXPECT_EQ(by_row[12], 0);
  EXPECT_TRUE(deviations_at(effect.value(), Tensor::O, true, 1, 1, 1000)[0].is_wrong());
}

TEST(Agents, AreRefusedWhereTheyCannotShareARowTile) {
  test::ModelRequest request = agents_request({.N = 80, .N_kv = 80, .d = 8}, 3, 1);
  request.set_tiling({16, 16});
  const auto refused = test::resolve(request);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().field, "Br");
  request.Br.reset();
  request.Bc.reset();
  const auto run = test::resolve(request);
  ASSERT_TRUE(run.ok()) << run.error().message;
  EXPECT_EQ(run.value().tiling.Br % 48, 0) << "the default tiling is one that they can share";
}

}  // namespace
}  // namespace attnscope
