/// What a resolved run needs on a GPU: its tiling, one of its kernel's two programs, and workspace.
/// Plain C++.
#pragma once

#include <cstddef>
#include <optional>

#include "kernels/knobs.h"
#include "kernels/program_target.h"
#include "kernels/workspace_layout.h"
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
bool runs_on_hopper(const ResolvedRun& run, const ProgramTarget& target);

/// The largest number of elements of block_sparse2's lists of tiles (tile_lists.h), in the
/// requested tiling or, without one, in any default tiling of the run's pass.
Index most_list_numbers(const ResolvedRun& run);

/// Bytes of workspace that the run's pass needs: for the tensors of its workspace_layout() and, for
/// `block_sparse2`, the lists of tiles. Without a requested tiling: enough for any default tiling.
std::size_t workspace_bytes(const ResolvedRun& run);

/// The workspace of the run's pass in its tiling.
WorkspaceLayout workspace_layout(const ResolvedRun& run);

}  // namespace attnscope::kernels
