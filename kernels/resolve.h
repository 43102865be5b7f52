/// From what was asked to the kernel that runs it: the counterpart of sim/resolve.h.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kernels/catalog.h"
#include "reference/run_spec.h"

namespace attnscope::kernels {

/// Names of the algorithms that have a kernel.
std::vector<std::string> kernel_algorithms();

/// The tiling that the algorithm's kernel takes by default for this pass (both: forward) of a
/// problem, whether or not it takes the rest of a run. Nothing where there is none.
std::optional<Tiling> own_tiling(std::string_view algorithm, PassKind pass,
                                 const AttentionProblem& problem);

/// One pass of the spec's kernel (unset: that of its algorithm), with the tiling that agrees with
/// the sides that were asked for, else the kernel's own, and with its block mask drawn.
/// invalid_request, with the field to change, where the kernel does not take the problem or has no
/// such choice (splits, variants, both passes at once). Needs no GPU.
Result<ResolvedRun> resolve(const RunSpec& spec);

/// A run for each pass that the spec asks for, the forward pass first. Where both are asked for,
/// they share the block mask, which lies over the backward pass's tiles.
Result<std::vector<ResolvedRun>> resolve_passes(const RunSpec& spec);

/// The run's kernel; a programmer's error when the catalog has none of this name.
const KernelInfo& kernel_of(const ResolvedRun& run);

/// The tiling that was asked for, else that of the block mask; nothing where the kernel's default
/// on the GPU in use runs.
std::optional<Tiling> asked_tiling(const ResolvedRun& run);

/// Nothing when the kernel takes the run, else invalid_request.
std::optional<Error> supports(const ResolvedRun& run);

}  // namespace attnscope::kernels
