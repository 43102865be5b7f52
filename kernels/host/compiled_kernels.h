/// Kernels loaded on one GPU, each compiled at its first launch. Internal to kernels/.
#pragma once

#include <cuda_runtime_api.h>

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <type_traits>
#include <utility>

#include "kernels/compile/block_program.h"
#include "kernels/compile/compiler.h"
#include "kernels/host/cuda_check.h"

namespace attnscope::kernels {

/// Any thread may use it while its GPU is the current device; all wait while a kernel is compiled
/// and loaded.
class CompiledKernels {
 public:
  /// Compiles for `architecture`, "compute_90", or else for the GPU's own.
  explicit CompiledKernels(std::string architecture = {})
      : architecture_(std::move(architecture)) {}

  /// The compiler. Launches do not compile what it has compiled before.
  KernelCompiler& compiler() { return compiler_; }

  /// Enqueues the block's kernel, compiled for this GPU, on `blocks` thread blocks. The parameters
  /// have exactly the kernel's types. Throws GpuError.
  template <typename... Parameters>
  void start(const BlockProgram& block, Index blocks, void* stream,
             const Parameters&... parameters) {
    void* arguments[] = {const_cast<Parameters*>(&parameters)..., nullptr};
    enqueue(block, blocks, stream, arguments);
  }

  /// The number of such blocks that fit on an SM at once. Throws like start().
  Index resident_blocks(const BlockProgram& block);

 private:
  /// The block's kernel, permitted to use the shared memory that the block requests.
  const void* prepared(const BlockProgram& block);
  void enqueue(const BlockProgram& block, Index blocks, void* stream, void** arguments);
  /// The loaded kernel of `program`, which does not name an architecture.
  cudaKernel_t loaded(const KernelProgram& program);

  struct Unload {
    void operator()(cudaLibrary_t library) const {
      ATTNSCOPE_CUDA_NO_THROW(cudaLibraryUnload(library));
    }
  };
  using Library = std::unique_ptr<std::remove_pointer_t<cudaLibrary_t>, Unload>;
  struct LoadedKernel {
    Library library;
    cudaKernel_t kernel = nullptr;
  };

  const std::string architecture_;
  KernelCompiler compiler_;
  std::mutex mutex_;  ///< guards `kernels_`
  std::map<KernelProgram, LoadedKernel> kernels_;
};

}  // namespace attnscope::kernels
