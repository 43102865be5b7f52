/// All kernels that a run launches, so that they can be compiled before it begins. Plain C++.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/run_programs.h"

namespace attnscope::kernels {

/// The forward pass that a backward run needs first, for O and LSE, in the default tiling and with
/// no switch set.
ResolvedRun forward_before(const ResolvedRun& backward);

/// The purpose of a run: its outputs, a measurement of its pass, or a trace of its main launch.
enum class RunUse : std::uint8_t { run, measure, trace };

/// The programs that the GPU launches for the run, each once, in its tilings on that GPU: those of
/// the run's pass; for a backward pass also those of the forward pass, whose O and LSE it reads;
/// with RunUse::trace also the traced launch; those that generate inputs; and those that condition
/// the GPU before a timed pass and read its clock.
std::vector<KernelProgram> needed_programs(const ResolvedRun& run, RunUse use,
                                           const ProgramTarget& target);

}  // namespace attnscope::kernels
