/// Breaks of a run: the operations that they name, and the changes that they cause.
#include "sim/schedule/breaks.h"

#include <gtest/gtest.h>

#include <cmath>

#include "reference/field_rules.h"
#include "sim/resolve.h"
#include "sim/simulation.h"
#include "tests/support/tensor_assertions.h"

namespace attnscope {
namespace {

RunSpec small_run(std::string_view broken, PassKind pass = PassKind::forward) {
  RunSpec spec{.problem = {.N = 8, .N_kv = 12, .d = 4, .dtype = DType::fp32}, .pass = pass};
  spec.set_tiling({4, 4});
  EXPECT_FALSE(set_field(run_field("break"), broken, spec).has_value()) << broken;
  return spec;
}

NumericResult numbers_of(const RunSpec& spec) {
  const auto gpu = gpu_of(spec);
  const auto run = resolve(spec, gpu.value());
  EXPECT_TRUE(run) << (run ? "" : run.error().message);
  auto numbers =
      simulate_numbers(run.value(), gpu.value(), make_inputs(spec.problem, spec.inputs), {});
  EXPECT_TRUE(numbers);
  return std::move(numbers).value();
}

std::string error_of(const RunSpec& spec) {
  const auto run = resolve(spec, gpu_of(spec).value());
  return run ? "" : words(run.error(), Reader::command_line);
}

TEST(RunBreak, TextsAreReadAndPrinted) {
  for (const char* text :
       {"drop:forward:rescale:O", "drop:forward:14", "drop:softmax:5:load:S",
        "drop:forward:rescale:O@2.0", "drop:softmax:5:load:S@0.11", "alpha=1", "D=0", "m_tile=0"}) {
    const auto broken = parse_run_break(text);
    ASSERT_TRUE(broken) << text;
    EXPECT_EQ(to_string(*broken), text);
  }
  for (const char* text :
       {"drop", "drop:", "drop:forward", "drop:forward:rescale", "drop::rescale:O",
        "drop:forward:0", "drop:forward:256", "drop:forward:14@2.0", "drop:forward:rescale:O@2",
        "drop:forward:rescale:O@-1.0", "drop:forward:1:2:O:P", "alpha=2", "alpha=", "=1", "alpha",
        "alpha=1=1", "drop:forward:rescale:O@1.1@1.1", "drop:for ward:1"}) {
    EXPECT_FALSE(parse_run_break(text)) << text;
  }
}

TEST(RunBreak, NamesMustBeThoseOfThePass) {
  EXPECT_EQ(error_of(small_run("drop:forward:rescale:O")), "");
  EXPECT_EQ(error_of(small_run("drop:forward:rescale:Q")),
            "--break is 'drop:forward:rescale:Q': launch forward has no such operation in this "
            "run; it has 2:load:Q, 3:fill_zero:O, 3:fill_zero:l, 3:fill_minus_inf:m, 5:load:K, "
            "5:load:V, 6:scores:S, 8:running_max:m, 9:exp:P, 10:rescale:l, 10:add_row_sum:l, "
            "11:rescale:O, 11:accumulate:O, 12:normalize:O, 13:log_sum_exp:LSE, 14:store:O, "
            "14:store:LSE");
  EXPECT_EQ(error_of(small_run("drop:backward:load:Q")),
            "--break is 'drop:backward:load:Q': unknown launch 'backward'; known: "
            "forward");
  EXPECT_EQ(error_of(small_run("D=0")),
            "--break is 'D=0': this pass has no row statistic D on chip; it has l, m, alpha, LSE");
  EXPECT_EQ(error_of(small_run("D=0", PassKind::backward)), "");
  EXPECT_NE(error_of(small_run("drop:forward:4")), "") << "a loop has no operation";
}

TEST(RunBreak, IsNamedOnTheScreenAsItsListShowsIt) {
  const auto on_screen = [](const RunSpec& spec) {
    return words(resolve(spec, gpu_of(spec).value()).error(), Reader::screen);
  };
  EXPECT_EQ(on_screen(small_run("drop:forward:rescale:Q")),
            "break is 'rescale Q dropped': launch forward has no such operation in this run; it "
            "has load Q, fill_zero O, fill_zero l, fill_minus_inf m, load K, load V, scores S, "
            "running_max m, exp P, rescale l, add_row_sum l, rescale O, accumulate O, normalize O, "
            "log_sum_exp LSE, store O, store LSE");
  EXPECT_EQ(on_screen(small_run("D=0")),
            "break is 'D is always 0': this pass has no row statistic D on chip; it has l, m, "
            "alpha, LSE");
}

TEST(RunBreak, AnotherAlgorithmOrPassIsNotBroken) {
  const RunSpec before = small_run("drop:forward:rescale:O");
  RunSpec after = before;
  after.problem.N = 16;
  EXPECT_TRUE(with_consequences(before, after).variant.broken.any());
  after.pass = PassKind::both;
  EXPECT_TRUE(with_consequences(before, after).variant.broken.any()) << "it has the launch, too";
  after.pass = PassKind::backward;
  EXPECT_FALSE(with_consequences(before, after).variant.broken.any());
  after = before;
  after.algorithm = "flash1";
  EXPECT_FALSE(with_consequences(before, after).variant.broken.any());
}

TEST(RunBreak, ADroppedOperationStaysInTheStreamAndChangesValuesOnly) {
  const RunSpec whole = small_run("");
  const RunSpec broken = small_run("drop:forward:rescale:O");
  const auto gpu = gpu_of(whole);
  const auto right = resolve_and_simulate(whole, gpu.value());
  const auto wrong = resolve_and_simulate(broken, gpu.value());
  ASSERT_TRUE(right && wrong);
  EXPECT_EQ(right.value().tile_ops, wrong.value().tile_ops);
  EXPECT_EQ(right.value().requested, wrong.value().requested);
  EXPECT_LT(numbers_of(whole).O_error.max_abs_error, 1e-12);
  const NumericResult numbers = numbers_of(broken);
  EXPECT_GT(numbers.O_error.max_abs_error, 1e-3);
  EXPECT_LT(numbers.LSE_error.max_abs_error, 1e-12) << "l is still rescaled";
}

TEST(RunBreak, AnOperationCanBeDroppedOnce) {
  const auto right = numbers_of(small_run(""));
  const auto wrong = numbers_of(small_run("drop:forward:accumulate:O@1.2"));
  const auto differs = [&](Index row) {
    for (Index c = 0; c < 4; ++c) {
      if (right.output.O.at(0, 0, row, c) != wrong.output.O.at(0, 0, row, c)) return true;
    }
    return false;
  };
  for (Index row = 0; row < 4; ++row) EXPECT_FALSE(differs(row)) << "row tile 0 is whole";
  bool any = false;
  for (Index row = 4; row < 8; ++row) any = any || differs(row);
  EXPECT_TRUE(any);
}

TEST(RunBreak, AReplacedStatisticHasItsValue) {
  const auto without_alpha = numbers_of(small_run("alpha=1"));
  EXPECT_GT(without_alpha.O_error.max_abs_error, 1e-3);
  EXPECT_GT(without_alpha.LSE_error.max_abs_error, 1e-3);
  const auto without_D = numbers_of(small_run("D=0", PassKind::both));
  EXPECT_LT(without_D.O_error.max_abs_error, 1e-12);
  EXPECT_LT(without_D.dV_error.max_abs_error, 1e-12);
  EXPECT_GT(without_D.dQ_error.max_abs_error, 1e-3);
  // The softmax does not depend on the value that is subtracted
  EXPECT_LT(numbers_of(small_run("m=0")).O_error.max_abs_error, 1e-12);
}

TEST(RunBreak, ASoftmaxWithoutItsMaximumOverflowsInFp32) {
  RunSpec spec = small_run("m=0");
  spec.problem.N = spec.problem.N_kv = 64;
  spec.problem.d = 64;
  spec.inputs.kind = InputKind::outlier;
  EXPECT_FALSE(numbers_of(spec).O_error.has_nan) << "double precision holds exp(100)";
  spec.fp32_accumulators = true;
  EXPECT_TRUE(numbers_of(spec).O_error.has_nan);
  spec.variant.broken = {};
  EXPECT_LT(numbers_of(spec).O_error.max_abs_error, 1e-4);
}

TEST(RunBreak, MemoryThatWasNotLoadedIsInvalidOrHoldsTheTileBeforeIt) {
  RunSpec spec = small_run("drop:forward:load:K");
  EXPECT_TRUE(numbers_of(spec).O_error.has_nan);
  spec = small_run("drop:forward:load:K@0.1");
  EXPECT_TRUE(numbers_of(spec).O_error.has_nan);
  spec.stale_memory = true;
  const auto stale = numbers_of(spec);
  EXPECT_FALSE(stale.O_error.has_nan) << "K_1 is K_0";
  EXPECT_GT(stale.O_error.max_abs_error, 1e-3);
}

TEST(RunBreak, ABrokenBackwardPassFollowsACorrectForwardPass) {
  RunSpec spec = small_run("l=1", PassKind::backward);
  spec.algorithm = "flash1";  // both passes have l
  spec.allow_overflow = true;
  const auto numbers = numbers_of(spec);
  EXPECT_LT(numbers.O_error.max_abs_error, 1e-12);
  EXPECT_GT(numbers.dQ_error.max_abs_error, 1e-3);
}

}  // namespace
}  // namespace attnscope
