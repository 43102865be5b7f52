/// From a request to the kernel that runs it.
#include "kernels/resolve.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/default_tilings.h"
#include "reference/block_mask.h"
#include "reference/field_rules.h"

namespace attnscope::kernels {
namespace {

using ::testing::HasSubstr;

RunSpec spec_of(std::string_view algorithm, PassKind pass = PassKind::forward) {
  RunSpec spec;
  spec.algorithm = algorithm;
  spec.pass = pass;
  if (algorithm == "block_sparse2") spec.block_mask = parse_block_pattern("butterfly").value();
  return spec;
}

ResolvedRun resolved(const RunSpec& spec) {
  auto run = resolve(spec);
  EXPECT_TRUE(run.ok()) << words(run.error(), Reader::file);
  return run ? std::move(run).value() : ResolvedRun{};
}

Error error_of(const RunSpec& spec) {
  const auto run = resolve(spec);
  EXPECT_FALSE(run.ok());
  return run ? Error{} : run.error();
}

TEST(ResolveKernel, EveryKernelTakesItsOwnFastestTiling) {
  for (const KernelInfo& kernel : catalog()) {
    const ResolvedRun run = resolved(spec_of(kernel.name));
    EXPECT_EQ(run.asked.kernel, kernel.name);
    EXPECT_EQ(&kernel_of(run), &kernel);
    EXPECT_EQ(run.tiling, default_tilings(kernel, PassKind::forward, run.problem).front())
        << kernel.name;
    EXPECT_EQ(run.problem.block_mask != nullptr, kernel.takes_block_mask);
    EXPECT_EQ(possible_tilings(run) == std::vector{run.tiling},
              kernel.takes_block_mask || kernel.name == "standard")
        << kernel.name;
  }
}

TEST(ResolveKernel, OneSideAloneKeepsTheDefaultOfTheOther) {
  RunSpec spec = spec_of("flash2");
  const Tiling own = resolved(spec).tiling;
  spec.Bc = 32;
  const ResolvedRun run = resolved(spec);
  EXPECT_EQ(run.tiling, (Tiling{own.Br, 32}));
  EXPECT_EQ(possible_tilings(run), std::vector{run.tiling});
  spec.Br = 40;
  const Error error = error_of(spec);
  EXPECT_EQ(error.field, "Br");
  EXPECT_EQ(error.code, ErrorCode::does_not_fit);
  EXPECT_THAT(words(error, Reader::file), HasSubstr("40x32"));
}

TEST(ResolveKernel, BothPassesShareTheMaskOverTheBackwardPasssTiles) {
  RunSpec spec = spec_of("block_sparse2", PassKind::both);
  spec.problem.d = 128;
  EXPECT_EQ(error_of(spec).field, "pass");
  const auto runs = resolve_passes(spec);
  ASSERT_TRUE(runs.ok()) << words(runs.error(), Reader::file);
  ASSERT_EQ(runs.value().size(), 2u);
  const ResolvedRun& forward = runs.value()[0];
  const ResolvedRun& backward = runs.value()[1];
  EXPECT_EQ(forward.pass(), PassKind::forward);
  EXPECT_EQ(backward.pass(), PassKind::backward);
  EXPECT_EQ(forward.problem, backward.problem);
  EXPECT_EQ(forward.tiling, backward.tiling);
  EXPECT_EQ(backward.tiling,
            default_tilings(kernel_of(backward), PassKind::backward, spec.problem).front());
  EXPECT_EQ(backward.problem.block_mask->tiling(), backward.tiling);
}

TEST(ResolveKernel, ChoicesOfTheModelAreRefusedWithTheirField) {
  const auto field_of = [](std::string_view algorithm, PassKind pass, std::string_view key,
                           std::string_view value) {
    RunSpec spec = spec_of(algorithm, pass);
    EXPECT_FALSE(set_field(run_field(key), value, spec));
    const Error error = error_of(spec);
    EXPECT_EQ(error.code, ErrorCode::not_applicable);
    EXPECT_EQ(error.value, value);
    return error.field;
  };
  EXPECT_EQ(field_of("split_kv", PassKind::forward, "splits", "4"), "splits");
  EXPECT_EQ(field_of("standard", PassKind::forward, "fusion", "separate"), "fusion");
  EXPECT_EQ(field_of("standard", PassKind::backward, "checkpoint", "true"), "checkpoint");
  EXPECT_EQ(field_of("flash1", PassKind::forward, "skip_first_reads", "true"), "skip_first_reads");
  EXPECT_EQ(field_of("flash1", PassKind::backward, "d_once", "true"), "d_once");
  EXPECT_EQ(field_of("block_sparse2", PassKind::backward, "skip_unused_kv", "true"),
            "skip_unused_kv");
}

TEST(ResolveKernel, IgnoresFieldsOfTheModelAlone) {
  RunSpec spec = spec_of("block_sparse2");
  spec.variant.skip_unused_kv = true;  // its forward pass loads no unused keys
  spec.gpu = "t4";
  spec.warps = 8;
  spec.allow_overflow = true;
  spec.round_to_storage = true;
  EXPECT_EQ(resolved(spec).tiling, resolved(spec_of("block_sparse2")).tiling);
}

/// With less shared memory, the default tiles have fewer rows than eight warps can share.
TEST(ResolveKernel, RejectsASwitchThatTheTargetsTilesCannotHave) {
  RunSpec spec = spec_of("flash2");
  spec.problem.d = 256;
  spec.switches = {{"instructions", "mma"}, {"warps", "8"}};
  EXPECT_TRUE(resolve(spec, {"9.0"}).ok());
  const auto run = resolve(spec, {"8.0", Index{163} * 1024});
  ASSERT_FALSE(run.ok());
  EXPECT_EQ(run.error().code, ErrorCode::does_not_fit);
  EXPECT_THAT(run.error().message, HasSubstr("8 warps cannot share 64 rows"));
}

TEST(ResolveKernel, DrawsABlockMaskInTheTilesOfTheTarget) {
  RunSpec spec = spec_of("block_sparse2");
  spec.problem.d = 128;
  spec.problem.N = spec.problem.N_kv = 1024;
  spec.block_mask = parse_block_pattern("random:0.5").value();
  const auto tilings = [&](const ProgramTarget& target) {
    const auto run = resolve(spec, target);
    return std::pair(run.value().tiling, run.value().problem.block_mask->tiling());
  };
  const Tiling anywhere{128, 64}, on_hopper{128, 128};
  EXPECT_EQ(tilings({}), std::pair(anywhere, anywhere));
  EXPECT_EQ(tilings({.compute_capability = "9.0"}), std::pair(on_hopper, on_hopper));
  spec.switches = {{"instructions", "mma"}};
  EXPECT_EQ(tilings({.compute_capability = "9.0"}), std::pair(anywhere, anywhere));
  spec.switches.clear();
  spec.set_tiling({64, 64});
  EXPECT_EQ(tilings({.compute_capability = "9.0"}).first, (Tiling{64, 64}));
}

TEST(ResolveKernel, OnlyABackwardPassIsDeterministicOnRequest) {
  RunSpec spec = spec_of("flash2", PassKind::both);
  spec.deterministic = true;
  const auto runs = resolve_passes(spec);
  ASSERT_TRUE(runs.ok());
  EXPECT_FALSE(runs.value()[0].asked.deterministic);
  EXPECT_TRUE(runs.value()[1].asked.deterministic);
}

TEST(ResolveKernel, NamesWhatHasNoKernel) {
  const Error none = error_of(spec_of("block_sparse"));
  EXPECT_EQ(none.field, "algorithm");
  EXPECT_THAT(none.message, HasSubstr("block_sparse has no kernel; these have: standard, flash1"));
  RunSpec spec = spec_of("flash2");
  spec.kernel = "flash9";
  EXPECT_EQ(error_of(spec).code, ErrorCode::unknown_name);
  spec.kernel = "flash1";
  EXPECT_EQ(error_of(spec).code, ErrorCode::contradiction);
  spec.kernel = "flash2";
  spec.switches["depth"] = "3";
  EXPECT_EQ(error_of(spec).field, "switches");
}

TEST(ResolveKernel, ARefusalHasTheFieldToChange) {
  RunSpec spec = spec_of("flash2");
  spec.problem.d = 300;
  EXPECT_EQ(error_of(spec).field, "head_dim");
  EXPECT_EQ(words(error_of(spec), Reader::command_line),
            "--head-dim is 300; kernel flash2 takes 1 to 256");
  spec = spec_of("split_kv");
  spec.problem.dtype = DType::fp32;
  EXPECT_EQ(error_of(spec).field, "dtype");
  spec = spec_of("flash1", PassKind::backward);
  spec.variant.carry = Carry::fp32;
  EXPECT_EQ(error_of(spec).field, "carry");
  spec = spec_of("standard");
  spec.Br = 64;
  EXPECT_EQ(error_of(spec).field, "Br");
}

}  // namespace
}  // namespace attnscope::kernels
