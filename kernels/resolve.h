/// What each kernel supports, and the run that a request becomes: the counterpart of sim/resolve.h.
/// Plain C++.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/catalog.h"
#include "reference/result.h"
#include "reference/run_spec.h"

namespace attnscope::kernels {

/// The tiling that the algorithm's kernel uses by default for this pass (both: forward) of a
/// problem on a GPU, whether or not it supports the rest of a run. Nothing if there is none.
std::optional<Tiling> own_tiling(std::string_view algorithm, PassKind pass,
                                 const AttentionProblem& problem, const ProgramTarget& target = {});

/// The requested kernel, else that of the algorithm; invalid_request if there is none.
Result<const KernelInfo*> choose_kernel(const RunSpec& spec);

/// The switches that the spec's kernel has, in its pass or passes and its precision.
std::vector<const Knob*> available_knobs(const RunSpec& spec);

/// One pass of the spec's kernel (unset: that of its algorithm), with the requested tile sides,
/// else the kernel's default on the target, and with its block mask drawn in these tiles.
/// invalid_request, with the field to change, if the kernel does not support the problem or a
/// choice (splits, variants, both passes at once). Needs no GPU.
Result<ResolvedRun> resolve(const RunSpec& spec, const ProgramTarget& target = {});

/// A run for each pass that the spec requests, the forward pass first. If both are requested, they
/// share the block mask, which is drawn over the backward pass's tiles.
Result<std::vector<ResolvedRun>> resolve_passes(const RunSpec& spec,
                                                const ProgramTarget& target = {});

/// The switches that are not at their defaults, so that equal runs have equal descriptions. An
/// error of choose_kernel(), or one in the field "switches" if the kernel's pass does not have a
/// switch or value, or is in fp32.
Result<std::map<std::string, std::string>> check_switches(const RunSpec& spec);

/// Nothing if the program that the target runs has the run's switches, else invalid_request: the
/// other one never replaces it silently. Without a compute capability, the target is a Hopper GPU.
std::optional<Error> check_program(const ResolvedRun& run, const ProgramTarget& target);

/// Nothing if the kernel supports the run, in its tiling on the target, else invalid_request with
/// one line: the rejected choice, the reason, and what the kernel accepts.
std::optional<Error> supports(const ResolvedRun& run, const ProgramTarget& target = {});

/// Asynchronous copies and bf16 products require compute capability 8.0.
inline constexpr int kLeastComputeMajor = 8;
/// Nothing if the kernels can run on a GPU of this compute capability, "9.0", else unavailable.
std::optional<Error> check_compute_capability(std::string_view gpu_name,
                                              std::string_view capability);

}  // namespace attnscope::kernels
