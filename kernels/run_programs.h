/// The kernels that a run compiles when it is launched. Plain C++: no GPU is needed.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/compile/block_program.h"
#include "reference/run_spec.h"

namespace attnscope::kernels {

/// What a run is used for: its outputs, a measurement of its pass, or a trace of its main launch.
enum class RunUse : std::uint8_t { run, measure, trace };

/// The properties of a GPU that determine the programs of a run.
struct ProgramTarget {
  std::string compute_capability;    ///< "9.0"
  Index shared_bytes_per_block = 0;  ///< that one block can have
};

struct LaunchProgram {
  std::string launch;  ///< "forward"
  BlockProgram block;
};

/// The launches of a backward pass, and the last one if query heads share a KV head.
std::vector<LaunchProgram> with_sum_heads(std::vector<LaunchProgram> programs,
                                          const AttentionProblem& problem);

/// The programs of a run in its tiling, which kernels::supports() accepts, in the order of their
/// launches; cuBLAS's are not among them. `traced`: the main launch records into a TraceBuffer.
std::vector<LaunchProgram> programs_of(const ResolvedRun& run, const ProgramTarget& target,
                                       bool traced = false);

/// The launch with the matrix products; null where they are cuBLAS's.
const LaunchProgram* launch_with_products(std::span<const LaunchProgram> programs);
/// The instructions of these products: "mma.sync", "cuBLAS".
std::string_view instructions_of(std::span<const LaunchProgram> programs);

}  // namespace attnscope::kernels
