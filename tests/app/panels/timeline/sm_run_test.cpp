/// Timelines of a run on the SMs: the model's beside a recorded one.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "app/panels/timeline/timeline.h"
#include "app/report/kernel_dram.h"
#include "app/report/kernel_time.h"
#include "app/report/measured_trace.h"
#include "kernels/compile/block_program.h"
#include "sim/device/assets.h"
#include "tests/app/panels/sample_snapshot.h"

namespace attnscope::app {
namespace {

SmRunKey key_of(const test::SampleRequest& request, bool other = false) {
  return {test::sample_run(request)->info(), request.pass, other};
}

TEST(SmRun, OfTheSameProblemHasTheSameBlocksPredictedAndRecorded) {
  const auto found = find_sm_run(key_of({}));
  ASSERT_TRUE(found.ok()) << found.error().message;
  ASSERT_TRUE(found.value().pair);
  const SmRunPair& pair = *found.value().pair;
  EXPECT_TRUE(pair.same_run);
  EXPECT_NE(pair.kind, UpperRun::lower_bound);
  ASSERT_TRUE(pair.trace);
  for (const SmRun* run : {&pair.upper, &pair.recorded}) {
    ASSERT_EQ(run->blocks.size(), 4u);
    for (const SmBlock& block : run->blocks) {
      EXPECT_GE(block.begin_ps, 0);
      EXPECT_LT(block.begin_ps, block.end_ps);
      EXPECT_LE(block.end_ps, run->end_ps);
      EXPECT_EQ(run->find({block.batch, block.head, block.block}), &block);
    }
  }
  for (const SmBlock& block : pair.recorded.blocks) EXPECT_FALSE(block.steps.empty());
  for (const SmBlock& block : pair.upper.blocks) {
    EXPECT_LT(block.begin_ps, block.first_step_ps);
    EXPECT_LT(block.first_step_ps, block.last_step_end_ps);
    EXPECT_LE(block.last_step_end_ps, block.end_ps);
  }
  EXPECT_EQ(pair.upper.find({0, 0, 4}), nullptr);
  const std::string words = compare_block(pair, {0, 0, 3});
  for (const char* part : {"block 3 of head 0: predicted on SM ", "; recorded on SM ", " to "}) {
    EXPECT_NE(words.find(part), std::string::npos) << words;
  }
  EXPECT_NE(sm_headings(pair).front().find("cold L2"), std::string::npos);
  EXPECT_NE(sm_headings(pair).front().find("warm L2, slowed "), std::string::npos)
      << "the traced pass took more than 1.1 times as long";
  for (const std::string& heading : sm_headings(pair)) {
    EXPECT_TRUE(heading.starts_with("4 of 132 SMs busy · ")) << heading;
  }
}

TEST(SmRun, SaysHowManySmsAreBusyInEachRunIfTheyDiffer) {
  SmRunPair pair{.sm_count = 8};
  for (const Index sm : {1, 1, 5, 7}) pair.upper.blocks.push_back({.sm = sm});
  EXPECT_EQ(busy_sms_text(pair), "3 of 8 SMs busy") << "two blocks share an SM";
  pair.trace.emplace();
  pair.recorded.blocks.push_back({.sm = 0});
  EXPECT_EQ(busy_sms_text(pair), "SMs busy: 3 lower bound, 1 recorded, of 8");
}

TEST(SmRun, OfAnyProblemOfACalibratedGpuIsPredicted) {
  test::SampleRequest request;
  request.problem.heads = request.problem.kv_heads = 80;
  request.problem.N = request.problem.N_kv = 1024;
  request.problem.d = 64;
  request.set_tiling({128, 128});
  const SmRunKey key = key_of(request);
  const auto found = find_sm_run(key);
  ASSERT_TRUE(found.ok()) << found.error().message;
  ASSERT_TRUE(found.value().pair);
  const SmRunPair& pair = *found.value().pair;
  EXPECT_EQ(pair.kind, UpperRun::calibrated);
  EXPECT_TRUE(pair.same_run);
  EXPECT_FALSE(pair.trace);
  EXPECT_EQ(pair.launch, "forward");
  EXPECT_EQ(pair.upper.blocks.size(), 8U * 80U);
  EXPECT_EQ(pair.sm_count, 132);
  EXPECT_FALSE(found.value().offers.empty());

  // The upper run takes the predicted time without the overhead
  SimulationReport report = key.run->totals;
  predict_kernel_dram(report, key.run->gpu);
  predict_kernel_time(report, key.run->gpu);
  const LaunchTime& launch = report.time.value().launches.front();
  const double overhead_s = launch.parts[static_cast<std::size_t>(TimePart::overhead)];
  EXPECT_NEAR(static_cast<double>(pair.upper.end_ps) * 1e-12, launch.seconds - overhead_s, 1e-11);
}

TEST(SmRun, OfAnotherProblemIsShownOnlyWhenAskedAndSaysWhatItIsOf) {
  test::SampleRequest request;
  request.problem.N = request.problem.N_kv = 96;
  const auto found = find_sm_run(key_of(request));
  ASSERT_TRUE(found.ok()) << found.error().message;
  EXPECT_FALSE(found.value().pair->trace);
  EXPECT_EQ(found.value().why_none, "No trace of this problem was recorded.");
  ASSERT_FALSE(found.value().offers.empty());
  for (const std::string& offer : found.value().offers) {
    EXPECT_TRUE(offer.starts_with("N = 1,024, d = 64")) << offer;
  }

  const auto asked = find_sm_run(key_of(request, true));
  ASSERT_TRUE(asked.ok()) << asked.error().message;
  ASSERT_TRUE(asked.value().pair);
  const SmRunPair& other = *asked.value().pair;
  EXPECT_FALSE(other.same_run);
  EXPECT_EQ(other.trace->run.algorithm(), "flash2");
  EXPECT_EQ(other.trace->run.pass(), PassKind::forward);
  for (const char* part : {"Not the run on the screen", "N 1024", "d 64", "NVIDIA H200"}) {
    EXPECT_NE(other_label(other).find(part), std::string::npos) << part;
  }
}

TEST(SmRun, OfAVariantAnotherGpuOrOtherTilesIsNotShownUnasked) {
  test::SampleRequest variant;
  variant.algorithm = "flash1";
  variant.pass = PassKind::backward;
  ASSERT_TRUE(find_sm_run(key_of(variant)).value().pair);
  variant.variant.d_once = true;
  const auto of_variant = find_sm_run(key_of(variant));
  ASSERT_TRUE(of_variant.ok());
  EXPECT_FALSE(of_variant.value().pair->trace);
  EXPECT_NE(of_variant.value().why_none.find("D once"), std::string::npos);

  SmRunKey elsewhere = key_of({});
  auto info = std::make_shared<RunInfo>(*elsewhere.run);
  info->gpu = load_gpu("t4").value();
  elsewhere.run = info;
  const auto of_t4 = find_sm_run(elsewhere);
  ASSERT_TRUE(of_t4.ok());
  EXPECT_FALSE(of_t4.value().pair);
  EXPECT_NE(of_t4.value().why_none.find("recorded on NVIDIA H200, modelled for"),
            std::string::npos);

  test::SampleRequest tiles;
  tiles.set_tiling({32, 32});
  EXPECT_FALSE(find_sm_run(key_of(tiles)).value().pair->trace);
}

TEST(SmRun, OfAnAlgorithmWithoutATraceIsUnavailable) {
  test::SampleRequest request;
  request.algorithm = "standard";
  const auto none = find_sm_run(key_of(request));
  ASSERT_FALSE(none.ok());
  EXPECT_NE(none.error().message.find("no recorded trace of standard forward"), std::string::npos);
  EXPECT_EQ(none.error().message.find("trace --measured"), std::string::npos) << "it has no trace";
}

TEST(SmRun, EveryShippedTraceCanBeModelled) {
  const std::vector<std::string> names = list_assets(kTracesFolder);
  ASSERT_FALSE(names.empty());
  for (const std::string& name : names) {
    SCOPED_TRACE(name);
    const auto trace = read_kernel_trace(find_asset(kTracesFolder, name).value());
    ASSERT_TRUE(trace.ok()) << trace.error().message;
    EXPECT_FALSE(trace.value().header.build.local_changes);
    const auto modelled = lower_bound_run(trace.value(), load_gpu("h200").value());
    ASSERT_TRUE(modelled.ok()) << modelled.error().message;
    EXPECT_EQ(modelled.value().blocks.size(), trace.value().blocks.size());
  }
}

KernelTrace shipped_trace(std::string_view name) {
  const auto trace = read_kernel_trace(find_asset(kTracesFolder, name).value());
  EXPECT_TRUE(trace.ok()) << trace.error().message;
  return trace.value();
}

TEST(SmRun, ATraceOfARunThatIsNotModelledHasNoPrediction) {
  KernelTrace trace = shipped_trace("flash2-backward-1024");
  const auto predicted = lay_out(trace, "a trace");
  ASSERT_TRUE(predicted.ok()) << predicted.error().message;
  EXPECT_NE(predicted.value().kind, UpperRun::lower_bound);
  trace.run.asked.deterministic = true;
  const auto bound = lay_out(trace, "a trace");
  ASSERT_TRUE(bound.ok()) << bound.error().message;
  EXPECT_EQ(bound.value().kind, UpperRun::lower_bound);
  EXPECT_EQ(bound.value().recorded.blocks.size(), trace.blocks.size());
}

/// The traced program is mma.sync's, though the run has no switch that says so.
TEST(SmRun, ATraceIsModelledWithTheProgramThatItNames) {
  KernelTrace trace = shipped_trace("flash2-forward-1024");
  const auto end_ps = [&](std::string_view instructions, const std::string& value) {
    trace.instructions = instructions;
    trace.run.asked.switches.clear();
    if (!value.empty()) trace.run.asked.switches = {{"instructions", value}};
    const auto pair = lay_out(trace, "a trace");
    EXPECT_TRUE(pair.ok()) << pair.error().message;
    EXPECT_NE(pair.value().kind, UpperRun::lower_bound);
    return pair.value().upper.end_ps;
  };
  const Index on_mma = end_ps("", "mma");
  EXPECT_EQ(end_ps(kernels::kTensorCores, ""), on_mma);
  EXPECT_NE(end_ps(kernels::kHopper, ""), on_mma);
}

TEST(SmRun, AnOfferedTraceNamesItsChoices) {
  KernelTrace trace = shipped_trace("flash2-backward-1024");
  trace.run.asked.deterministic = true;
  trace.run.asked.switches = {{"instructions", "mma"}};
  EXPECT_NE(offers(trace).front().find("deterministic dQ, instructions=mma"), std::string::npos)
      << offers(trace).front();
}

TEST(SmRun, RecordedMLAndAlphaAreTheModels) {
  const auto found = find_sm_run(key_of({}));
  ASSERT_TRUE(found.ok()) << found.error().message;
  ASSERT_TRUE(found.value().pair);
  const SmRunPair& pair = *found.value().pair;
  const auto run = test::sample_run({});
  int compared = 0;
  for (double fraction = 0.0; fraction <= 1.0; fraction += 0.02) {
    const Snapshot snapshot = test::sample_snapshot(*run, fraction);
    const SoftmaxRow& model = snapshot.softmax_row;
    if (!model.known || model.j < 0 || !model.m || !model.l || !model.alpha) continue;
    const TracedRow* row = find_row(*pair.trace, 0, 0, model.query);
    ASSERT_NE(row, nullptr);
    const kernels::TraceRow& seen = row->states.at(static_cast<std::size_t>(model.j));
    EXPECT_TRUE(std::abs(seen.m - *model.m) <= 1e-5) << seen.m << ' ' << *model.m;
    if (model.row_sum) {  // l includes the tile once its sum has been added
      EXPECT_TRUE(std::abs(seen.l - *model.l) <= 1e-4) << seen.l << ' ' << *model.l;
    }
    EXPECT_TRUE(std::abs(seen.alpha - *model.alpha) <= 1e-5);
    EXPECT_NE(compare_row(snapshot, pair).find("recorded"), std::string::npos);
    ++compared;
  }
  EXPECT_GT(compared, 5);
}

}  // namespace
}  // namespace attnscope::app
