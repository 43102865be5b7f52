#include "tests/kernels/forward_run.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "kernels/launch_resources.h"
#include "kernels/run_programs.h"
#include "tests/kernels/tested_tilings.h"
#include "tests/support/kernel_run.h"

namespace attnscope::kernels {

std::string describe(const ForwardCase& forward_case) {
  std::string text(forward_case.kernel->name);
  if (forward_case.tiling) {
    text += fmt::format(" {}x{}", forward_case.tiling->Br, forward_case.tiling->Bc);
  }
  if (forward_case.kernel->honours_carry) {
    text += fmt::format(" carry {}", to_string(forward_case.carry));
  }
  for (const auto& [name, value] : forward_case.switches) {
    text += fmt::format(" {}={}", name, value);
  }
  if (forward_case.layout == Layout::interleaved) text += " interleaved";
  return text;
}

std::string describe(const AttentionProblem& problem) {
  return fmt::format("{} B{} H{}/{} N{} N_kv{} d{} {}", to_string(problem.dtype), problem.batch,
                     problem.heads, problem.kv_heads, problem.N, problem.N_kv, problem.d,
                     to_string(problem.mask));
}

std::vector<ForwardCase> all_cases(const AttentionProblem& problem) {
  std::vector<ForwardCase> cases;
  for (const KernelInfo& kernel : catalog()) {
    for (Carry carry : {Carry::problem, Carry::fp32}) {
      if (carry == Carry::fp32 && !kernel.honours_carry) continue;
      if (!takes_pass(kernel, PassKind::forward, problem.dtype)) continue;
      for (const Tiling& tiling : tested_tilings(kernel, PassKind::forward, problem, carry)) {
        ForwardCase tiled{.kernel = &kernel, .tiling = tiling, .carry = carry};
        cases.push_back(tiled);
        if (!has_two_programs(kernel, PassKind::forward, problem, tiling)) continue;
        tiled.switches[kInstructionsKnob] = "mma";
        cases.push_back(std::move(tiled));
      }
    }
  }
  EXPECT_FALSE(cases.empty());
  return cases;
}

ForwardRun run_forward(const ForwardCase& forward_case, const AttentionProblem& problem,
                       const AttentionInputs& inputs) {
  const auto uploaded = [&](const HeadTensor& values) {
    DeviceTensor tensor(values.batch, values.heads, values.rows, values.cols, problem.dtype,
                        forward_case.layout);
    tensor.upload(values);
    return tensor;
  };
  const DeviceTensor Q = uploaded(inputs.Q);
  const DeviceTensor K = uploaded(inputs.K);
  const DeviceTensor V = uploaded(inputs.V);
  DeviceTensor O(problem.batch, problem.heads, problem.N, problem.d, problem.dtype,
                 forward_case.layout);
  DeviceTensor LSE(problem.batch, problem.heads, problem.N, 1, DType::fp32, Layout::contiguous);
  ForwardRun run;
  PassArguments arguments;
  arguments.resources =
      forward_case.resources != nullptr ? forward_case.resources : &test_resources();
  arguments.run = test::kernel_run(forward_case.kernel->name, problem, PassKind::forward,
                                   forward_case.tiling, forward_case.carry);
  arguments.run.asked.switches = forward_case.switches;
  arguments.run.asked.variant.visit_hidden = forward_case.visit_hidden;
  DeviceBuffer workspace(workspace_bytes(arguments.run));
  arguments.Q = Q.view();
  arguments.K = K.view();
  arguments.V = V.view();
  arguments.O = O.view();
  arguments.LSE_dev = static_cast<float*>(LSE.view().data_dev);
  arguments.workspace_dev = workspace.data_dev();
  arguments.workspace_bytes = workspace.bytes();
  arguments.stream = forward_case.stream;
  const Pass pass = prepared_pass(arguments);
  const LaunchMarks marks{
      .before = [&](std::string_view name) { run.launches.emplace_back(name); }};
  std::vector<std::byte> first_O, first_LSE;
  for (int n = 0; n < forward_case.runs; ++n) {
    run.launches.clear();
    O.poison();
    LSE.poison();
    workspace.fill_bytes(0xff);
    const auto error = pass(marks);
    EXPECT_FALSE(error) << describe(forward_case) << ": " << error->message;
    ATTNSCOPE_CUDA(cudaDeviceSynchronize());
    run.O_bytes = O.bytes();
    run.LSE_bytes = LSE.bytes();
    if (n == 0) {
      first_O = run.O_bytes;
      first_LSE = run.LSE_bytes;
    }
    run.runs_of_other_bits += run.O_bytes != first_O || run.LSE_bytes != first_LSE ? 1 : 0;
  }

  run.result = {.O = O.download(), .LSE = LSE.download()};
  run.padding_is_untouched = O.padding_is_untouched();
  return run;
}

LaunchResources& test_resources() {
  static auto& resources = *new LaunchResources;
  return resources;
}

std::optional<std::string> missing_gpu() {
  int count = 0;
  const cudaError_t code = cudaGetDeviceCount(&count);
  if (code == cudaSuccess && count > 0) return std::nullopt;
  return fmt::format("no GPU: {}", cudaGetErrorString(code));
}

}  // namespace attnscope::kernels
