/// Sums and products of counts that end with an error, not with a wrong number, where the result
/// does not fit 63 bits.
#pragma once

#include "reference/attention_problem.h"

namespace attnscope {

/// A count of 2^63 or more.
class CountTooLarge : public std::overflow_error {
 public:
  CountTooLarge() : std::overflow_error("a count does not fit: it is 2^63 or more") {}
};

/// Throws CountTooLarge.
inline Index checked_sum(Index a, Index b) {
  Index sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) throw CountTooLarge();
  return sum;
}

/// Throws CountTooLarge.
inline Index checked_product(Index a, Index b) {
  Index product = 0;
  if (__builtin_mul_overflow(a, b, &product)) throw CountTooLarge();
  return product;
}

}  // namespace attnscope
