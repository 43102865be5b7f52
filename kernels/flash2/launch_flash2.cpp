#include <algorithm>
#include <atomic>
#include <bit>

#include "kernels/flash2/flash2_hopper_parameters.cuh"
#include "kernels/host/hopper.h"
#include "kernels/pass_launcher.h"

namespace attnscope::kernels {

namespace {

/// Launches the forward pass with Hopper's own instructions.
void launch_on_hopper(PassLauncher& pass, const ForwardParameters& shared) {
  static std::atomic<std::uint32_t> launches = 0;
  const Knobs knobs = knobs_of(pass.arguments.run.asked);
  std::uint32_t launch = ++launches;
  if (launch == 0) launch = ++launches;  // 0 marks an unused counter
  const Flash2HopperForwardParameters parameters{
      shared,
      forward_maps(shared, pass.run),
      {.tiles = static_cast<int>(pass.row_tiles()),
       .launch = launch,
       .next = pass.workspace<unsigned long long>(WorkspaceTensor::next_tile)},
      static_cast<int>(hopper_heads_at_once(pass.run))};
  Index blocks = pass.row_tiles();
  if (knobs.persistent != 0) blocks = std::min(blocks, pass.blocks_at_once("forward"));
  pass.start_traceable("forward", pass.row_tiles(), parameters, blocks);
}

}  // namespace

void launch_flash2(PassLauncher& pass) {
  auto parameters = pass.forward_parameters<ForwardParameters>();
  parameters.LSE = pass.arguments.LSE_dev;
  parameters.column_tiles = pass.tile_lists;
  if (pass.on_hopper) {
    launch_on_hopper(pass, parameters);
  } else {
    pass.start_traceable("forward", pass.row_tiles(), parameters);
  }
}

void launch_flash2_backward(PassLauncher& pass) {
  const AttentionProblem& problem = pass.problem;
  BackwardParameters parameters = pass.backward_parameters();
  parameters.D = pass.workspace<float>(WorkspaceTensor::D);
  parameters.dQ_accum = pass.workspace<float>(WorkspaceTensor::dQ_accum);
  if (pass.arguments.run.asked.deterministic) {
    parameters.dQ_turns = pass.workspace<int>(WorkspaceTensor::dQ_turns);
  }

  const int Br = static_cast<int>(pass.tiling.Br);
  if (problem.dtype == DType::fp32) {
    pass.start("preprocess", pass.row_tiles(), parameters, Br);
  } else {
    constexpr Index kChunkElements = 8;  // elements that a thread reads at once
    const auto chunks = static_cast<unsigned>(ceil_div(problem.d, kChunkElements));
    pass.start("preprocess", pass.row_tiles(), parameters, Br,
               static_cast<int>(std::bit_ceil(chunks)));
  }
  if (pass.on_hopper) {
    constexpr Index kWarpRows = 16;
    Flash2HopperParameters hopper{parameters, gradient_maps(parameters, pass.run, kWarpRows)};
    // Only as many heads as run at once: the blocks of a head begin one after another, and more
    // heads would not fit in L2
    const Index at_once = pass.target.sm_count * pass.batch_heads() / pass.column_tiles();
    hopper.heads_in_turn = static_cast<int>(std::clamp(at_once, Index{1}, pass.batch_heads()));
    pass.start_traceable("backward", pass.column_tiles(), hopper);
  } else {
    pass.start_traceable("backward", pass.column_tiles(), parameters);
  }
  pass.start("convert", pass.row_tiles(), parameters, Br);
  pass.sum_grouped_heads(parameters);
}

}  // namespace attnscope::kernels
