#include "kernels/flash2/launch_flash2.h"
#include "kernels/host/cuda_check.h"
#include "kernels/host/score_tables.h"
#include "kernels/kernel_parameters.h"
#include "kernels/launch_resources.h"
#include "kernels/launches.h"
#include "kernels/tile_lists.h"
#include "kernels/workspace.h"

namespace attnscope::kernels {

namespace {

/// Place of the lists in the workspace of the backward pass; the forward pass's contains only them.
int* row_tile_lists_dev(const BackwardArguments& arguments) {
  auto* const workspace = static_cast<std::byte*>(arguments.workspace_dev);
  return reinterpret_cast<int*>(workspace + flash2_backward_workspace(arguments.problem).bytes);
}

void upload(const TileLists& lists, void* lists_dev, void* stream) {
  ATTNSCOPE_CUDA(cudaMemcpyAsync(lists_dev, lists.data(), lists.size() * sizeof(int),
                                 cudaMemcpyHostToDevice, static_cast<cudaStream_t>(stream)));
}

}  // namespace

void upload_tile_lists(const ForwardArguments& arguments, const Tiling& tiling) {
  upload(column_tile_lists(arguments.problem, tiling), arguments.workspace_dev, arguments.stream);
}

void upload_tile_lists(const BackwardArguments& arguments, const Tiling& tiling) {
  upload(row_tile_lists(arguments.problem, tiling), row_tile_lists_dev(arguments),
         arguments.stream);
}

std::optional<Error> launch_block_sparse(const ForwardArguments& arguments, const Tiling& tiling) {
  if (!arguments.workspace_is_prepared) upload_tile_lists(arguments, tiling);
  const AttentionProblem& problem = arguments.problem;
  ForwardParameters parameters{.shape = forward_shape(problem),
                               .Q = arguments.Q,
                               .K = arguments.K,
                               .V = arguments.V,
                               .O = arguments.O,
                               .LSE = arguments.LSE_dev,
                               .column_tiles = static_cast<const int*>(arguments.workspace_dev)};
  LaunchTables tables(arguments.resources->tables);
  parameters.scores = tables.scores(problem);
  named_launch(arguments, "forward", [&] { start_flash2_forward(arguments, parameters, tiling); });
  return std::nullopt;
}

std::optional<Error> launch_block_sparse_backward(const BackwardArguments& arguments,
                                                  const Tiling& tiling) {
  if (!arguments.workspace_is_prepared) upload_tile_lists(arguments, tiling);
  BackwardParameters parameters = flash2_backward_parameters(arguments);
  parameters.row_tiles = row_tile_lists_dev(arguments);
  LaunchTables tables(arguments.resources->tables);
  parameters.scores = tables.scores(arguments.problem);
  start_flash2_backward(arguments, parameters, tiling);
  return std::nullopt;
}

}  // namespace attnscope::kernels
