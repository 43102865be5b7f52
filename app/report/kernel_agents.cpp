#include "app/report/compare.h"
#include "app/report/kernel_dram.h"
#include "kernels/resolve.h"
#include "kernels/run_programs.h"

namespace attnscope {

namespace {

/// The agents of the kernel's program for this run on the GPU, if the program has any.
std::optional<kernels::ProgramAgents> kernel_agents(ResolvedRun run, const GpuDescription& gpu) {
  const auto kernel = kernels::choose_kernel(run.asked);
  if (!kernel || !kernels::check_switches(run.asked.switches, *kernel.value(), run.pass(),
                                          run.problem.dtype)) {
    return std::nullopt;
  }
  run.asked.kernel = kernel.value()->name;
  return kernels::agents_of(run, program_target(gpu), kernels::knobs_of(run.asked));
}

}  // namespace

ScheduleVariant without_kernel_agents(const ResolvedRun& run, const GpuDescription& gpu) {
  ScheduleVariant variant = run.asked.variant;
  if (variant.consumers == 0) return variant;
  const auto agents = kernel_agents(run, gpu);
  if (agents && agents->consumers == variant.consumers && agents->stages == variant.stages) {
    variant.consumers = 0;
    variant.stages = 1;
  }
  return variant;
}

}  // namespace attnscope
