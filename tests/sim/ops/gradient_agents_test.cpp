/// The backward pass as agents: the numbers are those of the reference, traffic and operations are
/// those of one sequence, deadlocks name the agents, and consumers share keys.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "sim/studies/break_effect.h"
#include "tests/sim/ops/agents_cases.h"
#include "tests/support/listed_block_mask.h"
#include "tests/support/tensor_assertions.h"

namespace attnscope {
namespace {

using test::agents_request, test::agents_stream, test::AgentsStream;

std::vector<AttentionProblem> problems() {
  std::vector<AttentionProblem> all = test::agents_problems();
  AttentionProblem listed{.N = 80, .N_kv = 110, .d = 8};
  listed.block_mask =
      test::listed_block_mask({12, 24}, 5, {{0, 2}, {0}, {0, 2, 4}, {}, {2, 3, 4}, {1}, {0, 4}});
  all.push_back(listed);
  return all;
}

test::ModelRequest request_for(const AttentionProblem& problem, Index consumers, Index stages,
                               PassKind pass = PassKind::backward) {
  test::ModelRequest request = agents_request(problem, consumers, stages, pass);
  request.set_tiling({12, 24});
  if (problem.block_mask) request.algorithm = "block_sparse2";
  return request;
}

TEST(GradientAgents, ComputeWhatTheReferenceDoes) {
  for (const AttentionProblem& problem : problems()) {
    const AttentionInputs inputs = make_inputs(problem, {InputKind::gaussian, 7});
    const Gradients reference = naive_backward(problem, inputs, naive_forward(problem, inputs));
    for (Index consumers = 1; consumers <= kMaxConsumers; ++consumers) {
      for (Index stages = 1; stages <= kMaxStages; ++stages) {
        const auto result =
            simulate_numbers(request_for(problem, consumers, stages, PassKind::both), inputs, {});
        ASSERT_TRUE(result.ok()) << result.error().message;
        const Gradients& gradients = *result.value().gradients;
        SCOPED_TRACE(fmt::format("{} {} {}", consumers, stages, to_string(problem.mask)));
        EXPECT_TRUE(test::is_near(gradients.dQ, reference.dQ, 1e-12));
        EXPECT_TRUE(test::is_near(gradients.dK, reference.dK, 1e-12));
        EXPECT_TRUE(test::is_near(gradients.dV, reference.dV, 1e-12));
      }
    }
  }
}

TEST(GradientAgents, MoveTheBytesAndMultiplyAsOneSequenceOfOperations) {
  for (const AttentionProblem& problem : problems()) {
    const SimulationReport one = simulate(request_for(problem, 0, 1)).value();
    for (Index consumers = 1; consumers <= kMaxConsumers; ++consumers) {
      const SimulationReport agents = simulate(request_for(problem, consumers, 1)).value();
      SCOPED_TRACE(fmt::format("{} {}", consumers, to_string(problem.mask)));
      EXPECT_EQ(agents.by_tensor, one.by_tensor);
      EXPECT_EQ(agents.requested.atomic_bytes, one.requested.atomic_bytes);
      EXPECT_GT(agents.requested.atomic_bytes, 0);
      EXPECT_EQ(agents.matmul_flops, one.matmul_flops);
      EXPECT_EQ(agents.non_matmul_flops, one.non_matmul_flops);
      EXPECT_EQ(agents.peak_hbm_bytes, one.peak_hbm_bytes);
      EXPECT_EQ(agents.sram_bytes_per_block, one.sram_bytes_per_block);
      EXPECT_EQ(agents.register_bytes_per_block, one.register_bytes_per_block);
    }
  }
}

TEST(GradientAgents, TakeMemoryForEachStage) {
  const AttentionProblem problem{.N = 20, .N_kv = 30, .d = 8, .dtype = DType::fp16};
  for (Index stages = 1; stages <= kMaxStages; ++stages) {
    const SimulationReport report = simulate(request_for(problem, 2, stages)).value();
    // K_j, V_j and P; then Q_i, dO_i and dS of each stage
    EXPECT_EQ(report.sram_bytes_per_block,
              2 * (2 * 24 * 8 + 12 * 24 + stages * (2 * 12 * 8 + 12 * 24)));
    // S, dP, dK_j, dV_j and dQ_i; then LSE_i and D_i of each stage
    EXPECT_EQ(report.register_bytes_per_block,
              4 * (2 * 12 * 24 + 2 * 24 * 8 + 12 * 8 + stages * 2 * 12));
  }
}

TEST(GradientAgents, HaveTheirOwnTasks) {
  const AttentionProblem problem{.N = 80, .N_kv = 110, .d = 8, .mask = Mask::causal()};
  const AgentsStream first = agents_stream(request_for(problem, 2, 2));
  EXPECT_EQ(first.listed, agents_stream(request_for(problem, 2, 2)).listed);
  EXPECT_TRUE(first.stuck.empty());
  const auto agents_with = [&](std::string_view part) {
    std::set<std::string> agents;
    for (const std::string& op : first.listed) {
      for (const char* agent :
           {"producer", "statistics loader", "consumer 0", "consumer 1", "dQ adder"}) {
        if (op.find(part) != op.npos && op.find(agent) != op.npos) agents.insert(agent);
      }
    }
    return agents;
  };
  using testing::ElementsAre;
  EXPECT_THAT(agents_with("load           Q"), ElementsAre("producer"));
  EXPECT_THAT(agents_with("load           dO"), ElementsAre("producer"));
  EXPECT_THAT(agents_with("load           K"), ElementsAre("producer"));
  EXPECT_THAT(agents_with("load           LSE"), ElementsAre("statistics loader"));
  EXPECT_THAT(agents_with("load           D"), ElementsAre("statistics loader"));
  EXPECT_THAT(agents_with("scores"), ElementsAre("consumer 0", "consumer 1"));
  EXPECT_THAT(agents_with("atomic_add"), ElementsAre("dQ adder"));
}

/// What each agent waits for when line `line` of "backward" lacks an operation.
std::vector<std::string> stuck_without(int line, std::string_view kind, std::string_view tensor) {
  test::ModelRequest request = request_for({.N = 54, .N_kv = 24, .d = 8}, 2, 2);
  request.variant.broken.dropped = {
      .launch = "backward", .line = line, .kind = std::string(kind), .tensor = std::string(tensor)};
  const AgentsStream stream = agents_stream(request);
  request.variant.broken = {};
  EXPECT_EQ(stream.listed.size(), agents_stream(request).listed.size());
  return stream.stuck;
}

TEST(GradientAgents, WithoutAnArrivalWaitForEachOtherByName) {
  using testing::ElementsAre;
  EXPECT_THAT(stuck_without(5, "arrive", "LSE"),
              ElementsAre("producer waits until both consumers have read Q₀ in buffer 1 (phase 0).",
                          "statistics loader waits until both consumers have read LSE₀ and D₀ in "
                          "buffer 1 (phase 0).",
                          "dQ adder waits until both consumers have written dQ (fp32)₀ in buffer 1 "
                          "(phase 0).",
                          "consumer 0 waits until LSE₀ and D₀ are in buffer 1 (phase 0).",
                          "consumer 1 waits until LSE₀ and D₀ are in buffer 1 (phase 0)."));
  EXPECT_THAT(
      stuck_without(0, "arrive", "dS"),
      testing::Contains(
          "consumer 0 waits until both consumers have written dS₀₀ in buffer 1 (phase 0)."));
  EXPECT_THAT(
      stuck_without(0, "arrive", "dQ_accum"),
      testing::Contains(
          "dQ adder waits until both consumers have written dQ (fp32)₀ in buffer 1 (phase 0)."));
}

TEST(GradientAgents, WithoutAWaitComputeWithWhatIsNotThere) {
  test::ModelRequest request = request_for({.N = 54, .N_kv = 24, .d = 8}, 2, 2);
  // A consumer multiplies dS before the other consumer has written its part of dS
  request.variant.broken.dropped = {
      .launch = "backward", .kind = "wait", .tensor = "dS", .only = Occurrence{0, 0}};
  const auto effect =
      break_effect({.run = test::resolve(request).value(), .gpu = request.gpu_description});
  ASSERT_TRUE(effect.ok()) << effect.error().message;
  EXPECT_FALSE(effect.value().deadlock);
  const auto& results = effect.value().results;
  ASSERT_EQ(results[0].tensor, Tensor::dQ);
  EXPECT_TRUE(std::isinf(results[0].by_row[0])) << "the rows of consumer 0 sum over all keys";
  EXPECT_EQ(results[0].by_row[9], 0) << "those of consumer 1 do, too, but it has waited";
  EXPECT_EQ(results[1].deviation.largest(), 0) << "dK needs only the consumer's own keys";
}

TEST(GradientAgents, OneOfWhichIsWrongMakeItsKeysWrong) {
  test::ModelRequest request = request_for({.N = 12, .N_kv = 48, .d = 8}, 2, 2);
  request.variant.broken.dropped = {.launch = "backward",
                                    .kind = "accumulate_transposed",
                                    .tensor = "dV",
                                    .only = Occurrence{1, 1}};  // the operation of consumer 1
  const auto effect =
      break_effect({.run = test::resolve(request).value(), .gpu = request.gpu_description});
  ASSERT_TRUE(effect.ok()) << effect.error().message;
  const std::vector<double>& by_row = effect.value().results[2].by_row;
  EXPECT_EQ(by_row[24], 0);
  EXPECT_GT(by_row[36], 0);
  const auto tiles = deviations_at(effect.value(), Tensor::dV, true, 2, 1, 100000);
  EXPECT_FALSE(tiles[0].is_wrong());
  ASSERT_EQ(tiles[1].by_row.size(), 24U);
  EXPECT_EQ(tiles[1].by_row[11], 0);
  EXPECT_GT(tiles[1].by_row[12], 0);
}

TEST(GradientAgents, AreRefusedWhereTheyCannotShareAColumnTile) {
  test::ModelRequest request = request_for({.N = 80, .N_kv = 80, .d = 8}, 3, 1);
  request.set_tiling({24, 16});
  const auto refused = test::resolve(request);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().field, "Bc");
  request.Br.reset();
  request.Bc.reset();
  const auto run = test::resolve(request);
  ASSERT_TRUE(run.ok()) << run.error().message;
  EXPECT_EQ(run.value().tiling.Bc % 3, 0);
}

}  // namespace
}  // namespace attnscope
