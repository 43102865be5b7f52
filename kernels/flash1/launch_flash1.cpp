#include "kernels/flash1/flash1_backward_shared.cuh"
#include "kernels/flash1/flash1_forward_shared.cuh"
#include "kernels/flash1/flash1_parameters.cuh"
#include "kernels/host/hopper.h"
#include "kernels/pass_launcher.h"

namespace attnscope::kernels {

void launch_flash1(PassLauncher& pass) {
  const AttentionProblem& problem = pass.problem;
  const PassArguments& arguments = pass.arguments;
  const bool carries_fp32 = arguments.run.asked.variant.carry == Carry::fp32;
  const DType carried = carries_fp32 ? DType::fp32 : problem.dtype;
  const Index columns =
      carries_fp32 ? flash1_carried_columns(static_cast<int>(problem.d)) : problem.d;
  auto parameters = pass.forward_parameters<Flash1Parameters>();
  if (carries_fp32) {
    parameters.O =
        contiguous_view(pass.workspace(WorkspaceTensor::O), problem.heads, problem.N, columns);
  }
  parameters.m = pass.workspace<float>(WorkspaceTensor::m);
  parameters.l = pass.workspace<float>(WorkspaceTensor::l);
  parameters.row_tiles = pass.tile_lists;

  const Index chunks = ceil_div(columns * size_bytes(carried), 16);
  pass.start("initialise", ceil_div(pass.rows() * chunks, kFlash1RowThreads), parameters,
             pass.rows(), chunks, static_cast<int>(columns));
  pass.start_traceable("forward", pass.batch_heads(), parameters);
  if (carries_fp32) {
    pass.start("convert", ceil_div(pass.rows() * chunks, kFlash1RowThreads), arguments.O,
               parameters, pass.rows(), chunks);
  }
  if (arguments.LSE_dev != nullptr) {
    pass.start("lse", ceil_div(pass.rows(), kFlash1RowThreads), arguments.LSE_dev, parameters,
               pass.rows());
  }
}

void launch_flash1_backward(PassLauncher& pass) {
  const AttentionProblem& problem = pass.problem;
  const Flash1BackwardParameters parameters{
      .shared = pass.backward_parameters(),
      .m = static_cast<const float*>(pass.forward_workspace(WorkspaceTensor::m)),
      .l = static_cast<const float*>(pass.forward_workspace(WorkspaceTensor::l))};

  const Index chunks = ceil_div(problem.d * size_bytes(problem.dtype), 16);
  pass.start("initialise", ceil_div(pass.rows() * chunks, kFlash1RowThreads), parameters.shared.dQ,
             parameters.shared.shape, pass.rows(), chunks);
  if (pass.on_hopper) {
    const BackwardParameters& shared = parameters.shared;
    pass.start_traceable("backward", pass.batch_heads(),
                         Flash1HopperParameters{
                             parameters, gradient_maps(shared, pass.run, pass.tiling.Bc),
                             row_tile_map(shared.O, pass.run), row_tile_map(shared.dQ, pass.run)});
  } else {
    pass.start_traceable("backward", pass.batch_heads(), parameters);
  }
  pass.sum_grouped_heads(parameters.shared);
}

}  // namespace attnscope::kernels
