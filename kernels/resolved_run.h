/// A resolved run's tiling on a GPU, and which of its kernel's two programs runs it. Plain C++.
#pragma once

#include <optional>

#include "kernels/block_shapes.h"
#include "reference/run_spec.h"

namespace attnscope::kernels {

/// The requested tiling, else that of the block mask; nothing if the kernel uses its default on the
/// GPU in use.
std::optional<Tiling> asked_tiling(const ResolvedRun& run);

/// The tiling that the run uses on a GPU: the requested one, else that of the block mask, else the
/// kernel's default on that GPU.
Tiling tiling_on_gpu(const ResolvedRun& run, const ProgramTarget& target);

/// Whether a Hopper GPU runs the pass in the run's tiling with Hopper's instructions, given these
/// switches.
bool has_hopper_program(const ResolvedRun& run, const Knobs& knobs);

/// Whether the run's launch with the products uses the program with Hopper's instructions.
bool runs_on_hopper(const ResolvedRun& run, const ProgramTarget& target, const Knobs& knobs);

}  // namespace attnscope::kernels
