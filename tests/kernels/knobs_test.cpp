/// The switches of the kernels as a run describes them.
#include "kernels/knobs.h"

#include <gmock/gmock.h>

#include <set>

#include "kernels/resolve.h"

namespace attnscope::kernels {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using Switches = std::map<std::string, std::string>;

RunSpec spec_with(const Switches& switches, PassKind pass = PassKind::forward) {
  RunSpec spec;
  spec.problem = {.N = 512, .N_kv = 512, .d = 64, .dtype = DType::bf16};
  spec.pass = pass;
  spec.switches = switches;
  return spec;
}

std::string refusal(const RunSpec& spec) {
  const auto run = resolve(spec);
  EXPECT_FALSE(run.ok());
  if (run) return "accepted";
  EXPECT_EQ(run.error().field, "switches");
  return words(run.error(), Reader::command_line);
}

TEST(Knobs, HaveOneNameADefaultAndASentenceEach) {
  std::set<std::string_view> names;
  for (const Knob& knob : all_knobs()) {
    EXPECT_TRUE(names.insert(knob.name).second) << knob.name;
    EXPECT_GE(knob.values.size(), 2u) << knob.name;
    EXPECT_EQ(Knobs{}.*knob.member, knob.values.front().value) << knob.name;
    EXPECT_TRUE(knob.idea.ends_with('.')) << knob.name;
    EXPECT_TRUE(std::ranges::any_of(catalog(), [&](const KernelInfo& kernel) {
      return kernel.has_knob(knob.name, PassKind::both);
    })) << knob.name;
    std::set<int> values;
    for (const KnobValue& value : knob.values) values.insert(value.value);
    EXPECT_EQ(values.size(), knob.values.size()) << knob.name;
  }
}

TEST(Knobs, AreThoseOfTheKernelAndThePass) {
  const auto knobs_of_pass = [](std::string_view kernel, PassKind pass) {
    std::vector<std::string_view> names;
    for (const Knob* const knob : find_kernel(kernel)->knobs(pass)) names.push_back(knob->name);
    return names;
  };
  EXPECT_THAT(
      knobs_of_pass("flash2", PassKind::forward),
      ElementsAre("stages", "warps", "partition", "copies", "swizzle", "rescale", "mask", "order",
                  "instructions", "overlap", "ping-pong", "schedule", "heads", "trim", "exp"));
  EXPECT_THAT(knobs_of_pass("flash1", PassKind::backward),
              ElementsAre("copies", "swizzle", "mask", "instructions"));
  EXPECT_THAT(knobs_of_pass("flash1", PassKind::both),
              ElementsAre("copies", "swizzle", "mask", "instructions"));
  EXPECT_THAT(knobs_of_pass("split_kv", PassKind::backward), IsEmpty());
  EXPECT_THAT(knobs_of_pass("standard", PassKind::both), IsEmpty());
  for (const KernelInfo& kernel : catalog()) {
    EXPECT_EQ(kernel.knobs(PassKind::forward).size(), kernel.forward.knobs.size()) << kernel.name;
    if (!kernel.has_backward()) continue;
    EXPECT_EQ(kernel.knobs(PassKind::backward).size(), kernel.backward->knobs.size());
  }
}

TEST(Knobs, AtTheirDefaultsAreNotPartOfARun) {
  const auto run = resolve(spec_with({{"stages", "2"}, {"rescale", "always"}}));
  ASSERT_TRUE(run.ok()) << run.error().message;
  EXPECT_EQ(run.value().asked.switches, (Switches{{"rescale", "always"}}));
  EXPECT_EQ(knobs_of(run.value().asked), (Knobs{.rescale_always = 1}));
  EXPECT_EQ(knobs_of(RunSpec{}), Knobs{});
  EXPECT_EQ(resolve(spec_with({{"stages", "2"}})).value(), resolve(spec_with({})).value());
}

TEST(Knobs, OfBothPassesGoToThePassThatHasThem) {
  const Switches switches{{"instructions", "mma"}, {"stages", "1"}, {"swizzle", "off"}};
  const auto runs = resolve_passes(spec_with(switches, PassKind::both));
  ASSERT_TRUE(runs.ok()) << runs.error().message;
  EXPECT_EQ(runs.value()[0].asked.switches, switches);
  EXPECT_EQ(runs.value()[1].asked.switches,
            (Switches{{"instructions", "mma"}, {"swizzle", "off"}}));
}

TEST(Knobs, ThatAKernelLacksAreRefusedByName) {
  EXPECT_THAT(refusal(spec_with({{"stage", "1"}})), HasSubstr("did you mean 'stages'?"));
  EXPECT_THAT(refusal(spec_with({{"stages", "4"}})),
              HasSubstr("switch stages is '4'; it accepts 2, 1, 3"));
  EXPECT_THAT(refusal(spec_with({{"stages", "1"}}, PassKind::backward)),
              HasSubstr("stages is a switch of the forward pass"));
  RunSpec standard = spec_with({{"mask", "all"}});
  standard.algorithm = "standard";
  EXPECT_THAT(refusal(standard), HasSubstr("kernel standard has no switches"));
  RunSpec fp32 = spec_with({{"mask", "all"}});
  fp32.problem.dtype = DType::fp32;
  EXPECT_THAT(refusal(fp32), HasSubstr("tensor cores"));
}

TEST(Knobs, ThatDoNotFitATilingAreRefusedWithTheNumbers) {
  RunSpec spec = spec_with({{"warps", "8"}});
  spec.Br = spec.Bc = 64;
  auto run = resolve(spec);
  ASSERT_FALSE(run.ok());
  EXPECT_THAT(run.error().message, HasSubstr("8 warps cannot share 64 rows in pieces of 16"));
  spec = spec_with({{"partition", "sliced-k"}, {"warps", "8"}});
  spec.Br = spec.Bc = 64;
  run = resolve(spec);
  ASSERT_FALSE(run.ok());
  EXPECT_THAT(run.error().message, HasSubstr("8 warps cannot share 64 keys in pieces of 16"));
  spec = spec_with({{"partition", "sliced-k"}});
  spec.problem.score.dropout.probability = 0.1;
  run = resolve(spec);
  ASSERT_FALSE(run.ok());
  EXPECT_THAT(run.error().message, HasSubstr("partition split-q"));
  spec = spec_with({{"stages", "3"}});
  spec.problem.d = 256;
  spec.Br = spec.Bc = 128;
  run = resolve(spec);
  ASSERT_FALSE(run.ok());
  EXPECT_THAT(run.error().message, HasSubstr("bytes of shared memory"));
}

TEST(Knobs, OfHoppersProgramAskForTheOther) {
  RunSpec spec = spec_with({{"swizzle", "off"}}, PassKind::backward);
  spec.problem.d = 128;
  EXPECT_THAT(refusal(spec), HasSubstr("add instructions=mma"));
  spec.switches["instructions"] = "mma";
  EXPECT_TRUE(resolve(spec).ok());
  spec.switches = {{"swizzle", "off"}};
  spec.deterministic = true;
  EXPECT_THAT(refusal(spec), HasSubstr("add instructions=mma"));
}

TEST(Knobs, OfHoppersForwardProgramAreNotTheOthers) {
  RunSpec spec = spec_with({{"overlap", "off"}, {"stages", "3"}});
  spec.problem.d = 128;
  EXPECT_TRUE(resolve(spec).ok());
  spec.Br = 128;
  spec.Bc = 64;
  EXPECT_THAT(refusal(spec), HasSubstr("overlap is a switch of the program with Hopper's "
                                       "instructions, which does not run this forward pass"));
  spec.Br = spec.Bc = 128;
  EXPECT_TRUE(resolve(spec).ok());
  spec.switches["instructions"] = "mma";
  EXPECT_THAT(refusal(spec), HasSubstr("overlap is a switch of the program with Hopper's"));
  spec.switches = {{"stages", "3"}};
  EXPECT_TRUE(resolve(spec).ok());
  RunSpec wide = spec_with({{"stages", "3"}});
  wide.problem.d = 192;
  EXPECT_THAT(refusal(wide), HasSubstr("with stages=3, tiles of 128x112 do not fit"));
  spec.switches = {{"warps", "8"}};
  EXPECT_THAT(refusal(spec),
              HasSubstr("this forward pass runs a program that has no switch warps"));
  spec.switches["instructions"] = "mma";
  EXPECT_TRUE(resolve(spec).ok());
}

TEST(Knobs, OfHoppersProgramAreRefusedWhereItDoesNotRun) {
  RunSpec spec = spec_with({{"overlap", "off"}});
  spec.problem.d = 128;
  const ProgramTarget hopper{"9.0"}, other{"8.0"};
  for (const char* name : {"overlap", "ping-pong", "schedule", "heads", "trim", "exp"}) {
    spec.switches = {{name, std::string(find_knob(name)->values[1].name)}};
    ASSERT_TRUE(resolve(spec, hopper).ok()) << name;
    const auto run = resolve(spec, other);
    ASSERT_FALSE(run.ok()) << name;
    EXPECT_EQ(run.error().field, "switches");
    EXPECT_THAT(run.error().message, HasSubstr("which does not run this forward pass on this GPU"));
    EXPECT_TRUE(check_program(resolve(spec).value(), other)) << name;
    EXPECT_FALSE(check_program(resolve(spec).value(), hopper)) << name;
  }
  spec.switches = {{"warps", "8"}};
  EXPECT_THAT(refusal(spec), HasSubstr("add instructions=mma"));
  EXPECT_FALSE(resolve(spec, other).ok());  // the same switches describe a run on every GPU
  spec.switches["instructions"] = "mma";
  EXPECT_TRUE(resolve(spec, other).ok());
}

TEST(Knobs, OfHoppersProgramAreRefusedForTensorsThatItCannotRead) {
  const ProgramTarget strided{.compute_capability = "9.0", .bulk_copies = false};
  const ProgramTarget other{.compute_capability = "8.0", .bulk_copies = false};
  RunSpec spec = spec_with({});
  spec.problem.d = 128;
  const auto error = [&](const Switches& switches, const ProgramTarget& target) {
    spec.switches = switches;
    const auto refused = check_program(resolve(spec).value(), target);
    return refused ? refused->message : "";
  };
  for (const char* name : {"overlap", "ping-pong", "schedule", "heads", "trim", "exp"}) {
    const Switches switched = {{name, std::string(find_knob(name)->values[1].name)}};
    EXPECT_THAT(error(switched, strided),
                HasSubstr("does not run this forward pass on tensors with these strides"));
    EXPECT_THAT(error(switched, other), HasSubstr("does not run this forward pass on this GPU"));
  }
  EXPECT_EQ(error({{"mask", "all"}, {"stages", "3"}}, strided), "");
  EXPECT_EQ(error({{"instructions", "mma"}, {"warps", "8"}}, strided), "");
}

TEST(Knobs, MakeRoomForHoppersProgram) {
  RunSpec spec = spec_with({{"overlap", "off"}});
  spec.problem.d = 256;
  spec.problem.mask = Mask::window(64, 64);
  spec.problem.score.dropout.probability = 0.1;
  EXPECT_THAT(refusal(spec), HasSubstr("which does not run this forward pass"));
  spec.switches["stages"] = "1";
  EXPECT_TRUE(resolve(spec, {"9.0"}).ok());
}

}  // namespace
}  // namespace attnscope::kernels
