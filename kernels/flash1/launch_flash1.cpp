#include "kernels/flash1/flash1_forward_shared.cuh"
#include "kernels/flash1/flash1_parameters.cuh"
#include "kernels/flash1/flash1_programs.h"
#include "kernels/host/cuda_check.h"
#include "kernels/host/score_tables.h"
#include "kernels/kernel_parameters.h"
#include "kernels/launch_resources.h"
#include "kernels/launches.h"
#include "kernels/tile_lists.h"
#include "kernels/workspace.h"

namespace attnscope::kernels {

namespace {

/// A contiguous [B, H, N, columns] tensor.
TensorView contiguous_view(void* data_dev, const AttentionProblem& problem, Index columns) {
  return {.data_dev = data_dev,
          .stride_batch = problem.heads * problem.N * columns,
          .stride_head = problem.N * columns,
          .stride_row = columns};
}

void start_forward(const ForwardArguments& arguments, Flash1Parameters parameters,
                   const Tiling& tiling) {
  const AttentionProblem& problem = arguments.problem;
  const BlockProgram block =
      flash1_forward_program(problem, tiling, arguments.carry, shared_bytes_per_block(),
                             {.traced = arguments.trace != nullptr, .knobs = arguments.knobs});
  const Index blocks = problem.batch * problem.heads;
  LaunchTables tables(arguments.resources->tables);
  parameters.scores = tables.scores(problem);
  if (problem.is_packed()) parameters.row_tiles = tables.lists(row_tile_lists(problem, tiling));
  start_traceable(arguments, block, blocks, parameters);
}

/// Thread blocks of a launch of flash1_rows.cuh with this many threads in total.
Index row_blocks(Index threads) {
  return ceil_div(threads, kFlash1RowThreads);
}

}  // namespace

std::optional<Error> launch_flash1(const ForwardArguments& arguments, const Tiling& tiling) {
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

  CompiledKernels& kernels = arguments.resources->kernels;
  const Index rows = problem.batch * problem.heads * problem.N;
  named_launch(arguments, "initialise", [&] {
    const Index chunks = ceil_div(columns * size_bytes(carried), 16);
    kernels.start(flash1_initialise_program(problem, arguments.carry), row_blocks(rows * chunks),
                  arguments.stream, parameters, rows, chunks, static_cast<int>(columns));
  });
  named_launch(arguments, "forward", [&] { start_forward(arguments, parameters, tiling); });
  if (carries_fp32) {
    named_launch(arguments, "convert", [&] {
      const Index chunks = columns / 4;
      kernels.start(flash1_convert_program(problem), row_blocks(rows * chunks), arguments.stream,
                    arguments.O, parameters, rows, chunks);
    });
  }
  if (arguments.LSE_dev != nullptr) {
    named_launch(arguments, "lse", [&] {
      kernels.start(flash1_lse_program(), row_blocks(rows), arguments.stream, arguments.LSE_dev,
                    parameters, rows);
    });
  }
  return std::nullopt;
}

}  // namespace attnscope::kernels
