/// Binary search over numbers, in place of std::ranges::partition_point over std::views::iota:
/// clang 14 (`make fuzz`, `make lint`) rejects libstdc++'s std::views::iota.
#pragma once

namespace attnscope {

/// The first number of [first, past_last) for which `holds` is false, or `past_last` if there is
/// none. `holds` must be false for every number after the first for which it is false.
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
