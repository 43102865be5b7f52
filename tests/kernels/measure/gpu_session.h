/// A session for tests that need a GPU.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <string_view>

#include "kernels/measure/session.h"
#include "reference/attention_problem.h"

namespace attnscope::kernels {

/// A problem with grouped heads, more keys than queries and d = 64.
inline AttentionProblem grouped_problem(Index N, DType dtype, Mask mask) {
  return {.batch = 2,
          .heads = 4,
          .kv_heads = 2,
          .N = N,
          .N_kv = N + 17,
          .d = 64,
          .dtype = dtype,
          .mask = mask};
}

/// Skips the test without a GPU; fails it if ATTNSCOPE_REQUIRE_GPU=1 requires one.
class GpuTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto opened = Session::open(0);
    if (opened) {
      session_ = std::move(opened).value();
      return;
    }
    ASSERT_FALSE(is_required()) << opened.error().message;
    GTEST_SKIP() << opened.error().message;
  }

  static bool is_required() {
    const char* required = std::getenv("ATTNSCOPE_REQUIRE_GPU");
    return required != nullptr && std::string_view(required) == "1";
  }

  Session& session() { return *session_; }

  /// Runs the work on the GPU's thread, and expects that it succeeds.
  void on_gpu(const std::function<void()>& work) {
    const auto error = session().run([&]() -> std::optional<Error> {
      work();
      return std::nullopt;
    });
    ASSERT_FALSE(error) << error->message;
  }

 private:
  std::unique_ptr<Session> session_;
};

}  // namespace attnscope::kernels
