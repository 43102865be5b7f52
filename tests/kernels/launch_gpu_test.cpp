/// The entry point: launch names, and requests that it rejects.
#include "kernels/catalog.h"
#include "kernels/launch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "kernels/host/device_buffer.h"
#include "kernels/run_programs.h"
#include "reference/rounding.h"
#include "tests/kernels/backward_run.h"
#include "tests/support/kernel_run.h"

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

TEST(LaunchForward, ThreadsRunStandardOnStreamsOfTheirOwn) {
  ATTNSCOPE_NEEDS_GPU();
  const AttentionProblem problem{
      .heads = 4, .kv_heads = 2, .N = 300, .N_kv = 277, .d = 64, .dtype = DType::bf16, .mask = {}};
  const AttentionInputs inputs = make_inputs(problem, {});
  const auto alone = run_forward({.kernel = find_kernel("standard")}, problem, inputs).O_bytes;
  std::vector<std::thread> threads;
  threads.reserve(4);
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&] {
      cudaStream_t stream = nullptr;
      ATTNSCOPE_CUDA(cudaStreamCreate(&stream));
      for (int repeat = 0; repeat < 10; ++repeat) {
        const auto run =
            run_forward({.kernel = find_kernel("standard"), .stream = stream}, problem, inputs);
        EXPECT_EQ(run.O_bytes, alone);
      }
      ATTNSCOPE_CUDA(cudaStreamDestroy(stream));
    });
  }
  for (std::thread& thread : threads) thread.join();
}

AttentionProblem problem_of_many_blocks(Index N, Index N_kv) {
  return {.batch = 60,
          .heads = 6,
          .kv_heads = 2,
          .N = N,
          .N_kv = N_kv,
          .d = 64,
          .dtype = DType::bf16,
          .mask = Mask::causal()};
}

TEST(LaunchForward, RunsOfManyThreadBlocksGiveTheSameBits) {
  ATTNSCOPE_NEEDS_GPU();
  const AttentionProblem problem = problem_of_many_blocks(128, 200);
  const AttentionInputs inputs = make_inputs(problem, {.seed = 50});
  for (const KernelInfo& kernel : catalog()) {
    const ForwardRun run = run_forward({.kernel = &kernel, .runs = kRepeats}, problem, inputs);
    EXPECT_EQ(run.runs_of_other_bits, 0) << kernel.name;
  }
}

TEST(DeviceTables, KeepAnArrayThatIsInUseWhenTheyStartOver) {
  ATTNSCOPE_NEEDS_GPU();
  DeviceTables tables;
  const auto upload = [&](int n) {
    const std::array<int, 3> array = {n, n + 1, n + 2};
    return tables.find_or_upload(std::as_bytes(std::span(array)));
  };
  const auto first = upload(0);
  EXPECT_EQ(upload(0), first) << "uploaded once";
  for (int n = 1; n <= 64; ++n) upload(n);
  std::array<int, 3> content{};
  first->copy_to_host(content.data());
  EXPECT_THAT(content, ElementsAre(0, 1, 2));
  EXPECT_NE(upload(0), first) << "released, and uploaded again";
}

TEST(LaunchForward, CallsTheMarksOfEachCallOnly) {
  ATTNSCOPE_NEEDS_GPU();
  const DeviceTensor tensor(1, 1, 64, 64, DType::bf16, Layout::contiguous);
  const DeviceTensor LSE(1, 1, 64, 1, DType::fp32, Layout::contiguous);
  PassArguments arguments;
  arguments.resources = &test_resources();
  arguments.run =
      test::kernel_run("flash1", {.N = 64, .N_kv = 64, .d = 64, .dtype = DType::bf16, .mask = {}});
  const DeviceBuffer workspace(workspace_bytes(arguments.run));
  arguments.Q = arguments.K = arguments.V = arguments.O = tensor.view();
  arguments.LSE_dev = static_cast<float*>(LSE.view().data_dev);
  arguments.workspace_dev = workspace.data_dev();
  arguments.workspace_bytes = workspace.bytes();
  const Pass pass = prepared_pass(arguments);
  std::vector<std::string> calls;
  const LaunchMarks marks{
      .before = [&](std::string_view name) { calls.push_back("before " + std::string(name)); },
      .after = [&](std::string_view name) { calls.push_back("after " + std::string(name)); }};
  ASSERT_EQ(pass(marks), std::nullopt);
  EXPECT_THAT(calls, ElementsAre("before initialise", "after initialise", "before forward",
                                 "after forward", "before lse", "after lse"));
  ASSERT_EQ(pass({}), std::nullopt);
  EXPECT_EQ(calls.size(), 6u);
  ATTNSCOPE_CUDA(cudaDeviceSynchronize());
}

