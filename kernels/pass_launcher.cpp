#include "kernels/pass_launcher.h"

#include <algorithm>
#include <utility>

#include "kernels/catalog.h"
#include "kernels/default_tilings.h"
#include "kernels/host/cuda_check.h"
#include "kernels/host/hopper.h"
#include "kernels/run_programs.h"
#include "kernels/tile_lists.h"
#include "kernels/workspace_layout.h"
#include "reference/check.h"

namespace attnscope::kernels {

/// The current GPU, and whether its bulk copies can address the caller's tensors.
static ProgramTarget target_of(const PassArguments& arguments) {
  ProgramTarget target = current_gpu();
  target.bulk_copies = bulk_copies_reach(arguments);
  return target;
}

PassLauncher::PassLauncher(PassArguments pass)
    : arguments(std::move(pass)),
      target(target_of(arguments)),
      run(run_on_gpu(arguments.run, target)),
      layout_(workspace_layout(run)),
      programs_(programs_of(run, target, arguments.trace != nullptr)) {
  const KernelPass& own = kernel_of(run).pass(run.pass());
  scores =
      score_parameters(problem, own.uses_cublas() ? ScoreUnit::scaled : ScoreUnit::before_scale,
                       [this](auto array) { return upload(array); });
  if (!visits_lists(run)) return;
  const TileLists lists = own.block_work == BlockWork::row_tile ? column_tile_lists(problem, tiling)
                                                                : row_tile_lists(problem, tiling);
  tile_lists = static_cast<const int*>(upload(std::as_bytes(std::span(lists))));
}

const BlockProgram& PassLauncher::program_of(std::string_view launch) const {
  const auto found = std::ranges::find(programs_, launch, &LaunchProgram::launch);
  ATTNSCOPE_CHECK(found != programs_.end(), ==, true);
  return found->block;
}

Index PassLauncher::blocks_at_once(std::string_view launch) const {
  return arguments.resources->kernels.resident_blocks(program_of(launch)) * target.sm_count;
}

void* PassLauncher::forward_workspace(WorkspaceTensor tensor) const {
  const WorkspaceLayout layout = kernel_of(run).forward.workspace(run);
  return static_cast<std::byte*>(arguments.forward_workspace_dev) + layout.offset(tensor);
}

const void* PassLauncher::upload(std::span<const std::byte> array) {
  if (array.empty()) return nullptr;
  held_.push_back(arguments.resources->tables.find_or_upload(array));
  return held_.back()->data_dev();
}

BackwardParameters PassLauncher::backward_parameters() {
  const auto per_head = [&](const TensorView& gradient, WorkspaceTensor tensor) {
    if (!layout_.has(tensor)) return gradient;
    return contiguous_view(workspace(tensor), problem.heads, problem.N_kv, problem.d);
  };
  return {.shape = forward_shape(problem),
          .Q = arguments.Q,
          .K = arguments.K,
          .V = arguments.V,
          .O = arguments.O,
          .dO = arguments.dO,
          .dQ = arguments.dQ,
          .dK = arguments.dK,
          .dV = arguments.dV,
          .dK_heads = per_head(arguments.dK, WorkspaceTensor::dK_heads),
          .dV_heads = per_head(arguments.dV, WorkspaceTensor::dV_heads),
          .LSE = arguments.LSE_dev,
          .row_tiles = tile_lists,
          .scores = scores};
}

void PassLauncher::sum_grouped_heads(const BackwardParameters& parameters) {
  if (problem.heads_per_kv_head() == 1) return;
  start("sum_heads", problem.batch * problem.kv_heads * ceil_div(problem.N_kv, tiling.Bc),
        parameters, static_cast<int>(tiling.Bc));
}

}  // namespace attnscope::kernels
