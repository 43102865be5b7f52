/// Sums and products of counts that report an error, rather than a wrong number, if the result does
/// not fit in 63 bits.
#pragma once

#include "reference/attention_problem.h"

namespace attnscope {

/// A count of 2^63 or more.
class CountTooLarge : public std::overflow_error {
 public:
  CountTooLarge() : std::overflow_error("a count does not fit: it is 2^63 or more") {}
};

/// Throws CountTooLarge.
constexpr Index checked_sum(Index a, Index b) {
  Index sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) throw CountTooLarge();
  return sum;
}

/// Throws CountTooLarge.
constexpr Index checked_product(Index a, Index b) {
  Index product = 0;
  if (__builtin_mul_overflow(a, b, &product)) throw CountTooLarge();
  return product;
}

/// A struct of counts; its array kCounts lists all of them.
template <typename Counts>
concept CountStruct = requires {
  Counts::kCounts.size();
};

/// Throws CountTooLarge.
template <CountStruct Counts>
constexpr Counts& operator+=(Counts& sum, const Counts& other) {
  for (const auto count : Counts::kCounts) sum.*count = checked_sum(sum.*count, other.*count);
  return sum;
}
template <CountStruct Counts>
constexpr Counts operator-(Counts difference, const Counts& other) {
  for (const auto count : Counts::kCounts) difference.*count -= other.*count;
  return difference;
}
/// Throws CountTooLarge.
template <CountStruct Counts>
constexpr Counts operator*(Counts product, Index times) {
  for (const auto count : Counts::kCounts) product.*count = checked_product(product.*count, times);
  return product;
}

}  // namespace attnscope
