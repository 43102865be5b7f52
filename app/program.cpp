#include "app/program.h"
#include "reference/one_line.h"

#include <fmt/core.h>
#include <time.h>

#include <chrono>
#include <cstdio>

namespace attnscope::app {

int report(const Error& error) {
  fmt::print(stderr, "attnscope: {}\n", one_line(words(error, Reader::command_line)));
  return error.kind == Error::Kind::invalid_request ? kInvalidRequest : kFailed;
}

double steady_now_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double thread_cpu_s() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

}  // namespace attnscope::app
