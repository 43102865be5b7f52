/// The IO theorems compared with the counts.

#include <gtest/gtest.h>

#include "sim/studies/io_theorems.h"
#include "sim/tiling_rules.h"

namespace attnscope {
namespace {

IoQuestion question_along(IoAxis axis, std::vector<double> values,
                          PassKind pass = PassKind::forward) {
  return {.problem = {.batch = 2,
                      .heads = 3,
                      .kv_heads = 3,
                      .N = 4096,
                      .N_kv = 4096,
                      .d = 64,
                      .dtype = DType::fp16},
          .pass = pass,
          .gpu = load_gpu("a100-40gb").value(),
          .axis = axis,
          .values = std::move(values)};
}

std::vector<IoPoint> curve(const IoQuestion& question) {
  auto points = io_curve(question);
  EXPECT_TRUE(points.ok()) << points.error().message;
  return std::move(points).value();
}

double counted(const IoPoint& point) {
  return static_cast<double>(point.counted.requested.total());
}

TEST(PaperTiling, GivesTheExamplesOfThePapersRule) {
  EXPECT_EQ(paper_tiling(164 * 1024 / 2, 64), (Tiling{64, 328}));
  EXPECT_EQ(paper_tiling(164 * 1024 / 2, 128), (Tiling{128, 164}));
  EXPECT_EQ(paper_tiling(64 * 1024 / 2, 64), (Tiling{64, 128}));
  EXPECT_EQ(paper_tiling(228 * 1024 / 2, 128), (Tiling{128, 228}));
  EXPECT_EQ(paper_tiling(164 * 1024 / 4, 64), (Tiling{64, 164}));
  EXPECT_EQ(paper_tiling(100, 64), (Tiling{1, 1}));
}

class BothPasses : public testing::TestWithParam<PassKind> {};

TEST_P(BothPasses, CountsAreTheClosedFormToTheByteAlongEveryAxis) {
  for (const IoAxis axis :
       {IoAxis::seq_len, IoAxis::head_dim, IoAxis::sram_bytes, IoAxis::block_cols}) {
    for (const IoPoint& point : curve(question_along(axis, usual_values(axis), GetParam()))) {
      EXPECT_EQ(counted(point), point.formula_bytes) << to_string(axis) << " " << point.value;
    }
  }
}

TEST_P(BothPasses, SparseCountsAreTheClosedFormWhereTheTilesDivideTheSequence) {
  for (const IoPoint& point :
       curve(question_along(IoAxis::density, {1.0 / 64, 0.125, 0.5, 1}, GetParam()))) {
    EXPECT_EQ(point.counted.run.tiling, (Tiling{64, 64}));
    EXPECT_EQ(point.sram_elems, 4 * 64 * 64);
    EXPECT_NEAR(point.density, point.value, 1e-12);
    EXPECT_NEAR(counted(point), point.formula_bytes, 0.5) << point.value;
  }
}

TEST_P(BothPasses, TheLeadingTermDominatesAsTheSequenceGrows) {
  const auto points = curve(question_along(IoAxis::seq_len, {2048, 8192, 32768}, GetParam()));
  double gap = 1;
  for (const IoPoint& point : points) {
    const double here = std::abs(counted(point) / point.leading_term_bytes - 1);
    EXPECT_LT(here, gap) << point.value;
    gap = here;
  }
  EXPECT_LT(gap, 0.06);  // statistics add 4 / (3 d) of the leading term in fp16
}

TEST_P(BothPasses, BytesFallAsOneOverMUntilTheInputsAreLeft) {
  const auto points = curve(question_along(IoAxis::sram_bytes, {16384, 32768, 65536}, GetParam()));
  EXPECT_NEAR(counted(points[0]) / counted(points[1]), 2, 0.1);
  EXPECT_NEAR(counted(points[1]) / counted(points[2]), 2, 0.15);
}

TEST_P(BothPasses, NoCountLiesBelowTheBounds) {
  for (const IoAxis axis : {IoAxis::seq_len, IoAxis::head_dim, IoAxis::sram_bytes,
                            IoAxis::block_cols, IoAxis::density}) {
    for (const IoPoint& point : curve(question_along(axis, usual_values(axis), GetParam()))) {
      EXPECT_GE(counted(point), point.lower_bound_order_bytes.value_or(0))
          << to_string(axis) << " " << point.value;
      EXPECT_GE(static_cast<double>(point.standard_bytes), point.compulsory_bytes);
      if (axis != IoAxis::density && point.in_range) {
        EXPECT_GE(counted(point), point.compulsory_bytes) << to_string(axis) << " " << point.value;
      }
    }
  }
}

TEST_P(BothPasses, StandardIsTheoremTwosAndFivesOtherHalf) {
  const Index products = GetParam() == PassKind::forward ? 4 : 7;
  const Index matrices = GetParam() == PassKind::forward ? 4 : 8;
  for (const IoPoint& point : curve(question_along(IoAxis::seq_len, {1024, 4096}, GetParam()))) {
    const auto N = static_cast<Index>(point.value);
    EXPECT_EQ(point.standard_bytes, Index{6} * 2 * (products * N * N + matrices * N * 64));
  }
}

INSTANTIATE_TEST_SUITE_P(Theorems2And5, BothPasses,
                         testing::Values(PassKind::forward, PassKind::backward),
                         [](const auto& test) { return std::string(to_string(test.param)); });

TEST(IoCurve, KnowsWhereTheTheoremsHold) {
  const auto points = curve(question_along(IoAxis::seq_len, {256, 4096}));
  EXPECT_FALSE(points[0].in_range);  // M = 83456 > 256 * 64
  EXPECT_TRUE(points[1].in_range);
}

TEST(IoCurve, HasALowerBoundOnlyWhereMIsAtLeastDSquared) {
  // Bc = 16: M = 4 x 128 x 16 = 8192 < 128 x 128; Bc = 32: M = d^2
  IoQuestion question = question_along(IoAxis::block_cols, {16, 32, 4096});
  question.problem.d = 128;
  const auto points = curve(question);
  EXPECT_TRUE(points[0].in_range);
  EXPECT_FALSE(points[0].lower_bound_order_bytes.has_value());
  EXPECT_DOUBLE_EQ(points[1].lower_bound_order_bytes.value(), 6.0 * 2 * 4096 * 4096);
  EXPECT_FALSE(points[2].in_range);  // M = 4 x 128 x 4096 > 4096 x 128
  EXPECT_FALSE(points[2].lower_bound_order_bytes.has_value());
}

TEST(IoCurve, LeavesABlockMaskTilesToChooseAmong) {
  IoQuestion question = question_along(IoAxis::density, {0.0625});
  question.problem = usual_io_problem();
  EXPECT_EQ(curve(question)[0].counted.run.tiling, (Tiling{64, 128}));
  EXPECT_DOUBLE_EQ(curve(question)[0].density, 0.0625);
  question.gpu.shared_bytes_per_block = Index{16} * 1024;  // the paper's rule gives smaller tiles
  EXPECT_EQ(curve(question)[0].counted.run.tiling, (Tiling{32, 32}));
  question.problem.N = question.problem.N_kv = 100;
  EXPECT_EQ(curve(question)[0].counted.run.tiling, (Tiling{1, 1}));
}

TEST(IoCurve, RefusesWhatHasNoCurve) {
  EXPECT_FALSE(io_curve(question_along(IoAxis::density, {0})).ok());
  EXPECT_FALSE(io_curve(question_along(IoAxis::density, {1.5})).ok());
  EXPECT_FALSE(io_curve(question_along(IoAxis::seq_len, {0.5})).ok());
  EXPECT_FALSE(io_curve(question_along(IoAxis::seq_len, {64}, PassKind::both)).ok());
  IoQuestion masked = question_along(IoAxis::seq_len, {64});
  masked.problem.mask = Mask::causal();
  EXPECT_FALSE(io_curve(masked).ok());
}

}  // namespace
}  // namespace attnscope
