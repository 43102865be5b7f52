/// The tile that is typed after pressing G.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/screen/screen.h"
#include "sim/resolve.h"
#include "sim/snapshot/stepped_run.h"

namespace attnscope::app {
namespace {

std::shared_ptr<const RunInfo> causal_run() {
  RunSpec spec;
  spec.problem = {.N = 64, .N_kv = 64, .d = 16, .dtype = DType::fp16, .mask = Mask::causal()};
  spec.algorithm = "flash2";
  spec.set_tiling({16, 16});
  const GpuDescription gpu = load_gpu("h200").value();
  return SteppedRun::create({.run = resolve(spec, gpu).value(), .gpu = gpu}).value()->info();
}

TEST(GoToTile, GoesToTheFirstOperationOfTheTile) {
  const auto run = causal_run();
  for (const char* const typed : {"2,1", "2, 1", "2 1", "  2 ,  1 "}) {
    const Result<Index> step = first_step_of_tile(*run, typed);
    ASSERT_TRUE(step) << typed << ": " << step.error().message;
    EXPECT_EQ(step.value(), run->score_tiles[9].first);
  }
  EXPECT_NE(first_step_of_tile(*run, "1,1").value(), first_step_of_tile(*run, "2,1").value());
}

TEST(GoToTile, RejectsATileThatTheRunDoesNotHave) {
  const auto run = causal_run();
  const std::pair<const char*, const char*> cases[] = {
      {"", "such as"},           {"  ", "such as"},
      {"3", "not a tile"},       {"1,2,3", "not a tile"},
      {"a, b", "not a tile"},    {"4,0", "i is 4; use 0 to 3"},
      {"-1,0", "i is -1"},       {"0,4", "j is 4"},
      {"0,3", "never computed"}, {"99999999999999999999,0", "not a tile"}};
  for (const auto& [typed, part] : cases) {
    const Result<Index> step = first_step_of_tile(*run, typed);
    ASSERT_FALSE(step) << typed;
    EXPECT_THAT(step.error().message, testing::HasSubstr(part)) << typed;
  }
}

}  // namespace
}  // namespace attnscope::app
