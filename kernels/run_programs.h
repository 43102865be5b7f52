/// What a launch of a run needs: its programs, which are compiled when they are first launched, and
/// its workspace. Plain C++: no GPU is needed.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/compile/block_program.h"
#include "kernels/program_target.h"
#include "kernels/workspace_layout.h"
#include "reference/run_spec.h"

namespace attnscope::kernels {

/// Whether the run's launch with the products uses the program with Hopper's instructions.
bool runs_on_hopper(const ResolvedRun& run, const ProgramTarget& target);

/// The agents of a program: consumers, which are groups of warps that compute, and others that load
/// into `stages` slots each for K and V or, in the backward pass, for Q and dO.
struct ProgramAgents {
  Index consumers = 0;
  Index stages = 1;
  /// The block computes one row tile after another, and loads the first tiles of the next one in
  /// the meantime.
  bool loads_ahead = false;
  bool stores_beside_next = false;  ///< Oi is stored from a separate buffer
  bool overlaps_softmax = false;    ///< a tile's softmax overlaps P V of the previous tile
  bool trims = false;               ///< a consumer skips the last tiles, hidden from its rows
};
/// The agents of the run's launch with the products; none if every warp loads and computes, or if
/// the consumers share neither rows nor keys.
std::optional<ProgramAgents> agents_of(const ResolvedRun& run, const ProgramTarget& target);

/// The number of heads whose row tiles with the same index are started one after another by
/// flash2's forward program: several under a causal mask, so that the longest tiles start first
/// (flash2_hopper_heads_at_once()).
Index hopper_heads_at_once(const ResolvedRun& run);

/// Whether the run's blocks visit lists of tiles (tile_lists.h): for packed sequences and, in
/// kernels that take a block mask, always.
bool visits_lists(const ResolvedRun& run);

/// The programs of a run in its tiling, which kernels::supports() accepts, in launch order, without
/// cuBLAS's. `traced`: the main launch records into a TraceBuffer.
std::vector<LaunchProgram> programs_of(const ResolvedRun& run, const ProgramTarget& target,
                                       bool traced = false);

/// The launch with the matrix products; null if they are cuBLAS's.
const LaunchProgram* launch_with_products(std::span<const LaunchProgram> programs);
/// The instructions of these products: "mma.sync", "cuBLAS".
std::string_view instructions_of(std::span<const LaunchProgram> programs);

/// The workspace of the run's pass in its tiling: the kernel's own tensors, then those that
/// several kernels have.
WorkspaceLayout workspace_layout(const ResolvedRun& run);

/// Bytes of workspace that the run's pass needs in any tiling that it may have on any GPU
/// (possible_tilings()).
std::size_t workspace_bytes(const ResolvedRun& run);

}  // namespace attnscope::kernels
