/// The one table of default tilings, by kernel, pass, precision, head dimension, kind of scores,
/// GPU and, for Hopper's programs, the rounds of row tiles on its SMs, and the keys.
#pragma once

#include <optional>
#include <vector>

#include "kernels/catalog.h"
#include "reference/run_spec.h"

namespace attnscope::kernels {

/// A kernel's default tilings for the problem, for the programs that run on every GPU, fastest on
/// Hopper first: a GPU uses the first whose blocks fit in its shared memory. Empty if the kernel
/// has no such pass, or does not accept the precision or head dimension. For `standard`, whose
/// tiles cuBLAS chooses: the tile that the library used in measurements on an H200.
std::vector<Tiling> default_tilings(const KernelInfo& kernel, PassKind pass,
                                    const AttentionProblem& problem);

/// The tilings that the table has for the kernel's program with Hopper's instructions and problems
/// like this one, of any length, with these switches. Empty if it has none: such programs use
/// default_tilings(), too.
std::vector<Tiling> hopper_tilings(const KernelInfo& kernel, PassKind pass,
                                   const AttentionProblem& problem, const Knobs& knobs = {});

/// The default tiling on a GPU: that of the program with Hopper's instructions, if the table has
/// one and the GPU, the problem and the switches allow it; of several, the one whose launch is
/// predicted to be shortest. Otherwise the first whose blocks fit in
/// the GPU's shared memory, or the first of all if none fits. `carry`: the precision of O in HBM
/// between passes. Nothing if default_tilings() is empty.
std::optional<Tiling> default_tiling(const KernelInfo& kernel, PassKind pass,
                                     const AttentionProblem& problem, Carry carry,
                                     const ProgramTarget& target = {}, const Knobs& knobs = {});

}  // namespace attnscope::kernels
