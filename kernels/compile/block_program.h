/// A kernel of the embedded sources, its template arguments and the size of its thread blocks.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

#include "kernels/compile/kernel_sources.h"
#include "kernels/knobs.h"
#include "kernels/program_target.h"
#include "kernels/score_features.cuh"
#include "reference/run_spec.h"
#include "reference/tiling.h"

namespace attnscope::kernels {

/// The choices besides the problem that select a launch's instance.
struct LaunchKind {
  bool listed = false;  ///< its blocks visit lists of tiles (block mask, packed sequences)
  bool traced = false;  ///< it records into a TraceBuffer
  bool hopper = false;  ///< its products use Hopper's instructions
  Knobs knobs = {};
  Index shared_bytes_per_block = kMostSharedBytes;  ///< of the GPU
};

/// The instructions of a program's matrix products, as results name them.
inline constexpr std::string_view kCudaCores = "fma", kTensorCores = "mma.sync", kHopper = "wgmma";

struct BlockProgram {
  KernelProgram program;  ///< its architecture is chosen later
  int threads = 0;
  Index shared_bytes = 0;              ///< dynamic
  std::string_view instructions = {};  ///< the instructions of its matrix products; "": it has none
  /// Its blocks may start while the previous launch on the stream is still running, if the GPU
  /// supports this: the kernel then calls device::wait_for_launch_before().
  bool overlaps_launch_before = false;
  std::string limit = {};  ///< in one clause, why no block can compute this tiling; else empty
};

struct LaunchProgram {
  std::string launch;  ///< "forward"
  BlockProgram block;
};

/// "attnscope::kernels::device::Columns::all" of "Columns::all".
inline std::string in_device(std::string_view name) {
  return fmt::format("attnscope::kernels::device::{}", name);
}

/// The trace policy of a kernel: whether it records into a TraceBuffer.
inline std::string trace_policy(bool traced) {
  return in_device(traced ? "BlockTrace" : "NoTrace");
}

/// How a kernel copies the rows of a tile: without checking each chunk's column if the problem's d
/// is the width of the tiles. Widths above 128 keep the check, since without it the loops would
/// unroll until registers spill. So does width 96, where the cost of the check was not measured.
inline std::string columns_policy(Index d, Index width) {
  const bool whole_rows = d == width && width <= 128 && width != 96;
  return in_device(whole_rows ? "Columns::all" : "Columns::first");
}

/// The text of one or several template arguments; in general, of a number, a boolean or a name.
template <typename Argument>
std::string argument_text(const Argument& argument) {
  return fmt::format("{}", argument);
}
/// The device type of a tensor's elements.
inline std::string argument_text(DType dtype) {
  if (dtype == DType::fp32) return "float";
  return in_device(dtype == DType::fp16 ? "Fp16" : "Bf16");
}
/// Two arguments: Br and Bc.
inline std::string argument_text(const Tiling& tiling) {
  return fmt::format("{}, {}", tiling.Br, tiling.Bc);
}
/// "attnscope::kernels::ScoreFeatures{...}".
inline std::string argument_text(const ScoreFeatures& features) {
  return fmt::format("attnscope::kernels::ScoreFeatures{{{}, {}, {}, {}}}", features.key_ranges,
                     features.soft_cap, features.alibi, features.dropout);
}

/// The instance of a template in attnscope::kernels with these arguments, which argument_text()
/// accepts.
template <typename... Arguments>
std::string instance_of(std::string_view kernel, const Arguments&... arguments) {
  const std::string texts[] = {argument_text(arguments)...};
  return fmt::format("attnscope::kernels::{}<{}>", kernel, fmt::join(texts, ", "));
}

/// The instance of the kernel that its file is named after, "flash1/flash1_forward" in kernels/.
template <typename... Arguments>
KernelProgram kernel_program(std::string_view path, const Arguments&... arguments) {
  return {.source = fmt::format("kernels/{}.cuh", path),
          .expression = instance_of(path.substr(path.rfind('/') + 1), arguments...)};
}

/// The program of a run's launch with matrix products, kernel_program(), with the run's knobs.
template <typename... Arguments>
BlockProgram products_program(const ResolvedRun& run, const LaunchKind& kind, std::string_view path,
                              int threads, Index shared_bytes, const Arguments&... arguments) {
  BlockProgram block{.program = kernel_program(path, arguments...),
                     .threads = threads,
                     .shared_bytes = shared_bytes,
                     .instructions = run.problem.dtype == DType::fp32 ? kCudaCores
                                     : kind.hopper                    ? kHopper
                                                                      : kTensorCores};
  block.program.options = knob_options(kind.knobs);
  return block;
}

/// The same for a launch in fp32, on the CUDA cores: sixteen threads own four rows.
inline BlockProgram cuda_core_program(const ResolvedRun& run, const LaunchKind& kind,
                                      std::string_view path, Index shared_bytes) {
  return products_program(run, kind, path, static_cast<int>(4 * run.tiling.Br), shared_bytes,
                          padded_head_dim(run.problem.d), run.tiling, trace_policy(kind.traced));
}

}  // namespace attnscope::kernels
