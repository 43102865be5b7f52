#include "kernels/flash2/flash2_forward_program.h"

#include "kernels/catalog.h"
#include "kernels/flash2/flash2_forward_shared.h"
#include "kernels/scored_shared.h"
#include "reference/head_dim.h"

namespace attnscope::kernels {

BlockProgram flash2_forward_program(const AttentionProblem& problem, const Tiling& tiling,
                                    bool listed, bool traced) {
  const bool scored = has_score_parameters(problem);
  const Index width = padded_head_dim(problem.d);
  // Without a check of each chunk's column; at d = 256 the loop then unrolls until registers spill
  const bool whole_rows = problem.d == width && width <= 128 && width != 96;
  const int warps = flash2_forward_warps(width, tiling, scored);
  BlockProgram launch{.threads = warps * 32,
                      .shared_bytes = flash2_forward_shared_bytes(width, tiling)};
  if (scored) launch.shared_bytes += scored_rows_shared_bytes(tiling);

  KernelProgram& program = launch.program;
  program.sources = {"kernels/flash2/flash2_forward.cuh"};
  if (scored) program.sources.emplace_back("kernels/device/score_functions.cuh");
  program.expression =
      instance_of("flash2_forward", element_type(problem.dtype), width, tiling.Br, tiling.Bc, warps,
                  in_device(whole_rows ? "Columns::all" : "Columns::first"),
                  in_device(listed ? "Visits::listed" : "Visits::all"),
                  in_device(traced ? "BlockTrace" : "NoTrace"),
                  in_device(scored ? "ScoreFunctions" : "PlainScores"));
  return launch;
}

}  // namespace attnscope::kernels
