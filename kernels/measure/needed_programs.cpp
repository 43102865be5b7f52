#include "kernels/measure/needed_programs.h"

#include <algorithm>

#include "kernels/default_tilings.h"
#include "kernels/measure/measuring_programs.h"

namespace attnscope::kernels {

ResolvedRun forward_before(const ResolvedRun& backward) {
  ResolvedRun forward = backward;
  forward.asked.pass = PassKind::forward;
  forward.asked.Br.reset();
  forward.asked.Bc.reset();
  forward.asked.switches.clear();
  return forward;
}

std::vector<KernelProgram> needed_programs(const ResolvedRun& run, RunUse use,
                                           const ProgramTarget& target) {
  std::vector<KernelProgram> programs;
  const auto add = [&](const BlockProgram& block) {
    if (std::ranges::find(programs, block.program) == programs.end()) {
      programs.push_back(block.program);
    }
  };
  const auto add_pass = [&](const ResolvedRun& pass, bool traced) {
    const auto launches = programs_of(run_on_gpu(pass, target), target, traced);
    for (const LaunchProgram& launch : launches) add(launch.block);
  };

  if (run.pass() == PassKind::backward) add_pass(forward_before(run), /*traced=*/false);
  add_pass(run, /*traced=*/false);
  if (use == RunUse::trace) add_pass(run, /*traced=*/true);

  if (use != RunUse::run && !run.asked.files.any()) add(input_program(run.problem.dtype));
  add(head_start_program());
  add(sm_clock_program());
  if (use == RunUse::measure) add(sweep_cache_program());
  return programs;
}

}  // namespace attnscope::kernels
