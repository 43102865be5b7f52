/// The properties of a GPU that determine the tiles and programs of a run. Plain C++.
#pragma once

#include <string>
#include <string_view>

#include "reference/tiling.h"

namespace attnscope::kernels {

/// Shared memory of a block on the GPUs that have the most: 227 KiB.
inline constexpr Index kMostSharedBytes = Index{227} * 1024;

/// The GPUs that have Hopper's instructions.
inline constexpr std::string_view kHopperComputeCapability = "9.0";

/// The defaults describe no particular GPU: the programs that every GPU runs, the most shared
/// memory, and the SMs of an H200.
struct ProgramTarget {
  std::string compute_capability = {};  ///< "9.0"
  Index shared_bytes_per_block = kMostSharedBytes;
  Index sm_count = 132;
  bool bulk_copies = true;  ///< bulk copies can address the run's tensors

  bool has_hopper_instructions() const {
    return bulk_copies && compute_capability == kHopperComputeCapability;
  }
};

}  // namespace attnscope::kernels
