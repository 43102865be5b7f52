/// Turns a request into the run of a kernel: the counterpart of sim/resolve.h.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kernels/catalog.h"
#include "reference/run_spec.h"

namespace attnscope::kernels {

/// Names of the algorithms that have a kernel.
std::vector<std::string> kernel_algorithms();

/// The tiling that the algorithm's kernel uses by default for this pass (both: forward) of a
/// problem on a GPU, whether or not it supports the rest of a run. Nothing if there is none.
std::optional<Tiling> own_tiling(std::string_view algorithm, PassKind pass,
                                 const AttentionProblem& problem, const ProgramTarget& target);

/// The requested kernel, else that of the algorithm; invalid_request when there is none.
Result<const KernelInfo*> choose_kernel(const RunSpec& spec);

/// The switches that the spec's kernel has, in its pass or passes and its precision.
std::vector<const Knob*> available_knobs(const RunSpec& spec);

/// One pass of the spec's kernel (unset: that of its algorithm), with the requested sides of the
/// tiles, else the kernel's default on no GPU in particular (ProgramTarget), and with its block
/// mask drawn. invalid_request, with the field to change, when the kernel does not support the
/// problem or a choice (splits, variants, both passes at once). Needs no GPU.
Result<ResolvedRun> resolve(const RunSpec& spec);

/// A run for each pass that the spec requests, the forward pass first. When both are requested,
/// they share the block mask, which is drawn over the backward pass's tiles.
Result<std::vector<ResolvedRun>> resolve_passes(const RunSpec& spec);

/// The run's kernel; a programming error when the catalog has none of this name.
const KernelInfo& kernel_of(const ResolvedRun& run);

/// The requested tiling, else that of the block mask; nothing if the kernel uses its default on the
/// GPU in use.
std::optional<Tiling> asked_tiling(const ResolvedRun& run);

/// The tiling that the run uses on a GPU: the requested one, else that of the block mask, else the
/// kernel's default on that GPU.
Tiling tiling_on_gpu(const ResolvedRun& run, const ProgramTarget& target);

/// Whether a Hopper GPU runs the pass in the run's tiling with its own instructions, under these
/// switches.
bool has_hopper_program(const ResolvedRun& run, const Knobs& knobs);

/// Nothing when the kernel computes the run, else invalid_request with one line: what is rejected,
/// why, and what the kernel accepts.
std::optional<Error> supports(const ResolvedRun& run);

}  // namespace attnscope::kernels
