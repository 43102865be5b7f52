/// When a gap may be shown, and how a recording is shown alone.
#include "app/report/compare.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "app/report/comparison_report.h"
#include "app/report/report_text.h"
#include "tests/app/report/recorded_run.h"

namespace attnscope {
namespace {

using ::testing::HasSubstr;

/// Expects the recording without model, gap or reason, and `why` it is shown alone.
void expect_alone(const Comparison& comparison, std::string_view why) {
  EXPECT_THAT(comparison.stands_alone, HasSubstr(why));
  EXPECT_FALSE(comparison.lines.empty());
  for (const ComparisonLine& line : comparison.lines) {
    EXPECT_FALSE(line.modelled) << line.quantity;
    EXPECT_FALSE(line.gap_percent) << line.quantity;
    EXPECT_EQ(line.reason, "") << line.quantity;
  }
  EXPECT_TRUE(comparison.find(Level::time, "time")->recorded);
}

TEST(LikeWithLike, ADeterministicPassIsShownAloneBecauseTheModelHasNone) {
  const GpuDescription gpu = load_gpu("h200").value();
  RecordingRow row = agreeing_run("flash2", gpu, PassKind::backward);
  row.run.asked.deterministic = true;
  EXPECT_THAT(run_title(row.run), HasSubstr(", deterministic dQ"));
  expect_alone(compare(model_of(row, gpu), gpu, row, h200_device()), "dQ added in a fixed order");
}

TEST(LikeWithLike, AgentsMustBeThoseOfTheKernelsProgram) {
  const GpuDescription gpu = load_gpu("h200").value();
  RecordingRow row = agreeing_run("flash2", gpu);
  row.run.tiling = {192, 128};  // three consumers of 64 rows, two slots of K and V each
  SimulationReport model = model_of(row, gpu);
  const auto compared = [&](Index consumers, Index stages) {
    model.run.asked.variant.consumers = consumers;
    model.run.asked.variant.stages = stages;
    return compare(model, gpu, row, h200_device());
  };
  EXPECT_EQ(compared(0, 1).stands_alone, "");
  EXPECT_EQ(compared(3, 2).stands_alone, "");
  expect_alone(compared(2, 2), "no kernel runs flash2 with");
  expect_alone(compared(3, 4), "no kernel runs flash2 with");
}

TEST(LikeWithLike, AgentsOfABackwardPassMustBeThoseOfTheKernelsProgram) {
  const GpuDescription gpu = load_gpu("h200").value();
  const auto stands_alone = [&](Index d, const Tiling& tiling, Index consumers, Index stages) {
    RecordingRow row = agreeing_run("flash2", gpu, PassKind::backward);
    row.run.problem.d = d;
    row.run.tiling = tiling;
    SimulationReport model = model_of(row, gpu);
    model.run.asked.variant.consumers = consumers;
    model.run.asked.variant.stages = stages;
    return compare(model, gpu, row, h200_device()).stands_alone;
  };
  EXPECT_EQ(stands_alone(64, {128, 128}, 0, 1), "");
  EXPECT_EQ(stands_alone(64, {128, 128}, 2, 2), "");
  EXPECT_THAT(stands_alone(64, {128, 128}, 2, 1), HasSubstr("no kernel runs flash2 with"));
  EXPECT_THAT(stands_alone(64, {128, 128}, 1, 2), HasSubstr("no kernel runs flash2 with"));
  // The consumers of this program share the products
  EXPECT_THAT(stands_alone(256, {64, 64}, 2, 2), HasSubstr("no kernel runs flash2 with"));
}

TEST(LikeWithLike, AGapIsShownOnlyIfEverythingMatchesTheMeasurement) {
  const GpuDescription gpu = load_gpu("h200").value();
  const RecordingRow row = agreeing_run("flash1", gpu);
  const SimulationReport model = model_of(row, gpu);
  const auto with = [&](const auto& change) {
    SimulationReport changed = model;
    change(changed);
    return compare(changed, gpu, row, h200_device());
  };
  EXPECT_EQ(with([](SimulationReport&) {}).stands_alone, "");
  expect_alone(with([](SimulationReport& m) { m.run.problem.N = 512; }), "a different problem");
  expect_alone(with([](SimulationReport& m) { m.run.asked.algorithm = "flash2"; }),
               "recorded with flash1");
  expect_alone(with([](SimulationReport& m) { m.run.tiling = {64, 64}; }), "tiles of 128 x 64");
  expect_alone(with([](SimulationReport& m) { m.run.asked.variant.d_once = true; }),
               "no kernel runs flash1");
  expect_alone(with([](SimulationReport& m) { m.run.asked.pass = PassKind::backward; }),
               "forward pass");
  expect_alone(with([](SimulationReport& m) { m.run.asked.variant.carry = Carry::fp32; }),
               "the problem's type");
  expect_alone(with([](SimulationReport& m) { m.run.asked.deterministic = true; }),
               "a different setting of dQ");
  expect_alone(with([](SimulationReport& m) { m.run.query_heads_per_tile = 2; }), "query head");

  const GpuDescription t4 = load_gpu("t4").value();
  expect_alone(compare(model, t4, row, h200_device()),
               "recorded on NVIDIA H200, modelled for " + t4.display_name);
  expect_alone(
      compare(model, with_what_if(gpu, {.l2_bytes = 1'000'000}, "test"), row, h200_device()),
      "another SRAM or L2 size");
  MeasuredOn warm = h200_device();
  warm.cache = CacheState::warm;
  expect_alone(compare(model, gpu, row, warm), "warm L2 cache");
  RecordingRow other = row;
  other.run.asked.kernel = "flash1_warps";
  expect_alone(compare(model, gpu, other, h200_device()), "a different setting of Kernel");
  other = row;
  other.run.asked.switches["stages"] = "3";
  expect_alone(compare(model, gpu, other, h200_device()), "a different setting of Switches");
  SimulationReport same = model;
  same.run.asked.switches = other.run.asked.switches;  // no switch changes bytes
  EXPECT_EQ(compare(same, gpu, other, h200_device()).stands_alone, "");
  other = row;
  other.unidentified = "settings unknown to this version";
  expect_alone(compare(model, gpu, other, h200_device()), "unknown to this version");
  RecordingRow without_tiles = row;
  without_tiles.run.tiling = {0, 0};
  expect_alone(compare(model, gpu, without_tiles, h200_device()), "does not name its tiles");
}

TEST(LikeWithLike, ABrokenRunIsComparedWithNoRecording) {
  const GpuDescription gpu = load_gpu("h200").value();
  const RecordingRow row = agreeing_run("flash2", gpu);
  for (const char* broken : {"drop:forward:rescale:O", "drop:forward:11", "alpha=1"}) {
    SimulationReport model = model_of(row, gpu);
    model.run.asked.variant.broken = parse_run_break(broken).value();
    expect_alone(compare(model, gpu, row, h200_device()), "no kernel runs flash2 with");
  }
}

TEST(LikeWithLike, AKernelThatVisitsHiddenTilesIsComparedWithAModelThatDoes) {
  const GpuDescription gpu = load_gpu("h200").value();
  RecordingRow row = agreeing_run("flash2", gpu);
  const SimulationReport skipping = model_of(row, gpu);
  row.run.asked.variant.visit_hidden = true;
  expect_alone(compare(skipping, gpu, row, h200_device()), "a different setting of hidden tiles");
  EXPECT_EQ(compare(model_of(row, gpu), gpu, row, h200_device()).stands_alone, "");
}

TEST(LikeWithLike, TheOrderOfDQDoesNotDistinguishForwardPasses) {
  const GpuDescription gpu = load_gpu("h200").value();
  const RecordingRow row = agreeing_run("flash2", gpu);
  RunSpec asked = row.run.asked;
  asked.problem = row.run.problem;
  asked.set_tiling(row.run.tiling);
  asked.deterministic = true;
  const SimulationReport model = resolve_and_simulate(asked, gpu).value();
  EXPECT_EQ(difference(model, gpu, row, h200_device()).words, "");
}

/// Expects that a recording is compared with the program that it ran, in tiles in which a Hopper
/// GPU runs its own instructions, which older recordings may lack.
void expect_compared_by_program(PassKind pass, const Tiling& tiling) {
  const GpuDescription gpu = load_gpu("h200").value();
  RecordingRow row = recorded_run("flash2");
  row.run.asked.pass = pass;
  row.run.problem.d = 128;
  row.run.tiling = tiling;
  const SimulationReport unasked = model_of(row, gpu);
  row.measurement.emplace();
  row.measurement->counters = counters_of(unasked.requested, unasked.compulsory);
  row.measurement->instructions = "wgmma";
  EXPECT_EQ(compare(unasked, gpu, row, h200_device()).stands_alone, "");
  row.measurement->instructions = "mma.sync";
  expect_alone(compare(unasked, gpu, row, h200_device()),
               "recorded with the program using mma.sync, modelled for the one using Hopper's");
  const SimulationReport model = model_recorded_run(row, gpu).value();
  EXPECT_EQ(model.run.asked.switches.at("instructions"), "mma");
  EXPECT_EQ(compare(model, gpu, row, h200_device()).stands_alone, "");
  // The same run, recorded by this version, which names the switch
  RecordingRow named = row;
  named.run.asked.switches["instructions"] = "mma";
  EXPECT_EQ(compare(model, gpu, named, h200_device()).stands_alone, "");
  row.measurement->instructions = "wgmma";
  expect_alone(
      compare(model, gpu, row, h200_device()),
      "recorded with the program using Hopper's instructions, modelled for the one using mma");
  // Tiles with only one program leave nothing to distinguish
  row.run.tiling = {64, 64};
  row.measurement->instructions = "mma.sync";
  EXPECT_TRUE(model_recorded_run(row, gpu).value().run.asked.switches.empty());
}

TEST(LikeWithLike, ARunInOtherInstructionsIsComparedWithTheProgramThatItRan) {
  expect_compared_by_program(PassKind::backward, {64, 128});
  expect_compared_by_program(PassKind::forward, {128, 128});
}

TEST(LikeWithLike, RunsThatDifferHaveOtherTitles) {
  const RecordingRow row = recorded_run("flash2");
  const auto title_after = [&](const auto& change) {
    ResolvedRun run = row.run;
    change(run);
    return run_title(run);
  };
  std::set<std::string> titles = {
      run_title(row.run),
      title_after([](ResolvedRun& run) { run.asked.kernel = "flash2_hopper"; }),
      title_after([](ResolvedRun& run) { run.asked.switches["stages"] = "3"; }),
      title_after([](ResolvedRun& run) { run.asked.deterministic = true; }),
      title_after([](ResolvedRun& run) { run.asked.variant.visit_hidden = true; }),
      title_after([](ResolvedRun& run) { run.asked.inputs.seed = 5; }),
      title_after([](ResolvedRun& run) { run.files_hash = 5; }),
      title_after([](ResolvedRun& run) { run.problem.score.soft_cap = 30; }),
      title_after([](ResolvedRun& run) { run.problem.key_lengths = {100}; }),
      title_after([](ResolvedRun& run) {
        run.problem.cu_seqlens_q = {0, 500, 1024};
      })};
  EXPECT_EQ(titles.size(), 10U);
}

TEST(LikeWithLike, TheReportOfAnotherGpuHasNoGap) {
  Recording recording;
  recording.device = h200_device().device;
  const GpuDescription t4 = load_gpu("t4").value();
  const RecordingRow row = agreeing_run("flash2", load_gpu("h200").value());
  const std::string report =
      comparison_report(recording, t4, {model_and_compare(row, h200_device(), t4).value()});
  EXPECT_THAT(report, HasSubstr("no gap: recorded on NVIDIA H200, modelled for NVIDIA"));
  EXPECT_THAT(report, HasSubstr("| level | quantity | recorded on NVIDIA H200 |"));
  EXPECT_THAT(report, HasSubstr("each result once, unless it stays in L2 for a later launch"));
  EXPECT_THAT(report, testing::Not(HasSubstr(" %")));
  EXPECT_THAT(report, testing::Not(HasSubstr("thread blocks for")));
}

}  // namespace
}  // namespace attnscope