/// dQ may differ by the rounding to 16 bits if it is summed in an arbitrary order in fp32.
TEST(LaunchBackward, RunsOfManyThreadBlocksGiveTheSameKeyGradientsToTheBit) {
  ATTNSCOPE_NEEDS_GPU();
  const AttentionProblem problem = problem_of_many_blocks(64, 600);  // several column tiles
  const AttentionInputs inputs = make_inputs(problem, {.seed = 51});
  const ForwardResult forward = naive_forward(problem, inputs);
  int kernels = 0;
  for (const KernelInfo& kernel : catalog()) {
    if (!kernel.has_backward()) continue;
    const BackwardRun run =
        run_backward({.kernel = &kernel, .passes = kRepeats, .measures_dQ_changes = true}, problem,
                     inputs, forward);
    EXPECT_EQ(run.passes_of_other_dK_dV, 0) << kernel.name;
    double largest = 0.0;
    for (const double value : run.gradients.dQ.data) largest = std::max(largest, std::fabs(value));
    EXPECT_GT(largest, 0.0) << kernel.name;
    EXPECT_LE(run.largest_dQ_change, unit_in_last_place(problem.dtype, largest)) << kernel.name;
    ++kernels;
  }
  EXPECT_EQ(kernels, 4);
}

/// An address on the GPU of which only the alignment is checked.
void* place_dev(std::uintptr_t address) {
  return reinterpret_cast<void*>(address);  // NOLINT(performance-no-int-to-ptr): never read
}

/// Arguments that would be accepted; nothing is launched in the tests below.
PassArguments plausible_arguments(PassKind pass = PassKind::forward) {
  PassArguments arguments;
  arguments.resources = &test_resources();
  arguments.run = test::kernel_run(
      "flash2", {.N = 64, .N_kv = 64, .d = 64, .dtype = DType::bf16, .mask = {}}, pass);
  const TensorView view{
      .data_dev = place_dev(4096), .stride_batch = 4096, .stride_head = 4096, .stride_row = 64};
  arguments.Q = arguments.K = arguments.V = arguments.O = view;
  arguments.dO = arguments.dQ = arguments.dK = arguments.dV = view;
  arguments.LSE_dev = static_cast<float*>(view.data_dev);
  return arguments;
}

std::string refusal(std::string_view kernel, PassArguments arguments) {
  arguments.run.asked.kernel = kernel;
  const auto error = launch(arguments);
  if (!error) return "accepted";
  EXPECT_EQ(error->kind, Error::Kind::invalid_request);
  return error->message;
}

TEST(LaunchForward, RefusesMemoryThatItCannotReadInWholePieces) {
  PassArguments arguments = plausible_arguments();
  arguments.K.data_dev = place_dev(4104);
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
  PassArguments arguments = plausible_arguments();
  arguments.LSE_dev = nullptr;
  EXPECT_THAT(refusal("flash2", arguments), HasSubstr("LSE"));
  EXPECT_THAT(refusal("standard", arguments), HasSubstr("kernel standard needs 16384"));
  EXPECT_THAT(refusal("flash1", arguments), HasSubstr("workspace has 0 bytes"));
}

TEST(LaunchForward, RefusesALseOrAWorkspaceThatIsNotAligned) {
  PassArguments arguments = plausible_arguments();
  arguments.LSE_dev = static_cast<float*>(place_dev(4098));
  EXPECT_EQ(refusal("flash2", arguments),
            "LSE is not aligned; its address must be a multiple of 4 bytes");
  arguments = plausible_arguments();
  arguments.workspace_dev = place_dev(4096 + 16);
  arguments.workspace_bytes = 1 << 20;
  for (const std::string_view kernel : {"standard", "flash1", "split_kv", "block_sparse2"}) {
    EXPECT_EQ(refusal(kernel, arguments),
              "the workspace is not aligned; its address must be a multiple of 256 bytes")
        << kernel;
  }
}

