/// "Run on GPU" on a GPU that echoes its inputs (tests/support/echo_gpu.cpp).
#include "app/jobs/gpu_runner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/scene/scene.h"
#include "reference/npy.h"
#include "tests/support/temp_dir.h"
#include "tests/support/wait_until.h"

namespace attnscope::app {
namespace {

using testing::HasSubstr;

class GpuRunnerTest : public testing::Test {
 protected:
  void SetUp() override {
    runner_.emplace(std::function<void()>{});
    ASSERT_TRUE(
        test::wait_until([&] { return runner_->status().state != GpuRunner::State::opening; }));
    ASSERT_EQ(runner_->status().state, GpuRunner::State::idle) << runner_->status().reason;
  }

  RecordingRow measured(const RunSpec& choice) {
    runner_->run(choice);
    std::vector<MeasuredRun> results;
    EXPECT_TRUE(test::wait_until([&] {
      results = runner_->take_results();
      return !results.empty();
    }));
    return results.empty() ? RecordingRow{} : results.front().row;
  }

  std::optional<GpuRunner> runner_;
};

TEST_F(GpuRunnerTest, RunsOnTheFilesOfTheScene) {
  const test::TempDir folder;
  RunSpec choice = load_scene("default").value().view.choice;
  const Index shape[] = {1, 1, choice.problem.N, choice.problem.d};
  const std::string path = folder.file("q.npy");
  std::vector<double> Q(static_cast<std::size_t>(choice.problem.N * choice.problem.d), 0.25);
  ASSERT_FALSE(write_npy(path, shape, Q));
  choice.files.Q = path;
  const RecordingRow row = measured(choice);
  ASSERT_FALSE(row.error) << row.error->message;
  EXPECT_NE(row.run.files_hash, 0u);
  EXPECT_EQ(row.measurement->time.min_s, 0.25);  // the echoed first value of Q

  choice.files.Q = folder.file("gone.npy");
  ASSERT_TRUE(measured(choice).error);
  EXPECT_THAT(measured(choice).error->message, HasSubstr("gone.npy"));
}

TEST_F(GpuRunnerTest, RefusesWhatNoKernelRunsAndNamesTheField) {
  const auto refused_field = [&](const RunSpec& choice) {
    const RecordingRow row = measured(choice);
    EXPECT_TRUE(row.error);
    EXPECT_EQ(row.run.asked, choice);
    return row.error ? row.error->field : "";
  };
  const RunSpec plain = load_scene("default").value().view.choice;
  EXPECT_FALSE(measured(plain).error);
  RunSpec choice = plain;
  choice.pass = PassKind::both;
  EXPECT_EQ(refused_field(choice), "pass");
  choice = plain;
  choice.algorithm = "split_kv";
  choice.splits = 3;
  EXPECT_EQ(refused_field(choice), "splits");
  choice.splits.reset();
  choice.set_tiling({24, 128});
  EXPECT_EQ(refused_field(choice), "Br") << "its tiles have 16 rows";
  choice.set_tiling({16, 128});
  const RecordingRow decoding = measured(choice);
  EXPECT_FALSE(decoding.error) << decoding.error->message;
  choice = plain;
  choice.algorithm = "standard";
  choice.variant.fusion = Fusion::pairs;
  EXPECT_EQ(refused_field(choice), "fusion");
}

TEST_F(GpuRunnerTest, AKernelThatIsBeingCompiledCanBeCancelled) {
  RunSpec choice = load_scene("default").value().view.choice;
  choice.inputs.seed = 13;  // the echo's compiler waits for it
  runner_->run(choice);
  EXPECT_EQ(runner_->status().state, GpuRunner::State::running);
  runner_->cancel();
  EXPECT_TRUE(test::wait_until([&] { return runner_->status().state == GpuRunner::State::idle; }));
  EXPECT_TRUE(runner_->take_results().empty());

  choice.inputs.seed = 14;
  EXPECT_FALSE(measured(choice).error) << "the next run is not cancelled";
  EXPECT_EQ(runner_->status().compiled, runner_->status().kernels);
  EXPECT_GT(runner_->status().kernels, 0);
}

TEST_F(GpuRunnerTest, RunsWaitForTheOnesBeforeThem) {
  const RunSpec plain = load_scene("default").value().view.choice;
  RunSpec held = plain;
  held.inputs.seed = 13;  // the echo's compiler waits until it is cancelled
  runner_->run(held);
  for (const Index N : {32, 64, 96}) {
    RunSpec next = plain;
    next.problem.N = next.problem.N_kv = N;
    runner_->run(next);
  }
  EXPECT_TRUE(test::wait_until([&] { return runner_->status().waiting == 3; }));
  EXPECT_EQ(runner_->status().state, GpuRunner::State::running);
  runner_->cancel();
  std::vector<Index> measured;
  EXPECT_TRUE(test::wait_until([&] {
    for (const MeasuredRun& run : runner_->take_results()) {
      EXPECT_FALSE(run.row.error);
      measured.push_back(run.row.run.problem.N);
    }
    return runner_->status().state == GpuRunner::State::idle && measured.size() == 3;
  }));
  EXPECT_EQ(measured, (std::vector<Index>{32, 64, 96}));
  EXPECT_EQ(runner_->status().waiting, 0);
}

}  // namespace
}  // namespace attnscope::app
