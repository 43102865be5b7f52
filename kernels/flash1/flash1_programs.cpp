#include "kernels/flash1/flash1_programs.h"

#include <algorithm>

#include "kernels/catalog.h"
#include "kernels/flash1/flash1_backward_shared.h"
#include "kernels/flash1/flash1_forward_shared.h"
#include "kernels/flash2/flash2_forward_shared.h"
#include "kernels/host/hopper.h"
#include "reference/head_dim.h"

namespace attnscope::kernels {

namespace {

/// Tiles without a check of each chunk's column; wider ones unroll until registers spill.
std::string columns_policy(Index d, Index width) {
  const bool whole_rows = d == width && width <= 128 && width != 96;
  return in_device(whole_rows ? "Columns::all" : "Columns::first");
}

std::string trace_type(bool traced) {
  return in_device(traced ? "BlockTrace" : "NoTrace");
}

std::string score_policy(bool scored) {
  return scored ? "attnscope::kernels::ScoredFlash1" : "attnscope::kernels::PlainFlash1";
}

/// A launch of flash1_rows.cuh.
BlockProgram rows_program(std::string expression) {
  return {.program = {.sources = {"kernels/flash1/flash1_rows.cuh"},
                      .expression = std::move(expression),
                      .architecture = {}},
          .threads = kFlash1RowThreads};
}

DType carried_type(const AttentionProblem& problem, Carry carry) {
  return carry == Carry::fp32 ? DType::fp32 : problem.dtype;
}

}  // namespace

BlockProgram flash1_initialise_program(const AttentionProblem& problem, Carry carry) {
  return rows_program(instance_of("flash1_initialise", element_type(carried_type(problem, carry))));
}

BlockProgram flash1_forward_program(const AttentionProblem& problem, const Tiling& tiling,
                                    Carry carry, bool traced) {
  const Index width = padded_head_dim(problem.d);
  BlockProgram launch;
  KernelProgram& program = launch.program;
  if (problem.dtype == DType::fp32) {
    program.sources = {"kernels/flash1/flash1_forward_fp32.cuh"};
    program.expression =
        instance_of("flash1_forward_fp32", width, tiling.Br, tiling.Bc, trace_type(traced));
    launch.threads = static_cast<int>(4 * tiling.Br);
    launch.shared_bytes = flash2_forward_fp32_shared_bytes(width, tiling);
    return launch;
  }
  const bool scored = has_score_parameters(problem);
  const DType carried = carried_type(problem, carry);
  program.sources = {"kernels/flash1/flash1_forward.cuh"};
  program.expression = instance_of(
      "flash1_forward", element_type(problem.dtype), element_type(carried), width, tiling.Br,
      tiling.Bc, columns_policy(problem.d, width), trace_type(traced), score_policy(scored));
  launch.threads = flash1_forward_warps(tiling) * 32;
  launch.shared_bytes = flash1_forward_shared_bytes(width, tiling, size_bytes(carried));
  if (scored) launch.shared_bytes += flash1_scored_rows_shared_bytes(tiling);
  return launch;
}

BlockProgram flash1_convert_program(const AttentionProblem& problem) {
  return rows_program(instance_of("flash1_convert", element_type(problem.dtype)));
}

BlockProgram flash1_lse_program() {
  return rows_program("attnscope::kernels::flash1_lse");
}

BlockProgram flash1_zero_dq_program() {
  return rows_program("attnscope::kernels::flash1_zero_dq");
}

bool flash1_backward_on_hopper(const AttentionProblem& problem, const Tiling& tiling,
                               std::string_view compute_capability) {
  return compute_capability == "9.0" && problem.dtype != DType::fp32 &&
         problem.d == kHopperHeadDim && tiling == kHopperTiling && !has_score_parameters(problem);
}

BlockProgram flash1_backward_program(const AttentionProblem& problem, const Tiling& tiling,
                                     bool on_hopper, bool traced) {
  BlockProgram launch;
  KernelProgram& program = launch.program;
  if (on_hopper) {
    program.sources = {"kernels/flash1/flash1_backward_hopper.cuh"};
    program.expression = instance_of("flash1_backward_hopper", element_type(problem.dtype),
                                     problem.d, tiling.Br, tiling.Bc, trace_type(traced));
    launch.threads = kFlash1HopperThreads;
    launch.shared_bytes = flash1_backward_hopper_shared_bytes(problem.d, tiling);
    return launch;
  }
  const bool scored = has_score_parameters(problem);
  // Of 16 columns, a tile of 64 rows has work for only four warps
  const Index width = std::max<Index>(padded_head_dim(problem.d), scored ? 32 : 16);
  const int warps = flash1_backward_warps(width, tiling);
  program.sources = {"kernels/flash1/flash1_backward.cuh"};
  program.expression = instance_of("flash1_backward", element_type(problem.dtype), width, tiling.Br,
                                   tiling.Bc, warps, columns_policy(problem.d, width),
                                   trace_type(traced), score_policy(scored));
  launch.threads = warps * 32;
  launch.shared_bytes = flash1_backward_shared_bytes(width, tiling);
  if (scored) launch.shared_bytes += flash1_scored_columns_shared_bytes(tiling, warps);
  return launch;
}

}  // namespace attnscope::kernels
