/// The tiling of a run, and the tables of default tilings, by kernel, pass, precision, head
/// dimension, scores, GPU and, for Hopper's programs, by the rounds of row tiles and the keys.
#pragma once

#include <optional>
#include <vector>

#include "kernels/catalog.h"
#include "reference/run_spec.h"

namespace attnscope::kernels {

/// A kernel's default tilings for the problem, for the programs that run on every GPU, fastest on
/// Hopper first: a GPU uses the first whose blocks fit in its shared memory. Empty if the kernel
/// has no such pass, or does not accept the precision or head dimension. For `standard`, whose
/// tiles cuBLAS chooses: the tile that the library used in measurements on an H200. For
/// PassKind::both: those of the forward pass.
std::vector<Tiling> default_tilings(const KernelInfo& kernel, PassKind pass,
                                    const AttentionProblem& problem);

/// The tilings that the table has for the kernel's program with Hopper's instructions and problems
/// like this one, of any length, with these switches. Empty if it has none: such programs use
/// default_tilings(), too.
std::vector<Tiling> hopper_tilings(const KernelInfo& kernel, PassKind pass,
                                   const AttentionProblem& problem, const Knobs& knobs = {});

/// The default tiling of the run's pass on a GPU: that of the program with Hopper's instructions,
/// if the table has one and the GPU, the problem and the switches allow it; of several, the one
/// whose launch is predicted to be shortest. Otherwise the first whose blocks fit in the GPU's
/// shared memory, or the first of all if none fits. Nothing if default_tilings() is empty.
std::optional<Tiling> default_tiling(ResolvedRun run, const ProgramTarget& target = {});

/// The run in the tiling that it uses on a GPU: the requested one, else that of the block mask,
/// else the kernel's default on that GPU, which must have one.
ResolvedRun run_on_gpu(ResolvedRun run, const ProgramTarget& target);

/// The tilings that the run may use, depending on the GPU: one if it is requested or that of the
/// block mask, else all default ones.
std::vector<Tiling> possible_tilings(const ResolvedRun& run);

}  // namespace attnscope::kernels
