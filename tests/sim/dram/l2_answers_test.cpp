/// L2's answers to the operations of a head: their sum is the traffic that is predicted for the
/// pass.

#include "sim/dram/l2_answers.h"

#include <gtest/gtest.h>

#include "sim/observers/traffic_counter.h"
#include "sim/simulation.h"
#include "tests/support/model_request.h"

namespace attnscope {
namespace {

test::ModelRequest l2_request(std::string algorithm, PassKind pass, Index heads = 1) {
  test::ModelRequest request;
  request.algorithm = std::move(algorithm);
  request.pass = pass;
  request.problem = {
      .heads = heads, .kv_heads = heads, .N = 1024, .N_kv = 1024, .d = 64, .dtype = DType::bf16};
  request.set_tiling({64, 64});
  request.gpu_description = load_gpu("h200").value();
  return request;
}

/// Adds up the answers to all operations of a head, and the bytes that the operations move.
class Sums : public Observer {
 public:
  explicit Sums(const L2Answers& answers) : answers_(answers) {}

  void begin_launch(std::string_view /*name*/, const TileGrid& grid) override {
    grid_ = &grid;
    ++launch_;
  }
  void begin_block(const BlockId& block) override {
    block_ = block.block;
    op_ = 0;
  }
  void observe(std::span<const TileOp> ops) override {
    for (const TileOp& op : ops) {
      const auto answer = answers_.find(static_cast<std::size_t>(launch_), block_, op_++);
      EXPECT_EQ(answer.has_value(), op.moves_bytes());
      if (!answer) continue;
      sum += *answer;
      moved += moved_bytes(op, *grid_);
      if (op.kind == OpKind::store) {
        EXPECT_EQ(answer->hit_bytes, answer->total());
      }
    }
  }

  L2Answer sum;
  Index moved = 0;

 private:
  const L2Answers& answers_;
  const TileGrid* grid_ = nullptr;
  int launch_ = -1;
  Index block_ = 0, op_ = 0;
};

struct L2Case {
  const char* algorithm;
  PassKind pass;
  Index l2_bytes;
};

class L2AnswersOf : public testing::TestWithParam<L2Case> {};

TEST_P(L2AnswersOf, AHeadAddUpToThePredictionOfThePass) {
  test::ModelRequest request = l2_request(GetParam().algorithm, GetParam().pass);
  request.gpu_description.l2_bytes = GetParam().l2_bytes;
  const GpuDescription& gpu = request.gpu_description;
  const ResolvedRun run = test::resolve(request).value();
  const std::size_t launches = test::simulate(request).value().launches.size();
  const BlockPlacement placement{std::vector<Index>(launches, 2), {BlockOrder::Kind::descending}};
  const DramPrediction prediction = predict_dram(run, gpu, placement).value();
  const L2Answers answers = answers_of_head(run, gpu, placement, 0, 0).value();
  EXPECT_FALSE(answers.are_of_another_head());

  const ScheduleOptions options = schedule_options(run, gpu);
  const Pass pass = make_pass(*find_algorithm(run.algorithm()), run.pass(), options);
  Sums sums(answers);
  Observer* const observers[] = {&sums};
  run_head(pass, {run.problem, run.tiling, options, {}}, 0, 0, observers);
  EXPECT_EQ(sums.sum.dram_bytes, prediction.total.read_bytes);
  EXPECT_EQ(sums.sum.dram_bytes + sums.sum.other_bytes, prediction.total_missed_bytes());
  EXPECT_EQ(sums.sum.total(), sums.moved);
  EXPECT_GT(sums.sum.hit_bytes, 0);
}

INSTANTIATE_TEST_SUITE_P(Passes, L2AnswersOf,
                         testing::Values(L2Case{"standard", PassKind::forward, 1 << 26},
                                         L2Case{"flash1", PassKind::forward, 1 << 26},
                                         L2Case{"flash1", PassKind::backward, 1 << 18},
                                         L2Case{"flash2", PassKind::forward, 1 << 26},
                                         L2Case{"flash2", PassKind::forward, 1 << 17},
                                         L2Case{"flash2", PassKind::backward, 1 << 26}));

TEST(L2Answers, TheFirstBlocksMissAndTheLaterOnesHit) {
  const test::ModelRequest request = l2_request("flash2", PassKind::forward);
  const ResolvedRun run = test::resolve(request).value();
  const GpuDescription& gpu = request.gpu_description;
  const L2Answers answers = answers_of_head(run, gpu, {{1}, {}}, 0, 0).value();
  constexpr Index kTileBytes = Index{64} * 64 * 2;
  // A block loads Qi first, then K0
  const L2Answer first = answers.find(0, 0, 0).value();
  EXPECT_EQ(first.dram_bytes, kTileBytes);
  Index from_dram = 0, hits = 0;
  for (Index block = 0; block < 16; ++block) {
    EXPECT_EQ(answers.find(0, block, 0).value().dram_bytes, kTileBytes) << "Q of block " << block;
    int loads = 0;
    for (Index op = 1; loads < 2; ++op) {
      const auto answer = answers.find(0, block, op);
      if (!answer) continue;
      ++loads;
      from_dram += answer->dram_bytes;
      hits += answer->hit_bytes;
    }
  }
  EXPECT_GT(from_dram, 0);
  EXPECT_LE(from_dram, 2 * kTileBytes);  // K0 and V0, once for all blocks
  EXPECT_GT(hits, 8 * kTileBytes);
  EXPECT_FALSE(answers.find(0, 16, 0));
  EXPECT_FALSE(answers.find(1, 0, 0));
}

TEST(L2Answers, AFollowedHeadStandsForOneOfTheManyAfterIt) {
  test::ModelRequest request = l2_request("flash2", PassKind::forward, 4096);
  const ResolvedRun run = test::resolve(request).value();
  const auto of = [&](Index head) {
    return answers_of_head(run, request.gpu_description, {{2}, {}}, 0, head).value();
  };
  EXPECT_FALSE(of(0).are_of_another_head());
  const L2Answers last = of(4095);
  EXPECT_TRUE(last.are_of_another_head());
  EXPECT_TRUE(last.find(0, 0, 0));
}

TEST(L2Answers, AreNotGivenForWhatIsTooLargeOrCancelled) {
  const ResolvedRun run = test::resolve(l2_request("flash2", PassKind::forward)).value();
  const GpuDescription gpu = load_gpu("h200").value();
  const auto none = answers_of_head(run, gpu, {{1}, {}}, 0, 0, 100);
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().code, ErrorCode::too_many);
  const std::atomic<bool> cancel = true;
  const auto ended = answers_of_head(run, gpu, {{1}, {}}, 0, 0, kMostTransfers, &cancel);
  ASSERT_FALSE(ended.ok());
  EXPECT_EQ(ended.error().code, ErrorCode::cancelled);
}

}  // namespace
}  // namespace attnscope
