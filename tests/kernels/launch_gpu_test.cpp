/// The entry point: launch names, and requests that it refuses.
#include "kernels/launch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/kernels/forward_run.h"

namespace attnscope::kernels {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> launches_of(std::string_view kernel, Carry carry) {
  const AttentionProblem problem{.N = 64, .N_kv = 64, .d = 16, .dtype = DType::fp16, .mask = {}};
  return run_forward({.kernel = find_kernel(kernel), .carry = carry}, problem,
                     make_inputs(problem, {}))
      .launches;
}

TEST(LaunchForward, NamesItsLaunches) {
  ATTNSCOPE_NEEDS_GPU();
  EXPECT_THAT(launches_of("standard", Carry::problem), ElementsAre("scores", "softmax", "output"));
  EXPECT_THAT(launches_of("flash1", Carry::problem), ElementsAre("initialise", "forward", "lse"));
  EXPECT_THAT(launches_of("flash1", Carry::fp32),
              ElementsAre("initialise", "forward", "convert", "lse"));
  EXPECT_THAT(launches_of("flash2", Carry::problem), ElementsAre("forward"));
  EXPECT_THAT(launches_of("split_kv", Carry::problem), ElementsAre("partial", "combine"));
}

/// Arguments that would be accepted; nothing is launched in the tests below.
ForwardArguments plausible_arguments() {
  ForwardArguments arguments;
  arguments.problem = {.N = 64, .N_kv = 64, .d = 64, .dtype = DType::bf16, .mask = {}};
  const TensorView view{.data_dev = reinterpret_cast<void*>(std::uintptr_t{4096}),
                        .stride_batch = 4096,
                        .stride_head = 4096,
                        .stride_row = 64};
  arguments.Q = arguments.K = arguments.V = arguments.O = view;
  arguments.LSE_dev = static_cast<float*>(view.data_dev);
  return arguments;
}

std::string refusal(std::string_view kernel, const ForwardArguments& arguments) {
  const auto error = launch_forward(*find_kernel(kernel), arguments);
  if (!error) return "accepted";
  EXPECT_EQ(error->kind, Error::Kind::invalid_request);
  return error->message;
}

TEST(LaunchForward, RefusesMemoryThatItCannotReadInWholePieces) {
  ForwardArguments arguments = plausible_arguments();
  arguments.K.data_dev = reinterpret_cast<void*>(std::uintptr_t{4104});
  EXPECT_THAT(refusal("flash2", arguments), HasSubstr("K is not aligned"));
  arguments = plausible_arguments();
  arguments.V.stride_row = 68;
  EXPECT_THAT(refusal("flash2", arguments), HasSubstr("V has a stride of 68"));
  arguments = plausible_arguments();
  arguments.Q.stride_row = 32;
  EXPECT_THAT(refusal("flash2", arguments), HasSubstr("Q has rows 32 elements apart"));
  arguments = plausible_arguments();
  arguments.O.data_dev = nullptr;
  EXPECT_THAT(refusal("flash2", arguments), HasSubstr("O is a null pointer"));
}

TEST(LaunchForward, RefusesAMissingLseOrWorkspace) {
  ForwardArguments arguments = plausible_arguments();
  arguments.LSE_dev = nullptr;
  EXPECT_THAT(refusal("flash2", arguments), HasSubstr("LSE"));
  EXPECT_THAT(refusal("standard", arguments), HasSubstr("kernel standard needs 16384"));
  EXPECT_THAT(refusal("flash1", arguments), HasSubstr("workspace has 0 bytes"));
}

TEST(LaunchForward, PassesOnWhatTheCatalogRefuses) {
  ForwardArguments arguments = plausible_arguments();
  arguments.tiling = Tiling{48, 48};
  EXPECT_THAT(refusal("flash2", arguments), HasSubstr("48x48"));
}

}  // namespace
}  // namespace attnscope::kernels
