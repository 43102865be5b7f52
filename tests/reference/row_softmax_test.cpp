#include "reference/row_softmax.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace attnscope {
namespace {

constexpr SoftmaxMethod kMethods[] = {SoftmaxMethod::naive, SoftmaxMethod::safe,
                                      SoftmaxMethod::online};

TEST(RowSoftmax, EveryMethodIsRightIfNothingOverflows) {
  std::vector<double> x;
  x.reserve(100);
  for (int k = 0; k < 100; ++k) x.push_back(std::sin(k) * 3);
  for (const SoftmaxMethod method : kMethods) {
    const RowSoftmax row = row_softmax(method, DType::fp32, x);
    EXPECT_EQ(row.overflowed_elems, 0) << to_string(method);
    EXPECT_EQ(row.nan_elems, 0) << to_string(method);
    EXPECT_LE(row.max_abs_error, 1e-7) << to_string(method);
    EXPECT_GT(row.max_abs_error, 0.0) << "nothing was rounded";
    EXPECT_NEAR(std::accumulate(row.P.begin(), row.P.end(), 0.0), 1.0, 1e-5);
  }
}

TEST(RowSoftmax, TheNaiveOneOverflowsWhereTheTypeEnds) {
  // exp(11.09) = 65512 exceeds the largest fp16, exp(88.73) the largest fp32 and bf16
  const std::pair<DType, double> ends[] = {
      {DType::fp16, 11.1}, {DType::bf16, 89.0}, {DType::fp32, 88.8}};
  for (const auto& [dtype, score] : ends) {
    const std::vector<double> x = {score, score - 1, 0.0};
    const RowSoftmax naive = row_softmax(SoftmaxMethod::naive, dtype, x);
    EXPECT_EQ(naive.overflowed_elems, 1) << to_string(dtype);
    EXPECT_EQ(naive.nan_elems, 1) << "inf / inf in " << to_string(dtype);
    EXPECT_TRUE(std::isinf(naive.l));
    const std::vector<double> below = {score - 0.6, 0.0};
    EXPECT_EQ(row_softmax(SoftmaxMethod::naive, dtype, below).nan_elems, 0) << to_string(dtype);
    for (const auto method : {SoftmaxMethod::safe, SoftmaxMethod::online}) {
      const RowSoftmax row = row_softmax(method, dtype, x);
      EXPECT_EQ(row.nan_elems + row.overflowed_elems, 0) << to_string(dtype);
      EXPECT_LE(row.max_abs_error, 0.01) << to_string(dtype);
    }
  }
}

TEST(RowSoftmax, TheSumOverflowsEvenWhereNoNumeratorDoes) {
  const std::vector<double> x(10, 10.5);  // exp = 36316; the sum of ten exceeds fp16
  const RowSoftmax naive = row_softmax(SoftmaxMethod::naive, DType::fp16, x);
  EXPECT_EQ(naive.overflowed_elems, 0);
  EXPECT_TRUE(std::isinf(naive.l));
  EXPECT_NEAR(naive.max_abs_error, 0.1, 1e-12) << "every P is 0";
  EXPECT_NEAR(row_softmax(SoftmaxMethod::online, DType::fp16, x).l, 10.0, 1e-12);
}

TEST(RowSoftmax, TheOnlineOneBringsOldSumsToEachNewMaximum) {
  std::vector<double> rising;
  rising.reserve(64);
  for (int k = 0; k < 64; ++k) rising.push_back(k * 0.5);
  const RowSoftmax online = row_softmax(SoftmaxMethod::online, DType::fp32, rising);
  const RowSoftmax safe = row_softmax(SoftmaxMethod::safe, DType::fp32, rising);
  EXPECT_NEAR(online.l, safe.l, 1e-6);
  EXPECT_LE(online.max_abs_error, 2e-7);
}

TEST(RowSoftmax, OnlineStatesEndWithTheSumOfTheWholeRow) {
  std::vector<double> x;
  x.reserve(50);
  for (int k = 0; k < 50; ++k) x.push_back(std::sin(k) * 20);
  const std::vector<OnlineState> states = online_states(DType::fp32, x);
  ASSERT_EQ(states.size(), x.size());
  for (std::size_t n = 1; n <= x.size(); ++n) {
    const std::span<const double> seen(x.data(), n);
    EXPECT_EQ(states[n - 1].l, row_softmax(SoftmaxMethod::online, DType::fp32, seen).l);
    EXPECT_EQ(states[n - 1].m, static_cast<float>(*std::max_element(
                                   x.begin(), x.begin() + static_cast<std::ptrdiff_t>(n))));
  }
}

TEST(RowSoftmax, AnEmptyRowHasNoElements) {
  EXPECT_TRUE(row_softmax(SoftmaxMethod::online, DType::fp16, {}).P.empty());
}

}  // namespace
}  // namespace attnscope
