#include "reference/field_rules.h"

#include <gmock/gmock.h>

namespace attnscope {
namespace {

using testing::ElementsAre;
using testing::Pair;

TEST(RunFields, SwitchesAreNamesWithValues) {
  const RunField& switches = run_field("switches");
  RunSpec spec;
  ASSERT_TRUE(switches.parse("stages=3,swizzle=on", spec));
  EXPECT_THAT(spec.switches, ElementsAre(Pair("stages", "3"), Pair("swizzle", "on")));
  EXPECT_EQ(switches.print(spec), "stages=3,swizzle=on");
  for (const char* text : {"stages", "=3", "stages=", "stages=2,stages=3", ",", "a=1,,b=2"}) {
    EXPECT_FALSE(switches.parse(text, spec)) << text;
  }
  EXPECT_EQ(switches.print(spec), "stages=3,swizzle=on");
  ASSERT_TRUE(switches.parse("", spec));
  EXPECT_TRUE(is_default(switches, spec));
}

TEST(RunFields, AnAlgorithmsOwnKernelIsTheDefault) {
  const RunField& kernel = run_field("kernel");
  RunSpec spec;
  spec.algorithm = "flash1";
  EXPECT_TRUE(is_default(kernel, spec));
  spec.kernel = "flash1";
  EXPECT_TRUE(is_default(kernel, spec));
  spec.kernel = "another";
  EXPECT_EQ(kernel.print(spec), "another");
}

TEST(RunFields, AnotherAlgorithmHasItsOwnKernelAndSwitches) {
  RunSpec before;
  before.kernel = "another";
  before.switches["stages"] = "3";
  RunSpec after = before;
  after.problem.N = 2048;
  EXPECT_EQ(with_consequences(before, after).kernel, "another");
  after.kernel = after.algorithm;
  EXPECT_EQ(with_consequences(before, after).kernel, "") << "the algorithm's own is unset";
  after.algorithm = "flash1";
  EXPECT_EQ(with_consequences(before, after).kernel, "");
  EXPECT_TRUE(with_consequences(before, after).switches.empty());
}

}  // namespace
}  // namespace attnscope
