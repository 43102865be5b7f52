#include "kernels/host/compiled_kernels.h"

#include "kernels/compile/nvrtc_library.h"

namespace attnscope::kernels {

cudaKernel_t CompiledKernels::loaded(const KernelProgram& program) {
  const std::lock_guard lock(mutex_);
  auto& [library, kernel] = kernels_[program];
  if (kernel != nullptr) return kernel;
  const auto architecture =
      architecture_.empty() ? architecture_here(current_gpu().compute_capability) : architecture_;
  if (!architecture) throw GpuError(architecture.error());
  KernelProgram here = program;
  here.architecture = architecture.value();
  const auto obtained = compiler_.obtain(here);
  if (!obtained) throw GpuError(obtained.error());
  const CompiledKernel& compiled = *obtained.value().kernel;
  const std::string& code = compiled.cubin.empty() ? compiled.ptx : compiled.cubin;
  cudaLibrary_t loaded = nullptr;
  ATTNSCOPE_CUDA(
      cudaLibraryLoadData(&loaded, code.c_str(), nullptr, nullptr, 0, nullptr, nullptr, 0));
  library.reset(loaded);
  ATTNSCOPE_CUDA(cudaLibraryGetKernel(&kernel, loaded, compiled.entry.c_str()));
  return kernel;
}

const void* CompiledKernels::prepared(const BlockProgram& block) {
  if (!block.limit.empty()) {
    throw GpuError(unavailable("the tiling for this GPU cannot be computed: {}", block.limit));
  }
  constexpr Index kDefaultSharedBytes = 48 * 1024;
  const auto* const function = reinterpret_cast<const void*>(loaded(block.program));
  if (block.shared_bytes > kDefaultSharedBytes) {
    const Index most_bytes = device_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin);
    if (block.shared_bytes > most_bytes) {
      throw GpuError(
          unavailable("a thread block needs {} bytes of shared memory and this GPU gives it at "
                      "most {}; choose a smaller tiling or {}",
                      block.shared_bytes, most_bytes, field_name("head_dim")));
    }
    ATTNSCOPE_CUDA(cudaFuncSetAttribute(function, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                        static_cast<int>(block.shared_bytes)));
  }
  return function;
}

Index CompiledKernels::resident_blocks(const BlockProgram& block) {
  int blocks = 0;
  ATTNSCOPE_CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(
      &blocks, prepared(block), block.threads, static_cast<std::size_t>(block.shared_bytes)));
  return blocks;
}

void CompiledKernels::enqueue(const BlockProgram& block, Index blocks, void* stream,
                              void** arguments) {
  const void* const function = prepared(block);
  cudaLaunchAttribute overlap{};
  overlap.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  overlap.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t launch{};
  launch.gridDim = dim3(static_cast<unsigned>(blocks));
  launch.blockDim = dim3(static_cast<unsigned>(block.threads));
  launch.dynamicSmemBytes = static_cast<std::size_t>(block.shared_bytes);
  launch.stream = static_cast<cudaStream_t>(stream);
  launch.attrs = &overlap;
  const bool can_overlap = device_attribute(cudaDevAttrComputeCapabilityMajor) >= 9;
  launch.numAttrs = block.overlaps_launch_before && can_overlap ? 1 : 0;
  ATTNSCOPE_CUDA(cudaLaunchKernelExC(&launch, function, arguments));
}

}  // namespace attnscope::kernels
