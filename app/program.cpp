#include "app/program.h"
#include "reference/one_line.h"

#include <fmt/core.h>

#include <chrono>
#include <cstdio>

namespace attnscope::app {

int report(const Error& error) {
  fmt::print(stderr, "attnscope: {}\n", one_line(error.message));
  return error.kind == Error::Kind::invalid_request ? kInvalidRequest : kFailed;
}

double steady_now_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace attnscope::app
