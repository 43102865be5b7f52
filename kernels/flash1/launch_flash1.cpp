#include "kernels/flash1/flash1_carry.h"
#include "kernels/flash1/flash1_start.h"
#include "kernels/host/score_tables.h"
#include "kernels/launch_resources.h"
#include "kernels/launches.h"
#include "kernels/workspace.h"
#include "reference/check.h"

namespace attnscope::kernels {

namespace {

/// A contiguous [B, H, N, columns] tensor.
TensorView contiguous_view(void* data_dev, const AttentionProblem& problem, Index columns) {
  return {.data_dev = data_dev,
          .stride_batch = problem.heads * problem.N * columns,
          .stride_head = problem.N * columns,
          .stride_row = columns};
}

bool start_forward(const Flash1Parameters& parameters, const ForwardArguments& arguments,
                   const Tiling& tiling) {
  const AttentionProblem& problem = arguments.problem;
  const Index batch = problem.batch;
  const bool carries_fp32 = arguments.carry == Carry::fp32;
  const bool is_fp16 = problem.dtype == DType::fp16;
  if (has_score_parameters(problem)) {
    LaunchTables tables(arguments.resources->tables);
    ScoredFlash1Parameters scored{parameters, tables.scores(problem)};
    if (problem.is_packed()) scored.row_tiles = tables.lists(packed_row_tiles(problem, tiling));
    if (arguments.trace != nullptr) {
      return start_flash1_scored_traced(scored, *arguments.trace, problem.dtype, batch, problem.d,
                                        tiling, arguments.stream);
    }
    const auto start = is_fp16 ? start_flash1_scored_fp16 : start_flash1_scored_bf16;
    return start(scored, carries_fp32, batch, problem.d, tiling, arguments.stream);
  }
  if (arguments.trace != nullptr) {
    return start_flash1_traced(parameters, *arguments.trace, problem.dtype, batch, problem.d,
                               tiling, arguments.stream);
  }
  if (problem.dtype == DType::fp32) {
    return start_flash1_fp32(parameters, batch, problem.d, tiling, arguments.stream);
  }
  const auto start = is_fp16 ? start_flash1_fp16 : start_flash1_bf16;
  return start(parameters, carries_fp32, batch, problem.d, tiling, arguments.stream);
}

}  // namespace

void launch_flash1(const ForwardArguments& arguments, const Tiling& tiling) {
  const AttentionProblem& problem = arguments.problem;
  const Flash1Workspace layout = flash1_workspace(problem, arguments.carry);
  auto* const workspace = static_cast<std::byte*>(arguments.workspace_dev);
  const bool carries_fp32 = arguments.carry == Carry::fp32;
  const DType carried = carries_fp32 ? DType::fp32 : problem.dtype;
  const Index columns =
      carries_fp32 ? flash1_carried_columns(static_cast<int>(problem.d)) : problem.d;
  const Flash1Parameters parameters{
      .shape = forward_shape(problem),
      .Q = arguments.Q,
      .K = arguments.K,
      .V = arguments.V,
      .O = carries_fp32 ? contiguous_view(workspace + layout.O_offset, problem, columns)
                        : arguments.O,
      .m = reinterpret_cast<float*>(workspace + layout.m_offset),
      .l = reinterpret_cast<float*>(workspace + layout.l_offset)};

  named_launch(arguments, "initialise", [&] {
    start_flash1_initialise(parameters, carried, problem.batch, columns, arguments.stream);
  });
  named_launch(arguments, "forward", [&] {
    const bool started = start_forward(parameters, arguments, tiling);
    ATTNSCOPE_CHECK(started, ==, true);  // the catalog names no tiling without an instance
  });
  if (carries_fp32) {
    named_launch(arguments, "convert", [&] {
      start_flash1_convert(arguments.O, parameters, problem.dtype, problem.batch, problem.d,
                           arguments.stream);
    });
  }
  if (arguments.LSE_dev != nullptr) {
    named_launch(arguments, "lse", [&] {
      start_flash1_lse(arguments.LSE_dev, parameters, problem.batch, arguments.stream);
    });
  }
}

}  // namespace attnscope::kernels
