/// Checks for programming errors, outside hot loops; active in release builds, too.
#pragma once

#include <fmt/core.h>

#include <stdexcept>

namespace attnscope {

/// A broken precondition or invariant inside AttnScope itself.
class CheckFailure : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

template <typename A, typename B>
[[noreturn]] void fail_check(const char* expression, const A& a, const B& b, const char* file,
                             int line) {
  throw CheckFailure(
      fmt::format("{}:{}: check failed: {} (left {}, right {})", file, line, expression, a, b));
}

}  // namespace attnscope

/// Throws CheckFailure with both values unless `a op b` holds, for example ATTNSCOPE_CHECK(i, <,
/// n).
#define ATTNSCOPE_CHECK(a, op, b)                                                         \
  do {                                                                                    \
    const auto& check_a_ = (a);                                                           \
    const auto& check_b_ = (b);                                                           \
    if (!(check_a_ op check_b_)) {                                                        \
      ::attnscope::fail_check(#a " " #op " " #b, check_a_, check_b_, __FILE__, __LINE__); \
    }                                                                                     \
  } while (false)
