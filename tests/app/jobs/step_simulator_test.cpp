#include "app/jobs/step_simulator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "app/scene/scene.h"
#include "sim/device/assets.h"
#include "sim/schedule/breaks.h"
#include "sim/snapshot/describe_op.h"
#include "sim/studies/break_effect.h"

namespace attnscope::app {
namespace {

constexpr Index kLastStep = Index{1} << 30;

/// The snapshot of a step of the choice's run for head `head`; by default of the last step.
std::shared_ptr<const Snapshot> step_of(const RunSpec& choice, Index head, Index step = kLastStep) {
  StepSimulator simulator(std::make_shared<GpuCatalog>());
  WorkControl control;
  const auto snapshot = simulator({choice, head, step, 0, 0}, control);
  EXPECT_TRUE(snapshot.ok()) << snapshot.error().message;
  return snapshot ? snapshot.value() : nullptr;
}

std::optional<Error> check(const RunSpec& choice) {
  GpuCatalog gpus;
  return check_choice(choice, gpus);
}

RunSpec grouped_decoding() {
  RunSpec choice = load_scene("split-kv").value().view.choice;
  choice.problem.heads = 4;
  choice.problem.kv_heads = 2;
  choice.problem.N = 3;
  return choice;
}

/// The first `rows` rows of O of head `head`, after the last step.
std::vector<double> outputs_of(const RunSpec& choice, Index head, Index rows) {
  StepSimulator simulator(std::make_shared<GpuCatalog>());
  WorkControl control;
  std::vector<double> outputs;
  for (Index row = 0; row < rows; ++row) {
    for (Index column = 0; column < choice.problem.d; ++column) {
      const auto snapshot = simulator({choice, head, kLastStep, row, column}, control);
      if (!snapshot || !snapshot.value()->softmax_row.O) {
        ADD_FAILURE() << "row " << row << ", column " << column;
        return outputs;
      }
      outputs.push_back(*snapshot.value()->softmax_row.O);
    }
  }
  return outputs;
}

std::vector<double> joined(std::vector<double> first, const std::vector<double>& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

TEST(StepSimulator, AGroupOfQueryHeadsIsOneTileWithTheSameRows) {
  RunSpec choice = grouped_decoding();
  const auto packed = step_of(choice, 3);
  const std::vector<double> outputs = outputs_of(choice, 3, 6);
  choice.separate_heads = true;
  const auto second = step_of(choice, 2);
  const auto third = step_of(choice, 3);
  ASSERT_TRUE(packed && second && third);
  EXPECT_EQ(packed->run->problem().N, 6);
  EXPECT_EQ(packed->run->head, 1);
  EXPECT_EQ(third->run->problem().N, 3);
  const auto same = [](const std::vector<double>& values) {
    return testing::Pointwise(testing::DoubleNear(1e-12), values);
  };
  const auto scores = [](const auto& step) { return step->run->scores(Tensor::S).values.values; };
  EXPECT_THAT(scores(packed), same(joined(scores(second), scores(third))));
  EXPECT_THAT(outputs, same(joined(outputs_of(choice, 2, 3), outputs_of(choice, 3, 3))));
}

TEST(StepSimulator, RunsTheSplitsThatWereChosen) {
  RunSpec choice = grouped_decoding();
  for (const Index splits : {1, 3, 16}) {
    choice.splits = splits;
    EXPECT_EQ(step_of(choice, 0)->run->resolved().splits, splits);
  }
  choice.splits = 17;
  ASSERT_TRUE(check(choice));
  EXPECT_THAT(check(choice)->message, testing::HasSubstr("at most 16 splits"));
}

TEST(StepSimulator, VariantsMoveTheirBytes) {
  RunSpec choice = load_scene("standard-64").value().view.choice;
  const auto requested = [&] { return step_of(choice, 0)->run->totals.requested.total(); };
  const Index rows = requested();
  choice.variant.fusion = Fusion::separate;
  EXPECT_GT(requested(), rows);
  choice = load_scene("flash1-64").value().view.choice;
  const Index paper = requested();
  choice.variant.skip_first_reads = true;
  EXPECT_LT(requested(), paper);
  choice.variant.checkpoint = true;
  EXPECT_TRUE(check(choice));
}

TEST(StepSimulator, ASmallerSharedMemoryRefusesWhatNoLongerFits) {
  RunSpec choice = load_scene("default").value().view.choice;
  EXPECT_FALSE(check(choice));
  choice.what_if.sram_bytes = 1024;
  ASSERT_TRUE(check(choice));
  EXPECT_THAT(check(choice)->message, testing::HasSubstr("does not fit"));
}

TEST(StepSimulator, CountsAnOverflowOnRequest) {
  RunSpec choice = load_scene("default").value().view.choice;
  choice.what_if.sram_bytes = 1024;
  choice.allow_overflow = true;
  EXPECT_FALSE(check(choice));
  const auto snapshot = step_of(choice, 0);
  const auto& totals = snapshot->run->totals;
  EXPECT_FALSE(totals.fits);
  EXPECT_GT(totals.sram_bytes_per_block, 1024);
}

TEST(StepSimulator, ASmallerL2SendsMoreToDram) {
  RunSpec choice = load_scene("standard-64").value().view.choice;
  const auto dram = [&] { return step_of(choice, 0)->run->totals.compulsory.read_bytes; };
  const Index kept = dram();
  choice.what_if.l2_bytes = 1;
  EXPECT_GT(dram(), kept);
}

TEST(StepSimulator, ReadsTheDescriptionOfAGpuOnce) {
  const std::filesystem::path file = testing::TempDir() + "attnscope_once.json";
  std::filesystem::copy_file(std::filesystem::path(find_asset("gpus", "t4").value()), file,
                             std::filesystem::copy_options::overwrite_existing);
  GpuCatalog gpus;
  RunSpec choice = load_scene("default").value().view.choice;
  choice.gpu = file.string();
  choice.what_if.sram_bytes = 49152;
  const Result<GpuDescription> first = gpus.gpu_of(choice);
  ASSERT_TRUE(first) << first.error().message;
  std::filesystem::remove(file);
  choice.what_if.sram_bytes.reset();
  const Result<GpuDescription> again = gpus.gpu_of(choice);
  ASSERT_TRUE(again);
  EXPECT_EQ(first.value().shared_bytes_per_block, 49152);
  EXPECT_EQ(again.value().shared_bytes_per_block, load_gpu("t4").value().shared_bytes_per_block);
  choice.gpu = "no-such-gpu";
  EXPECT_EQ(gpus.gpu_of(choice).error().field, "gpu");
}

TEST(StepSimulator, TilesOfARuleAreThoseThatTheRunHas) {
  GpuCatalog gpus;
  RunSpec choice = load_scene("default").value().view.choice;
  const auto largest = tiling_of_rule(choice, TilingRule::largest, gpus);
  ASSERT_TRUE(largest);
  choice.set_tiling({largest->Br + 16, largest->Bc + 16});
  EXPECT_TRUE(check_choice(choice, gpus));
  choice.set_tiling(*largest);
  EXPECT_FALSE(check_choice(choice, gpus));
  EXPECT_TRUE(tiling_of_rule(choice, TilingRule::kernel, gpus));
  choice.variant.fusion = Fusion::pairs;
  EXPECT_FALSE(tiling_of_rule(choice, TilingRule::kernel, gpus));
}

TEST(StepSimulator, RoundsWhereAKernelRoundsUnlessTurnedOff) {
  RunSpec choice = load_scene("default").value().view.choice;
  constexpr Index kFirstRowsAreDivided = 40;
  const auto error = [&] {
    return step_of(choice, 0, kFirstRowsAreDivided)->softmax_row.error.value();
  };
  EXPECT_GT(error(), 1e-6);
  choice.round_to_storage = false;
  EXPECT_LT(error(), 1e-12);
}

TEST(StepSimulator, ABrokenRunShowsWhatItsBreakChanges) {
  RunSpec choice = load_scene("default").value().view.choice;
  EXPECT_EQ(step_of(choice, 0)->effect, nullptr);
  const RunSpec right = choice;
  choice.variant.broken = parse_run_break("drop:forward:rescale:O").value();
  const auto last = step_of(choice, 0);
  ASSERT_TRUE(last && last->effect);
  EXPECT_TRUE(last->effect->changes_result());
  EXPECT_EQ(last->effect->step_count, last->run->step_count) << "steps are those of the run";
  const Index dropped = last->effect->first_skipped->step;
  const auto skipped = step_of(choice, 0, dropped);
  EXPECT_TRUE(skipped->op.skipped);
  EXPECT_EQ(skipped->what, step_of(right, 0, dropped)->what) << "the operation, dropped or not";
  EXPECT_EQ(dropped_prefix(skipped->op), "Dropped: ");
  choice.problem.N = choice.problem.N_kv = 4096;
  EXPECT_EQ(step_of(choice, 0)->effect, nullptr) << "too large to show values";
}

TEST(StepSimulator, EveryBreakOfEveryPassCanBeStepped) {
  RunSpec choice = load_scene("default").value().view.choice;
  choice.problem.N = choice.problem.N_kv = 20;
  choice.problem.d = 4;
  choice.set_tiling({8, 8});
  choice.allow_overflow = true;
  StepSimulator simulator(std::make_shared<GpuCatalog>());
  WorkControl control;
  Index steps = 0;
  for (const char* algorithm : {"standard", "flash1", "flash2"}) {
    for (const bool stale : {false, true}) {
      choice.algorithm = algorithm;
      choice.pass = PassKind::both;
      choice.variant.broken = {};
      choice.stale_memory = stale;
      const auto whole = step_of(choice, 0);
      const RunInfo& run = *whole->run;
      const auto operations =
          operations_of(run.pass, {run.problem(), run.tiling(), run.options, {}});
      for (const PassOperation& each : operations) {
        choice.variant.broken = break_of(each, run.pass, operations);
        for (Index step = run.step_count - 1; step >= -1; step -= 11) {
          const auto snapshot = simulator({choice, 0, step, 19, 0}, control);
          ASSERT_TRUE(snapshot) << snapshot.error().message;
          ++steps;
        }
      }
    }
  }
  EXPECT_GT(steps, 1000);
}

}  // namespace
}  // namespace attnscope::app
