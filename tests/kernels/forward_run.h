/// Runs one kernel on host inputs, for tests.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "kernels/catalog.h"
#include "kernels/launch.h"
#include "reference/naive_attention.h"
#include "tests/kernels/device_tensor.h"

namespace attnscope::kernels {

/// The kernel that runs, and how it is called.
struct ForwardCase {
  const KernelInfo* kernel = nullptr;
  std::optional<Tiling> tiling = std::nullopt;
  Carry carry = Carry::problem;
  std::map<std::string, std::string> switches = {};
  bool visit_hidden = false;
  Layout layout = Layout::contiguous;
  void* stream = nullptr;                ///< cudaStream_t, ordered with the default stream
  LaunchResources* resources = nullptr;  ///< null: test_resources()
  int runs = 1;  ///< runs on the same inputs; the last one's output is returned
};

/// The number of runs of a kernel whose outputs tests compare bit by bit.
inline constexpr int kRepeats = 250;

/// The case as text: "flash1 128x128 carry fp32".
std::string describe(const ForwardCase& forward_case);
/// The problem as text: "bf16 B2 H4/2 N113 N_kv203 d64 causal".
std::string describe(const AttentionProblem& problem);

/// Every kernel with each of its tilings and precisions of O in HBM for the problem's precision and
/// head dimension.
std::vector<ForwardCase> all_cases(const AttentionProblem& problem);

struct ForwardRun {
  ForwardResult result;
  std::vector<std::byte> O_bytes, LSE_bytes;  ///< as the kernel left them
  int runs_of_other_bits = 0;                 ///< later runs whose O or LSE differs
  bool padding_is_untouched = false;
  std::vector<std::string> launches;  ///< names of the launches, in order
};

/// Runs the case. O, LSE and the workspace are filled with NaN before each launch. Fails the test
/// on an error.
ForwardRun run_forward(const ForwardCase& forward_case, const AttentionProblem& problem,
                       const AttentionInputs& inputs);

/// The resources of the test program's GPU; never destroyed, because CUDA may already be shut down
/// when the program ends.
LaunchResources& test_resources();

/// The reason why this machine cannot run a kernel, or nothing. With ATTNSCOPE_REQUIRE_GPU=1, a
/// missing GPU is a failure.
std::optional<std::string> missing_gpu();

/// Skips the test if there is no GPU; fails it if one is required.
#define ATTNSCOPE_NEEDS_GPU()                                                         \
  if (const auto missing = ::attnscope::kernels::missing_gpu()) {                     \
    const char* required = std::getenv("ATTNSCOPE_REQUIRE_GPU");                      \
    if (required != nullptr && std::string_view(required) == "1") FAIL() << *missing; \
    GTEST_SKIP() << *missing;                                                         \
  }                                                                                   \
  static_assert(true)

}  // namespace attnscope::kernels
