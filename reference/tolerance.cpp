#include "reference/tolerance.h"

#include <algorithm>
#include <cmath>

#include "reference/check.h"
#include "reference/rounding.h"

namespace attnscope {

ErrorReport compare(std::span<const double> x, std::span<const double> ref) {
  ATTNSCOPE_CHECK(x.size(), ==, ref.size());
  ErrorReport report;
  double difference_squared = 0.0;
  double ref_squared = 0.0;
  for (std::size_t n = 0; n < x.size(); ++n) {
    if (std::isnan(x[n]) || std::isnan(ref[n])) {
      if (!report.has_nan) report.worst_index = static_cast<Index>(n);
      report.has_nan = true;
      continue;
    }
    const bool both_finite = std::isfinite(x[n]) && std::isfinite(ref[n]);
    const double error = both_finite ? std::fabs(x[n] - ref[n]) : x[n] == ref[n] ? 0.0 : kInfinity;
    if (both_finite) {
      difference_squared += error * error;
      ref_squared += ref[n] * ref[n];
    }
    if (error > report.max_abs_error) {
      report.max_abs_error = error;
      if (!report.has_nan) report.worst_index = static_cast<Index>(n);
    }
  }
  if (difference_squared > 0.0) {
    report.rel_fro_error =
        ref_squared > 0.0 ? std::sqrt(difference_squared / ref_squared) : kInfinity;
  }
  if (std::isinf(report.max_abs_error)) report.rel_fro_error = kInfinity;
  return report;
}

bool within(const ErrorReport& report, const Tolerance& tolerance) {
  if (report.has_nan) return false;
  const bool is_precise = tolerance.rel_fro > 0.0 && report.rel_fro_error <= tolerance.rel_fro;
  return is_precise || report.max_abs_error <= tolerance.max_abs;
}

Tolerance tolerance_from(std::span<const double> yardstick, std::span<const double> ref,
                         DType stored, double k) {
  double largest = 0.0;
  for (const double value : ref) {
    if (std::isfinite(value)) largest = std::max(largest, std::fabs(value));
  }
  const ErrorReport error = compare(yardstick, ref);
  // A yardstick that has itself failed allows no error: only the unit in the last place remains
  const bool usable = !error.has_nan && std::isfinite(error.max_abs_error);
  const double measured = usable ? k * error.max_abs_error : 0.0;
  return {std::max(measured, unit_in_last_place(stored, largest))};
}

namespace {

double largest_of(std::span<const double> values) {
  double largest = 0.0;
  for (const double value : values) largest = std::max(largest, std::fabs(value));
  return largest;
}

}  // namespace

Tolerance gradient_tolerance(const AttentionProblem& problem, const AttentionInputs& inputs,
                             std::span<const double> yardstick, std::span<const double> ref) {
  Tolerance tolerance = tolerance_from(yardstick, ref, problem.dtype, kGradientFactor);
  if (problem.dtype == DType::fp32) tolerance.rel_fro = kFp32RelError;
  const double terms = static_cast<double>(problem.d * problem.heads_per_kv_head() * problem.N);
  const double cancelled_rounding = 0x1p-23 * std::sqrt(terms) * largest_of(inputs.dO.data) *
                                    largest_of(inputs.V.data) *
                                    std::max(largest_of(inputs.Q.data), largest_of(inputs.K.data));
  if (largest_of(ref) < cancelled_rounding) {
    tolerance.max_abs = std::max(tolerance.max_abs, cancelled_rounding);
  }
  return tolerance;
}

Tolerance forward_tolerance(const AttentionProblem& problem, const AttentionInputs& inputs,
                            const ForwardResult& reference, double k) {
  const ForwardResult unfused = unfused_forward(problem, inputs);
  return tolerance_from(unfused.O.data, reference.O.data, problem.dtype, k);
}

}  // namespace attnscope
