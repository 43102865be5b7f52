#include "kernels/host/cuda_check.h"
#include "kernels/host/score_tables.h"
#include "kernels/launch_resources.h"
#include "kernels/launches.h"
#include "kernels/split_kv/split_kv_start.h"
#include "kernels/workspace.h"
#include "reference/check.h"
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

}  // namespace

void launch_split_kv(const ForwardArguments& arguments, const Tiling& tiling) {
  const AttentionProblem& problem = arguments.problem;
  const SplitKvWorkspace layout = split_kv_workspace(problem, tiling);
  auto* const workspace = static_cast<std::byte*>(arguments.workspace_dev);
  const SplitKvParameters parameters{
      .shape = forward_shape(problem),
      .Q = arguments.Q,
      .K = arguments.K,
      .V = arguments.V,
      .O = arguments.O,
      .LSE = arguments.LSE_dev,
      .splits = static_cast<int>(split_count(problem, tiling, multiprocessor_count())),
      .O_split = reinterpret_cast<float*>(workspace + layout.O_split_offset),
      .LSE_split = reinterpret_cast<float*>(workspace + layout.LSE_split_offset)};

  ScoredSplitKvParameters scored{parameters};
  LaunchTables tables(arguments.resources->tables);
  if (has_score_parameters(problem)) scored.scores = tables.scores(problem);

  named_launch(arguments, "partial", [&] {
    if (arguments.trace != nullptr) {
      const bool traced = start_split_kv_traced(parameters, *arguments.trace, problem.dtype,
                                                problem.batch, problem.d, tiling, arguments.stream);
      ATTNSCOPE_CHECK(traced, ==, true);  // plan_trace() names no tiling without an instance
      return;
    }
    const bool is_fp16 = problem.dtype == DType::fp16;
    const auto start_plain = is_fp16 ? start_split_kv_partial_fp16 : start_split_kv_partial_bf16;
    const auto start_scored = is_fp16 ? start_split_kv_scored_fp16 : start_split_kv_scored_bf16;
    const bool started =
        has_score_parameters(problem)
            ? start_scored(scored, problem.batch, problem.d, tiling, arguments.stream)
            : start_plain(parameters, problem.batch, problem.d, tiling, arguments.stream);
    ATTNSCOPE_CHECK(started, ==, true);  // the catalog names no tiling without an instance
  });
  named_launch(arguments, "combine", [&] {
    start_split_kv_combine(parameters, problem.dtype, problem.batch, arguments.stream);
  });
}

}  // namespace attnscope::kernels
