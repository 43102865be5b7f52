/// The one table of default tilings, by kernel, pass, precision, head dimension and kind of scores.
#pragma once

#include <optional>
#include <vector>

#include "kernels/catalog.h"
#include "reference/run_spec.h"

namespace attnscope::kernels {

/// The tilings that a kernel takes by default for the problem, the fastest on Hopper first: a GPU
/// takes the first whose blocks fit its shared memory. Empty if the kernel has no such pass, or
/// does not take the precision or head dimension. For `standard`, whose tiles cuBLAS chooses: the
/// tile that the library used in measurements on an H200.
std::vector<Tiling> default_tilings(const KernelInfo& kernel, PassKind pass,
                                    const AttentionProblem& problem);

/// The default on a GPU whose thread blocks can have this much shared memory: the first that fits,
/// else the first. `carry`: the precision of O in HBM between passes. Nothing if
/// default_tilings() is empty.
std::optional<Tiling> default_tiling(const KernelInfo& kernel, PassKind pass,
                                     const AttentionProblem& problem, Carry carry,
                                     Index shared_bytes_per_block);

}  // namespace attnscope::kernels
