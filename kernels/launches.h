/// The passes of each kernel, called by launch_forward and launch_backward after the request is
/// checked.
/// Internal. Each enqueues its launches on arguments.stream and throws CudaError.
#pragma once

#include "kernels/device/trace_buffer.cuh"
#include "kernels/launch.h"
#include "kernels/launch_resources.h"

namespace attnscope::kernels {

// Nothing on success; both passes of standard are unavailable when cuBLAS cannot be loaded
std::optional<Error> launch_standard(const ForwardArguments& arguments, const Tiling& tiling);
std::optional<Error> launch_flash1(const ForwardArguments& arguments, const Tiling& tiling);
std::optional<Error> launch_split_kv(const ForwardArguments& arguments, const Tiling& tiling);
std::optional<Error> launch_flash2(const ForwardArguments& arguments, const Tiling& tiling);
std::optional<Error> launch_block_sparse(const ForwardArguments& arguments, const Tiling& tiling);
std::optional<Error> launch_standard_backward(const BackwardArguments& arguments,
                                              const Tiling& tiling);
std::optional<Error> launch_flash1_backward(const BackwardArguments& arguments,
                                            const Tiling& tiling);
std::optional<Error> launch_flash2_backward(const BackwardArguments& arguments,
                                            const Tiling& tiling);
std::optional<Error> launch_block_sparse_backward(const BackwardArguments& arguments,
                                                  const Tiling& tiling);

/// A kernel of the catalog, by name, and its passes; `backward` is null where there is none.
struct KernelLaunches {
  std::string_view kernel;
  std::optional<Error> (*forward)(const ForwardArguments& arguments, const Tiling& tiling);
  std::optional<Error> (*backward)(const BackwardArguments& arguments, const Tiling& tiling);
};

/// block_sparse2: copies the lists of tiles into the workspace. Both passes do this themselves
/// unless arguments.workspace_is_prepared is set.
void upload_tile_lists(const ForwardArguments& arguments, const Tiling& tiling);
void upload_tile_lists(const BackwardArguments& arguments, const Tiling& tiling);

/// Runs one named launch between the caller's hooks.
template <typename Arguments, typename Enqueue>
void named_launch(const Arguments& arguments, std::string_view name, Enqueue&& enqueue) {
  if (arguments.before_launch) arguments.before_launch(name);
  enqueue();
  if (arguments.after_launch) arguments.after_launch(name);
}

/// Enqueues the launch that can be traced: with arguments.trace the block is compiled with
/// device::BlockTrace.
template <typename Arguments, typename Parameters>
void start_traceable(const Arguments& arguments, const BlockProgram& block, Index blocks,
                     const Parameters& parameters) {
  CompiledKernels& kernels = arguments.resources->kernels;
  if (arguments.trace == nullptr) {
    kernels.start(block, blocks, arguments.stream, parameters);
  } else {
    kernels.start(block, blocks, arguments.stream,
                  TracedParameters<Parameters>{parameters, *arguments.trace});
  }
}

}  // namespace attnscope::kernels
