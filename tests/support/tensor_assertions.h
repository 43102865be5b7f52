/// Comparison of tensors in tests, by the library's own compare(), which rejects NaN.
#pragma once

#include <gtest/gtest.h>

#include <span>

#include "reference/head_tensor.h"
#include "reference/tolerance.h"

namespace attnscope::test {

/// Success when every |x - ref| <= max_abs_error; names the worst element otherwise.
inline ::testing::AssertionResult is_near(std::span<const double> x, std::span<const double> ref,
                                          double max_abs_error) {
  if (x.size() != ref.size()) {
    return ::testing::AssertionFailure() << "sizes " << x.size() << " and " << ref.size();
  }
  const ErrorReport report = compare(x, ref);
  if (within(report, {max_abs_error})) return ::testing::AssertionSuccess();
  const auto worst = static_cast<std::size_t>(report.worst_index);
  return ::testing::AssertionFailure()
         << "element " << worst << ": " << x[worst] << " where the reference has " << ref[worst]
         << " (allowed " << max_abs_error << ")";
}

inline ::testing::AssertionResult is_near(const HeadTensor& x, const HeadTensor& ref,
                                          double max_abs_error) {
  if (!x.same_shape(ref)) return ::testing::AssertionFailure() << "shapes differ";
  return is_near(std::span(x.data), std::span(ref.data), max_abs_error);
}

}  // namespace attnscope::test
