/// Runs on SMs in time: the model's beside a recorded one.
#include "app/panels/sm_run.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "app/panels/sm_timeline.h"
#include "sim/device/assets.h"
#include "tests/app/panels/sample_snapshot.h"

namespace attnscope::app {
namespace {

SmRunKey key_of(const test::SampleRequest& request) {
  return {request.problem, request.algorithm, request.pass, request.tiling};
}

TEST(SmRun, OfTheSameProblemHasTheSameBlocksModelledAndRecorded) {
  const auto pair = find_sm_run(key_of({}));
  ASSERT_TRUE(pair.ok()) << pair.error().message;
  EXPECT_TRUE(pair.value().same_problem);
  for (const SmRun* run : {&pair.value().modelled, &pair.value().recorded}) {
    ASSERT_EQ(run->blocks.size(), 4u);
    for (const SmBlock& block : run->blocks) {
      EXPECT_GE(block.begin_ps, 0);
      EXPECT_LT(block.begin_ps, block.end_ps);
      EXPECT_LE(block.end_ps, run->end_ps);
      EXPECT_FALSE(block.steps.empty());
    }
  }
}

TEST(SmRun, OfAnotherProblemIsAnotherRunOfTheSamePass) {
  test::SampleRequest request;
  request.problem.N = request.problem.N_kv = 96;
  const auto other = find_sm_run(key_of(request));
  ASSERT_TRUE(other.ok()) << other.error().message;
  EXPECT_FALSE(other.value().same_problem);
  EXPECT_EQ(other.value().trace.algorithm, "flash2");
  EXPECT_EQ(other.value().trace.pass, PassKind::forward);
}

TEST(SmRun, OfAVariantIsARunOfThePlainAlgorithmAndSaysSo) {
  SmRunKey key = key_of({});
  const auto plain = find_sm_run(key);
  ASSERT_TRUE(plain);
  ASSERT_TRUE(plain.value().same_problem);
  EXPECT_EQ(plain.value().variant, "");
  key.variant = "D once";
  const auto pair = find_sm_run(key);
  ASSERT_TRUE(pair);
  EXPECT_FALSE(pair.value().same_problem);
  EXPECT_EQ(pair.value().variant, "D once");
}

TEST(SmRun, OfAnAlgorithmWithoutATraceIsUnavailable) {
  test::SampleRequest request;
  request.algorithm = "standard";
  const auto none = find_sm_run(key_of(request));
  ASSERT_FALSE(none.ok());
  EXPECT_NE(none.error().message.find("no recorded trace of standard forward"), std::string::npos);
}

TEST(SmRun, EveryShippedTraceCanBeModelled) {
  const std::vector<std::string> names = list_assets("recordings/traces");
  ASSERT_FALSE(names.empty());
  for (const std::string& name : names) {
    SCOPED_TRACE(name);
    const auto trace = read_kernel_trace(find_asset("recordings/traces", name).value());
    ASSERT_TRUE(trace.ok()) << trace.error().message;
    EXPECT_FALSE(trace.value().header.build.local_changes);
    const auto modelled = modelled_run(trace.value(), load_gpu("h200").value());
    ASSERT_TRUE(modelled.ok()) << modelled.error().message;
    EXPECT_EQ(modelled.value().blocks.size(), trace.value().blocks.size());
  }
}

TEST(SmRun, RecordedMLAndAlphaAreTheModels) {
  const auto pair = find_sm_run(key_of({}));
  ASSERT_TRUE(pair.ok()) << pair.error().message;
  const auto run = test::sample_run({});
  int compared = 0;
  for (double fraction = 0.0; fraction <= 1.0; fraction += 0.02) {
    const Snapshot snapshot = test::sample_snapshot(*run, fraction);
    const SoftmaxRow& model = snapshot.softmax_row;
    if (!model.known || model.j < 0 || !model.m || !model.l || !model.alpha) continue;
    const TracedRow* row = find_row(pair.value().trace, 0, 0, model.query);
    ASSERT_NE(row, nullptr);
    const kernels::TraceRow& seen = row->states.at(static_cast<std::size_t>(model.j));
    EXPECT_TRUE(std::abs(seen.m - *model.m) <= 1e-5) << seen.m << ' ' << *model.m;
    if (model.row_sum) {  // l is the tile's once it has been added
      EXPECT_TRUE(std::abs(seen.l - *model.l) <= 1e-4) << seen.l << ' ' << *model.l;
    }
    EXPECT_TRUE(std::abs(seen.alpha - *model.alpha) <= 1e-5);
    EXPECT_NE(compare_row(snapshot, pair.value()).find("recorded"), std::string::npos);
    ++compared;
  }
  EXPECT_GT(compared, 5);
}

}  // namespace
}  // namespace attnscope::app
