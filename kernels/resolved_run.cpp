#include "kernels/resolved_run.h"

#include "kernels/catalog.h"
#include "kernels/default_tilings.h"
#include "reference/block_mask.h"

namespace attnscope::kernels {

std::optional<Tiling> asked_tiling(const ResolvedRun& run) {
  if (run.asked.Br || run.asked.Bc) return run.tiling;
  return run.problem.block_mask ? std::optional(run.problem.block_mask->tiling()) : std::nullopt;
}

Tiling tiling_on_gpu(const ResolvedRun& run, const ProgramTarget& target) {
  if (const auto asked = asked_tiling(run)) return *asked;
  return *default_tiling(kernel_of(run), run.pass(), run.problem, run.asked.variant.carry, target,
                         knobs_of(run.asked));
}

bool has_hopper_program(const ResolvedRun& run, const Knobs& knobs) {
  const KernelInfo& kernel = kernel_of(run);
  if (!kernel.has_knob(*find_knob(kInstructionsKnob), run.pass())) return false;
  if (run.pass() == PassKind::forward) {
    return has_hopper_forward(run.problem, run.tiling, knobs);
  }
  if (kernel.pass(run.pass()).block_work == BlockWork::head) {
    return has_hopper_backward(run.problem, run.tiling, knobs);
  }
  return has_hopper_gradients(run.problem, run.tiling, knobs);
}

bool runs_on_hopper(const ResolvedRun& run, const ProgramTarget& target, const Knobs& knobs) {
  return target.has_hopper_instructions() && has_hopper_program(run, knobs);
}

}  // namespace attnscope::kernels