TEST(LaunchForward, RefusesASwitchOfTheProgramThatTheStridesRuleOut) {
  ATTNSCOPE_NEEDS_GPU();
  if (!current_gpu().has_hopper_instructions()) GTEST_SKIP() << "no Hopper";
  PassArguments arguments = plausible_arguments();
  arguments.workspace_dev = place_dev(4096);
  arguments.workspace_bytes = 1 << 20;
  arguments.run.problem.heads = arguments.run.problem.kv_heads = 2;
  arguments.run.asked.switches = {{"overlap", "off"}};
  arguments.K.stride_head = 0;
  EXPECT_THAT(refusal("flash2", arguments),
              HasSubstr("does not run this forward pass on tensors with these strides"));
}

TEST(LaunchBackward, RefusesAWorkspaceThatIsNotAligned) {
  PassArguments arguments = plausible_arguments(PassKind::backward);
  arguments.forward_workspace_dev = arguments.LSE_dev;
  arguments.workspace_dev = place_dev(4096 + 128);
  arguments.workspace_bytes = 1 << 20;
  EXPECT_EQ(refusal("flash2", arguments),
            "the workspace is not aligned; its address must be a multiple of 256 bytes");
}

TEST(LaunchForward, PassesOnWhatTheCatalogRefuses) {
  PassArguments arguments = plausible_arguments();
  arguments.run.asked.set_tiling({40, 48});
  arguments.run.tiling = {40, 48};
  EXPECT_THAT(refusal("flash2", arguments), HasSubstr("40x48"));
}

TEST(BackwardLaunches, AreNamedAndHeadsAreSummedOnlyInGroups) {
  ATTNSCOPE_NEEDS_GPU();
  AttentionProblem problem{
      .batch = 1, .heads = 2, .kv_heads = 2, .N = 20, .N_kv = 20, .d = 64, .mask = {}};
  const std::pair<const char*, std::vector<std::string>> launches_alone[] = {
      {"standard", {"dV", "dP", "dS", "dQ", "dK"}},
      {"flash1", {"initialise", "backward"}},
      {"flash2", {"preprocess", "backward", "convert"}}};
  for (const auto& [kernel, alone] : launches_alone) {
    std::vector<std::string> grouped = alone;
    grouped.emplace_back("sum_heads");
    for (const Index kv_heads : {2, 1}) {
      problem.kv_heads = kv_heads;
      const AttentionInputs inputs = make_inputs(problem, {});
      const BackwardRun run = run_backward({.kernel = find_kernel(kernel)}, problem, inputs,
                                           naive_forward(problem, inputs));
      EXPECT_EQ(run.launches, kv_heads == 2 ? alone : grouped) << kernel;
    }
  }
}

TEST(BackwardLaunches, RefuseWhatTheyCannotDoInOneLine) {
  ATTNSCOPE_NEEDS_GPU();
  PassArguments arguments;
  arguments.resources = &test_resources();
  arguments.run =
      test::kernel_run("flash2", {.N = 8, .N_kv = 8, .d = 64, .mask = {}}, PassKind::backward);
  EXPECT_EQ(refusal("flash2", arguments), "Q is a null pointer");
}

TEST(BackwardLaunches, RefuseAWorkspaceThatIsTooSmall) {
  ATTNSCOPE_NEEDS_GPU();
  const AttentionProblem problem{.N = 8, .N_kv = 8, .d = 64, .mask = {}};
  const DeviceTensor tensor(1, 1, 8, 64, problem.dtype, Layout::contiguous);
  PassArguments arguments;
  arguments.resources = &test_resources();
  arguments.run = test::kernel_run("flash2", problem, PassKind::backward);
  arguments.Q = arguments.K = arguments.V = arguments.O = arguments.dO = tensor.view();
  arguments.dQ = arguments.dK = arguments.dV = tensor.view();
  EXPECT_EQ(refusal("flash2", arguments),
            "LSE is a null pointer; the backward pass of kernel flash2 reads it");
  arguments.LSE_dev = static_cast<float*>(tensor.view().data_dev);
  EXPECT_EQ(refusal("flash2", arguments), "the workspace has 0 bytes; kernel flash2 needs 4608");
  EXPECT_EQ(refusal("standard", arguments),
            "the forward pass's workspace is a null pointer; the backward pass of kernel standard "
            "reads it");
}

}  // namespace
}  // namespace attnscope::kernels
