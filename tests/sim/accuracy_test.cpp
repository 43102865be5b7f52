#include "sim/accuracy.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace attnscope {
namespace {

AccuracyRequest small_request() {
  AccuracyRequest request;
  request.problem.d = 32;
  request.lengths = {64, 256};
  request.dtypes = {DType::bf16};
  request.tiling = {32, 32};
  request.orders = 3;
  request.carries = {Carry::problem, Carry::fp32};
  request.gpu = load_gpu("h200").value();
  return request;
}

const AccuracyReport& report_of_small() {
  static const AccuracyReport report =
      compare_accuracy(small_request(), [](const auto&) {}).value();
  return report;
}

const AccuracyCase& error_of(std::string_view algorithm, Carry carry, Index N) {
  const auto& errors = report_of_small().errors;
  const auto found = std::ranges::find_if(errors, [&](const AccuracyCase& entry) {
    return entry.run.algorithm == algorithm && entry.run.variant.carry == carry &&
           entry.run.problem.N == N;
  });
  EXPECT_NE(found, errors.end()) << algorithm;
  return *found;
}

TEST(Accuracy, NaiveOverflowsOnTheRowWhereSafeAndOnlineDoNot) {
  const SoftmaxComparison& softmax = report_of_small().softmax;
  EXPECT_GT(softmax.largest_score, 89.0);
  ASSERT_EQ(softmax.cases.size(), 9u);
  for (const SoftmaxCase& entry : softmax.cases) {
    const bool naive = entry.method == SoftmaxMethod::naive;
    EXPECT_EQ(entry.softmax.overflowed_elems > 0, naive);
    EXPECT_EQ(entry.softmax.nan_elems > 0, naive);
    if (naive) continue;
    EXPECT_LE(entry.softmax.max_abs_error, 0.01);
    // Rounding scores of this size costs more accuracy than the softmax
    if (entry.dtype == DType::fp32) {
      EXPECT_LE(entry.softmax.score_max_abs_error, 1e-4);
    }
    if (entry.dtype == DType::bf16) {
      EXPECT_GT(entry.softmax.score_max_abs_error, 1e-3);
      EXPECT_LT(entry.softmax.score_max_abs_error, 1.0);
    }
  }
}

TEST(Accuracy, EveryAlgorithmAndCarryHasItsErrors) {
  EXPECT_EQ(report_of_small().errors.size(), 2u * 5u);  // unfused, standard, flash1 twice, flash2
  for (const AccuracyCase& entry : report_of_small().errors) {
    for (const ErrorReport* error : {&entry.O, &entry.dQ, &entry.dK, &entry.dV}) {
      EXPECT_FALSE(error->has_nan) << entry.run.algorithm;
      EXPECT_GT(error->rel_fro_error, 1e-4) << entry.run.algorithm << ": nothing was rounded";
      EXPECT_LE(error->rel_fro_error, 0.02) << entry.run.algorithm;
    }
  }
}

TEST(Accuracy, ErrorsAloneAreThoseOfTheWholeReportAndCanBeStopped) {
  std::vector<double> shares;
  const auto errors = accuracy_errors(small_request(), [&](double share) {
    shares.push_back(share);
    return true;
  });
  ASSERT_TRUE(errors.ok());
  EXPECT_EQ(shares, (std::vector<double>{0.0, 1.0 / 17.0}));
  const auto& expected = report_of_small().errors;
  ASSERT_EQ(errors.value().size(), expected.size());
  for (std::size_t k = 0; k < expected.size(); ++k) {
    EXPECT_EQ(errors.value()[k].run.algorithm, expected[k].run.algorithm);
    EXPECT_EQ(errors.value()[k].dQ.rel_fro_error, expected[k].dQ.rel_fro_error);
  }
  const auto stopped = accuracy_errors(small_request(), [](double) { return false; });
  ASSERT_FALSE(stopped.ok());
  EXPECT_EQ(stopped.error().message, "cancelled");
}

TEST(Accuracy, CarryingOInBf16CostsMoreAsNGrowsAndFp32DoesNot) {
  const auto O = [](Carry carry, Index N) { return error_of("flash1", carry, N).O.rel_fro_error; };
  EXPECT_GT(O(Carry::problem, 256), 1.3 * O(Carry::problem, 64));
  EXPECT_LE(O(Carry::fp32, 256), 1.1 * O(Carry::fp32, 64));
  EXPECT_GT(O(Carry::problem, 256), 1.3 * O(Carry::fp32, 256));
}

TEST(Accuracy, KeepsFlash1sOutputInFp32UnlessAskedOtherwise) {
  AccuracyRequest request = small_request();
  request.carries = AccuracyRequest{}.carries;
  request.lengths = {64};
  const auto errors = accuracy_errors(request, [](double) { return true; }).value();
  EXPECT_EQ(errors.size(), 4u);  // unfused, standard, flash1, flash2
  for (const AccuracyCase& entry : errors) {
    EXPECT_EQ(entry.has_carry, entry.run.algorithm == "flash1");
    if (entry.has_carry) {
      EXPECT_EQ(entry.run.variant.carry, Carry::fp32);
    }
  }
}

TEST(Accuracy, OrdersChangeOnlyTheRoundingOfDqAndOnlyWithAtomicAdds) {
  AccuracyRequest request = small_request();
  request.dtypes = {DType::fp32};  // dQ is stored as it was summed
  const AccuracyReport report = compare_accuracy(request, [](const auto&) {}).value();
  ASSERT_GE(report.orders.size(), 3u);
  for (const OrderCase& entry : report.orders) {
    EXPECT_TRUE(entry.rest_is_identical) << entry.run.algorithm;
    EXPECT_EQ(entry.run.problem.N, 256);
    EXPECT_EQ(entry.dQ_differing_elems > 0, entry.run.algorithm == "flash2") << entry.run.algorithm;
    EXPECT_LE(entry.dQ_max_abs_difference, 1e-5) << entry.run.algorithm;
  }
}

TEST(Accuracy, NumbersItsStepsFromTheFirstToTheLast) {
  std::vector<std::string> steps;
  const auto note = [&](const std::string& step) { steps.push_back(step); };
  ASSERT_TRUE(compare_accuracy(small_request(), note).ok());
  ASSERT_GE(steps.size(), 2U);
  for (std::size_t n = 0; n < steps.size(); ++n) {
    EXPECT_TRUE(steps[n].starts_with(fmt::format("[{}/{}] ", n + 1, steps.size()))) << steps[n];
  }
}

TEST(Accuracy, RefusesWhatCannotBeCompared) {
  const auto refused = [](auto change) {
    AccuracyRequest request = small_request();
    change(request);
    const auto result = compare_accuracy(request, [](const auto&) {});
    return result.ok() ? std::string("accepted") : result.error().message;
  };
  EXPECT_NE(refused([](auto& r) { r.orders = 1; }).find("at least 2"), std::string::npos);
  EXPECT_NE(refused([](auto& r) { r.lengths = {1 << 20}; }).find("GB of memory"),
            std::string::npos);
  EXPECT_NE(refused([](auto& r) { r.carries.clear(); }).find("fp32 or problem"), std::string::npos);
  EXPECT_NE(refused([](auto& r) { r.lengths.clear(); }).find("at least one"), std::string::npos);
}

}  // namespace
}  // namespace attnscope
