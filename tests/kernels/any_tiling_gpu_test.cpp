/// Random problems in random tilings, masks and score functions: each result agrees with the
/// reference by the tolerance rule, or the run is rejected with the limit that it exceeds.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>
#include <string>

#include "kernels/catalog.h"
#include "kernels/resolve.h"
#include "reference/block_pattern.h"
#include "tests/kernels/reference_check.h"
#include "tests/kernels/score_features.h"
#include "tests/support/kernel_run.h"

namespace attnscope::kernels {
namespace {

constexpr int kProblems = 300;

struct RandomRun {
  const KernelInfo* kernel = nullptr;
  PassKind pass = PassKind::forward;
  Carry carry = Carry::problem;
  Tiling tiling;
  AttentionProblem problem;
};

/// Adds a mask and score functions if the kernel supports them.
void add_features(RandomRun& run, std::mt19937_64& random) {
  const auto& features = kFeatures[random() % std::size(kFeatures)];
  AttentionProblem changed = run.problem;
  for (const Feature feature : features.features) feature(changed);
  const bool takes =
      !supports(test::kernel_run(run.kernel->name, changed, run.pass, std::nullopt, run.carry));
  if (takes) run.problem = changed;
}

RandomRun random_run(std::mt19937_64& random) {
  const auto below = [&](Index limit) {
    return static_cast<Index>(random() % static_cast<std::uint64_t>(limit));
  };
  RandomRun run;
  run.kernel = &catalog()[1 + random() % (catalog().size() - 1)];  // all but standard
  run.pass = run.kernel->has_backward() && below(2) == 0 ? PassKind::backward : PassKind::forward;
  const DType dtypes[] = {DType::bf16, DType::fp16, DType::fp32};
  DType dtype = dtypes[below(4) % 3];
  if (!takes_pass(*run.kernel, run.pass, dtype)) dtype = DType::bf16;
  run.tiling = {16 * (1 + below(16)), 16 * (1 + below(16))};
  if (run.kernel->name == "split_kv") run.tiling.Br = 16;
  run.problem = {.batch = 2,
                 .heads = 4,
                 .kv_heads = below(2) == 0 ? 4 : 2,
                 .N = 1 + below(400),
                 .N_kv = 1 + below(400),
                 .d = 1 + below(256),
                 .dtype = dtype,
                 .mask = below(2) == 0 ? Mask::none() : Mask::causal()};
  if (run.kernel->honours_carry && run.pass == PassKind::forward && below(3) == 0) {
    run.carry = Carry::fp32;
  }
  if (below(2) == 0) add_features(run, random);
  // The backward pass follows a forward pass with the same tiles
  const bool forward_fits = !supports(
      test::kernel_run(run.kernel->name, run.problem, PassKind::forward, run.tiling, run.carry));
  if (run.kernel->takes_block_mask && forward_fits && below(3) != 0) {
    run.problem.block_mask = make_block_mask(parse_block_pattern("random:0.5,7").value(),
                                             run.problem.N, run.problem.N_kv, run.tiling)
                                 .value();
  }
  return run;
}

class AnyTiling : public ::testing::TestWithParam<int> {};

TEST_P(AnyTiling, IsComputedOrRefusedWithItsLimit) {
  ATTNSCOPE_NEEDS_GPU();
  std::mt19937_64 random(static_cast<std::uint64_t>(GetParam()));
  const RandomRun run = random_run(random);
  SCOPED_TRACE(describe(run.problem) + ", " + std::string(run.kernel->name) + " " +
               std::string(to_string(run.pass)) + " " + std::to_string(run.tiling.Br) + "x" +
               std::to_string(run.tiling.Bc));
  if (const auto refused = supports(
          test::kernel_run(run.kernel->name, run.problem, run.pass, run.tiling, run.carry))) {
    EXPECT_EQ(refused->field, "Br") << refused->message;
    EXPECT_EQ(refused->code, ErrorCode::does_not_fit) << refused->message;
    RecordProperty("refused", refused->message);
    return;
  }
  const AttentionInputs inputs =
      make_inputs(run.problem, {.seed = static_cast<std::uint64_t>(GetParam())});
  const ForwardResult reference = naive_forward(run.problem, inputs);
  if (run.pass == PassKind::forward) {
    check_forward({.kernel = run.kernel, .tiling = run.tiling, .carry = run.carry}, run.problem,
                  inputs, reference);
  } else {
    check_backward({.kernel = run.kernel, .tiling = run.tiling}, run.problem, inputs, reference);
  }
}

INSTANTIATE_TEST_SUITE_P(Random, AnyTiling, ::testing::Range(0, kProblems));

/// At least half of the tilings are computed: rejections are the exception.
TEST(AnyTilings, AreMostlyComputed) {
  int computed = 0;
  for (int n = 0; n < kProblems; ++n) {
    std::mt19937_64 random(static_cast<std::uint64_t>(n));
    const RandomRun run = random_run(random);
    if (!supports(test::kernel_run(run.kernel->name, run.problem, run.pass, run.tiling, run.carry)))
      ++computed;
  }
  EXPECT_GT(computed, kProblems / 2);
  RecordProperty("computed", computed);
}

}  // namespace
}  // namespace attnscope::kernels
