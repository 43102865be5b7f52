/// The record of a block's work: the bytes before its first step, and the steps that each consumer
/// masks or leaves out.
#include "sim/time/block_work.h"

#include <gtest/gtest.h>

#include "sim/simulation.h"

namespace attnscope {
namespace {

/// The blocks of the forward pass of flash2 with 192 x 128 tiles.
std::vector<BlockWork> recorded(Index N, Mask mask, Index consumers) {
  RunSpec spec{.algorithm = "flash2", .allow_overflow = true};
  spec.problem = {.N = N, .N_kv = N, .mask = mask};
  spec.set_tiling({192, 128});
  const GpuDescription gpu = load_gpu("h200").value();
  const ResolvedRun run = resolve_and_simulate(spec, gpu).value().run;
  const PassRun pass_run{run.problem, run.tiling, schedule_options(run, gpu), {}};
  const Pass pass = make_head_pass(*find_algorithm("flash2"), run.pass(), pass_run.options);
  BlockWorkRecorder recorder(consumers);
  Observer* const observers[] = {&recorder};
  run_head(pass, pass_run, 0, 0, observers);
  return recorder.launches().front();
}

TEST(BlockWork, HasTheBytesBeforeTheFirstStep) {
  const BlockWork work = recorded(384, Mask::none(), 1).front();
  EXPECT_EQ(work.steps, 3);
  EXPECT_EQ(work.query_bytes, 192 * 64 * 2);
  EXPECT_GE(work.first_bytes, work.query_bytes + 128 * 64 * 2);
  EXPECT_EQ(work.read_bytes, (192 + 2 * 384) * 64 * 2);
}

TEST(BlockWork, CountsMaskedStepsOfWholeTiles) {
  const auto blocks = recorded(384, Mask::causal(), 1);
  ASSERT_EQ(blocks.size(), 2U);
  EXPECT_EQ(blocks[0].masked_steps, 2);
  EXPECT_EQ(blocks[1].masked_steps, 2);
  EXPECT_EQ(blocks[0].left_out + blocks[1].left_out, 0);
}

TEST(BlockWork, CountsWhatEachConsumerMasksAndLeavesOut) {
  const auto blocks = recorded(384, Mask::causal(), 3);
  ASSERT_EQ(blocks.size(), 2U);
  // Rows 0 to 63 and 64 to 127 see keys of the first tile only, rows 128 to 191 those of two
  EXPECT_EQ(blocks[0].steps, 2);
  EXPECT_EQ(blocks[0].left_out, 2);
  EXPECT_EQ(blocks[1].steps, 3);
  EXPECT_EQ(blocks[1].left_out, 1);
  // Each consumer masks the tile on its diagonal
  EXPECT_DOUBLE_EQ(blocks[0].masked_steps, 1);
  EXPECT_DOUBLE_EQ(blocks[1].masked_steps, 1);
}

TEST(BlockWork, ConsumersWithoutRowsLeaveOutEveryStep) {
  const auto blocks = recorded(320, Mask::none(), 3);
  ASSERT_EQ(blocks.size(), 2U);
  EXPECT_EQ(blocks[0].left_out, 0);
  EXPECT_EQ(blocks[1].steps, 3);
  EXPECT_EQ(blocks[1].left_out, 3);
  // The last tile has 64 keys: every consumer with rows masks the others
  EXPECT_DOUBLE_EQ(blocks[0].masked_steps, 1);
  EXPECT_NEAR(blocks[1].masked_steps, 2.0 / 3, 1e-12);
}

TEST(BlockWork, ConsumersSeeTheKeysOfTheirBatchEntry) {
  RunSpec spec{.algorithm = "flash2"};
  spec.problem = {.batch = 2, .N = 64, .N_kv = 512, .d = 64, .key_lengths = {300, 512}};
  spec.set_tiling({64, 64});
  const GpuDescription gpu = load_gpu("h200").value();
  const ResolvedRun run = resolve_and_simulate(spec, gpu).value().run;
  const PassRun pass_run{run.problem, run.tiling, schedule_options(run, gpu), {}};
  const Pass pass = make_head_pass(*find_algorithm("flash2"), PassKind::forward, pass_run.options);
  const auto work_of_entry = [&](Index batch) {
    BlockWorkRecorder recorder(/*consumers=*/2);
    Observer* const observers[] = {&recorder};
    run_head(pass, pass_run, batch, 0, observers);
    return recorder.launches().at(0).at(0);
  };
  EXPECT_EQ(work_of_entry(0).steps, 5);
  EXPECT_EQ(work_of_entry(0).masked_steps, 1);
  EXPECT_EQ(work_of_entry(1).steps, 8);
  EXPECT_EQ(work_of_entry(1).masked_steps, 0);
  EXPECT_EQ(work_of_entry(1).left_out, 0);
}

/// Expects the same work whether equal tiles are counted once or each runs.
void expect_counted_as_run(const std::string& algorithm, PassKind kind, const Mask& mask,
                           Index consumers) {
  RunSpec spec{.algorithm = algorithm, .pass = kind, .allow_overflow = true};
  spec.problem = {.batch = 2, .N = 1500, .N_kv = 1700, .mask = mask, .key_lengths = {1700, 900}};
  spec.set_tiling({96, 32});
  const GpuDescription gpu = load_gpu("h200").value();
  const ResolvedRun run = resolve_and_simulate(spec, gpu).value().run;
  const PassRun pass_run{run.problem, run.tiling, schedule_options(run, gpu), {}};
  const Pass pass = make_head_pass(*find_algorithm(algorithm), kind, pass_run.options);
  for (Index batch = 0; batch < 2; ++batch) {
    BlockWorkRecorder ran(consumers), counted(consumers);
    Observer* const observers[] = {&ran};
    run_head(pass, pass_run, batch, 0, observers);
    CountingObserver* const counters[] = {&counted};
    count_blocks(pass, pass_run, batch, 0, counters);
    EXPECT_EQ(ran.launches(), counted.launches()) << "batch entry " << batch;
  }
}

TEST(BlockWork, IsTheSameIfEqualTilesAreCountedOnce) {
  for (const char* algorithm : {"standard", "flash1", "flash2"}) {
    for (const PassKind kind : {PassKind::forward, PassKind::backward}) {
      for (const Mask& mask : {Mask::none(), Mask::causal(), Mask::window(500, 20)}) {
        for (const Index consumers : {1, 2, 3}) {
          SCOPED_TRACE(testing::Message()
                       << algorithm << ", backward " << (kind != PassKind::forward) << ", "
                       << consumers << " consumers");
          expect_counted_as_run(algorithm, kind, mask, consumers);
        }
      }
    }
  }
}

}  // namespace
}  // namespace attnscope
