/// Binary search over numbers. clang 14 (`make fuzz`, `make lint`) rejects std::views::iota of
/// libstdc++, and with it std::ranges::partition_point over numbers.
#pragma once

namespace attnscope {

/// The first number of [first, past_last) for which `holds` is false, `past_last` if there is none.
/// Once false, it is false for every number after it.
template <typename Number, typename Holds>
Number first_without(Number first, Number past_last, Holds holds) {
  while (first < past_last) {
    const Number middle = first + (past_last - first) / 2;
    if (holds(middle)) {
      first = middle + 1;
    } else {
      past_last = middle;
    }
  }
  return first;
}

}  // namespace attnscope
