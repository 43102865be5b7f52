#include <bit>

#include "kernels/host/cuda_check.h"
#include "kernels/host/score_tables.h"
#include "kernels/kernel_parameters.h"
#include "kernels/launch_resources.h"
#include "kernels/launches.h"
#include "kernels/split_kv/split_kv_parameters.cuh"
#include "kernels/split_kv/split_kv_programs.h"
#include "kernels/workspace.h"
#include "reference/key_splits.h"

namespace attnscope::kernels {

namespace {

Index multiprocessor_count() {
  int device = 0;
  int count = 0;
  ATTNSCOPE_CUDA(cudaGetDevice(&device));
  ATTNSCOPE_CUDA(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device));
  return count;
}

/// "partial". A block owns a row tile and a split of a head.
void start_partial(const ForwardArguments& arguments, const SplitKvParameters& parameters,
                   const Tiling& tiling) {
  const AttentionProblem& problem = arguments.problem;
  const bool traced = arguments.trace != nullptr;
  const BlockProgram block =
      split_kv_partial_program(problem, tiling, {.traced = traced, .knobs = arguments.knobs});
  const Index blocks_per_head = ceil_div(problem.N, tiling.Br) * parameters.splits;
  const Index blocks = problem.batch * problem.heads * blocks_per_head;
  CompiledKernels& kernels = arguments.resources->kernels;
  if (!traced) return kernels.start(block, blocks, arguments.stream, parameters);
  TracedParameters<SplitKvParameters> recording{parameters, *arguments.trace};
  recording.trace.blocks_per_head = static_cast<int>(blocks_per_head);  // as many as this GPU fills
  kernels.start(block, blocks, arguments.stream, recording);
}

/// "combine": O = sum over splits of exp(LSE_split - LSE) O_split; LSE is the log of the sum of
/// exp(LSE_split).
void start_combine(const ForwardArguments& arguments, const SplitKvParameters& parameters) {
  const AttentionProblem& problem = arguments.problem;
  const Index rows = problem.batch * problem.heads * problem.N;
  const auto pieces = static_cast<unsigned>(split_columns(parameters.shape.d) / 4);
  arguments.resources->kernels.start(split_kv_combine_program(problem), rows, arguments.stream,
                                     parameters, static_cast<int>(std::bit_ceil(pieces)));
}

}  // namespace

std::optional<Error> launch_split_kv(const ForwardArguments& arguments, const Tiling& tiling) {
  const AttentionProblem& problem = arguments.problem;
  const SplitKvWorkspace layout = split_kv_workspace(problem, tiling);
  auto* const workspace = static_cast<std::byte*>(arguments.workspace_dev);
  SplitKvParameters parameters{
      .shape = forward_shape(problem),
      .Q = arguments.Q,
      .K = arguments.K,
      .V = arguments.V,
      .O = arguments.O,
      .LSE = arguments.LSE_dev,
      .splits = static_cast<int>(split_count(problem, tiling, multiprocessor_count())),
      .O_split = reinterpret_cast<float*>(workspace + layout.O_split_offset),
      .LSE_split = reinterpret_cast<float*>(workspace + layout.LSE_split_offset)};

  LaunchTables tables(arguments.resources->tables);
  parameters.scores = tables.scores(problem);
  named_launch(arguments, "partial", [&] { start_partial(arguments, parameters, tiling); });
  named_launch(arguments, "combine", [&] { start_combine(arguments, parameters); });
  return std::nullopt;
}

}  // namespace attnscope::kernels
