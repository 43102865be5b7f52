#include "tests/kernels/backward_run.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "kernels/run_programs.h"
#include "reference/tolerance.h"
#include "tests/kernels/tested_tilings.h"
#include "tests/support/kernel_run.h"

namespace attnscope::kernels {

std::string describe(const BackwardCase& backward_case) {
  const ForwardCase same{.kernel = backward_case.kernel,
                         .tiling = backward_case.tiling,
                         .switches = backward_case.switches,
                         .layout = backward_case.layout};
  return (backward_case.deterministic ? "deterministic backward of " : "backward of ") +
         describe(same);
}

std::vector<BackwardCase> all_backward_cases(const AttentionProblem& problem) {
  std::vector<BackwardCase> cases;
  for (const KernelInfo& kernel : catalog()) {
    if (!takes_pass(kernel, PassKind::backward, problem.dtype)) continue;
    for (const Tiling& tiling : tested_tilings(kernel, PassKind::backward, problem)) {
      BackwardCase tiled{.kernel = &kernel, .tiling = tiling};
      cases.push_back(tiled);
      if (!has_two_programs(kernel, PassKind::backward, problem, tiling)) continue;
      tiled.switches[kInstructionsKnob] = "mma";
      cases.push_back(std::move(tiled));
    }
  }
  EXPECT_FALSE(cases.empty());
  return cases;
}

namespace {

/// Kernels whose backward pass reads the forward pass's workspace first run the forward pass, over
/// the given O and LSE; returns that workspace. So do kernels in fp32: S has the same rounding in
/// both passes, and where one score dominates a row, its rounding error cancels that of LSE.
DeviceBuffer run_own_forward(const KernelInfo& kernel, const AttentionProblem& problem,
                             const DeviceTensor& Q, const DeviceTensor& K, const DeviceTensor& V,
                             const DeviceTensor& O, const DeviceTensor& LSE) {
  const ResolvedRun run = test::kernel_run(kernel.name, problem);
  DeviceBuffer workspace(workspace_bytes(run));
  if (workspace.bytes() == 0 && problem.dtype != DType::fp32) return workspace;
  PassArguments arguments;
  arguments.resources = &test_resources();
  arguments.run = run;
  arguments.Q = Q.view();
  arguments.K = K.view();
  arguments.V = V.view();
  arguments.O = O.view();
  arguments.LSE_dev = static_cast<float*>(LSE.view().data_dev);
  arguments.workspace_dev = workspace.data_dev();
  arguments.workspace_bytes = workspace.bytes();
  const auto error = launch(arguments);
  EXPECT_FALSE(error) << kernel.name << ": " << error->message;
  return workspace;
}

}  // namespace

BackwardRun run_backward(const BackwardCase& backward_case, const AttentionProblem& problem,
                         const AttentionInputs& inputs, const ForwardResult& forward) {
  const auto poisoned_as = [&](Layout layout, const HeadTensor& like) {
    return DeviceTensor(like.batch, like.heads, like.rows, like.cols, problem.dtype, layout);
  };
  const auto poisoned = [&](const HeadTensor& like) {
    return poisoned_as(backward_case.layout, like);
  };
  const auto uploaded_as = [&](Layout layout, const HeadTensor& values) {
    DeviceTensor tensor = poisoned_as(layout, values);
    tensor.upload(values);
    return tensor;
  };
  const auto uploaded = [&](const HeadTensor& values) {
    return uploaded_as(backward_case.layout, values);
  };
  const DeviceTensor Q = uploaded(inputs.Q);
  const DeviceTensor K = uploaded(inputs.K);
  const DeviceTensor V = uploaded(inputs.V);
  const DeviceTensor O = uploaded(forward.O);
  const DeviceTensor dO = uploaded_as(backward_case.dO_layout, inputs.dO);
  DeviceTensor LSE(problem.batch, problem.heads, problem.N, 1, DType::fp32, Layout::contiguous);
  LSE.upload(forward.LSE);
  const DeviceBuffer forward_workspace =
      run_own_forward(*backward_case.kernel, problem, Q, K, V, O, LSE);
  DeviceTensor dQ = poisoned(inputs.Q);
  DeviceTensor dK = poisoned(inputs.K);
  DeviceTensor dV = poisoned(inputs.V);

  BackwardRun run;
  PassArguments arguments;
  arguments.resources = &test_resources();
  arguments.run = test::kernel_run(backward_case.kernel->name, problem, PassKind::backward,
                                   backward_case.tiling);
  arguments.run.asked.deterministic = backward_case.deterministic;
  arguments.run.asked.switches = backward_case.switches;
  arguments.run.asked.variant.visit_hidden = backward_case.visit_hidden;
  DeviceBuffer workspace(workspace_bytes(arguments.run));
  workspace.fill_bytes(0xff);
  arguments.Q = Q.view();
  arguments.K = K.view();
  arguments.V = V.view();
  arguments.O = O.view();
  arguments.dO = dO.view();
  arguments.LSE_dev = static_cast<float*>(LSE.view().data_dev);
  arguments.forward_workspace_dev = forward_workspace.data_dev();
  arguments.dQ = dQ.view();
  arguments.dK = dK.view();
  arguments.dV = dV.view();
  arguments.workspace_dev = workspace.data_dev();
  arguments.workspace_bytes = workspace.bytes();
  const Pass pass = prepared_pass(arguments);
  const LaunchMarks marks{
      .before = [&](std::string_view name) { run.launches.emplace_back(name); }};
  std::vector<std::byte> first_dQ, first_dK, first_dV;
  HeadTensor first_dQ_values;
  for (int n = 0; n < backward_case.passes; ++n) {
    run.launches.clear();
    for (DeviceTensor* const gradient : {&dQ, &dK, &dV}) gradient->poison();
    const auto error = pass(marks);
    EXPECT_FALSE(error) << describe(backward_case) << ": " << error->message;
    ATTNSCOPE_CUDA(cudaDeviceSynchronize());
    run.dQ_bytes = dQ.bytes();
    run.dK_bytes = dK.bytes();
    run.dV_bytes = dV.bytes();
    if (n == 0) {
      first_dQ = run.dQ_bytes;
      first_dK = run.dK_bytes;
      first_dV = run.dV_bytes;
      if (backward_case.measures_dQ_changes) first_dQ_values = dQ.download();
    }
    const bool has_other_dQ = run.dQ_bytes != first_dQ;
    run.passes_of_other_dQ += has_other_dQ ? 1 : 0;
    if (backward_case.measures_dQ_changes && has_other_dQ) {
      const ErrorReport change = compare(dQ.download().data, first_dQ_values.data);
      EXPECT_FALSE(change.has_nan) << describe(backward_case);
      run.largest_dQ_change = std::max(run.largest_dQ_change, change.max_abs_error);
    }
    run.passes_of_other_dK_dV += run.dK_bytes != first_dK || run.dV_bytes != first_dV ? 1 : 0;
  }

  run.gradients = {.dQ = dQ.download(), .dK = dK.download(), .dV = dV.download()};
  run.padding_is_untouched =
      dQ.padding_is_untouched() && dK.padding_is_untouched() && dV.padding_is_untouched();
  return run;
}

}  // namespace attnscope::kernels
