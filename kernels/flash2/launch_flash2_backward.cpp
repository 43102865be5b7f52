#include "kernels/flash2/flash2_backward_start.h"
#include "kernels/launches.h"
#include "kernels/workspace.h"
#include "reference/check.h"

namespace attnscope::kernels {

namespace {

/// A contiguous [B, H, N_kv, d] tensor.
TensorView per_head_view(void* data_dev, const AttentionProblem& problem) {
  return {.data_dev = data_dev,
          .stride_batch = problem.heads * problem.N_kv * problem.d,
          .stride_head = problem.N_kv * problem.d,
          .stride_row = problem.d};
}

BackwardParameters backward_parameters(const BackwardArguments& arguments) {
  const AttentionProblem& problem = arguments.problem;
  const Flash2BackwardWorkspace layout = flash2_backward_workspace(problem);
  auto* const workspace = static_cast<std::byte*>(arguments.workspace_dev);
  const bool grouped = problem.heads_per_kv_head() > 1;
  return {.shape = forward_shape(problem),
          .Q = arguments.Q,
          .K = arguments.K,
          .V = arguments.V,
          .O = arguments.O,
          .dO = arguments.dO,
          .dQ = arguments.dQ,
          .dK = arguments.dK,
          .dV = arguments.dV,
          .dK_heads =
              grouped ? per_head_view(workspace + layout.dK_heads_offset, problem) : arguments.dK,
          .dV_heads =
              grouped ? per_head_view(workspace + layout.dV_heads_offset, problem) : arguments.dV,
          .LSE = arguments.LSE_dev,
          .D = reinterpret_cast<float*>(workspace + layout.D_offset),
          .dQ_accum = reinterpret_cast<float*>(workspace + layout.dQ_accum_offset)};
}

}  // namespace

void launch_flash2_backward(const BackwardArguments& arguments, const Tiling& tiling) {
  const AttentionProblem& problem = arguments.problem;
  const BackwardParameters parameters = backward_parameters(arguments);
  void* const stream = arguments.stream;

  named_launch(arguments, "preprocess",
               [&] { start_flash2_preprocess(parameters, problem, tiling.Br, stream); });
  named_launch(arguments, "backward", [&] {
    const auto start =
        problem.dtype == DType::fp16 ? start_flash2_backward_fp16 : start_flash2_backward_bf16;
    const bool started = start(parameters, problem.batch, problem.d, tiling, stream);
    ATTNSCOPE_CHECK(started, ==, true);  // the catalog names no tiling without an instance
  });
  named_launch(arguments, "convert",
               [&] { start_flash2_convert_dq(parameters, problem, tiling.Br, stream); });
  if (problem.heads_per_kv_head() == 1) return;
  named_launch(arguments, "sum_heads",
               [&] { start_flash2_sum_heads(parameters, problem, tiling.Bc, stream); });
}

}  // namespace attnscope::kernels
