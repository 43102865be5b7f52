#include "kernels/host/compiled_kernels.h"

#include <fmt/core.h>

#include "kernels/host/cuda_check.h"

namespace attnscope::kernels {

namespace {

std::string architecture_of_device() {
  int device = 0, major = 0, minor = 0;
  ATTNSCOPE_CUDA(cudaGetDevice(&device));
  ATTNSCOPE_CUDA(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device));
  ATTNSCOPE_CUDA(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device));
  return architecture_of(fmt::format("{}.{}", major, minor));
}

}  // namespace

CompiledKernels::~CompiledKernels() {
  for (const cudaLibrary_t library : libraries_)
    ATTNSCOPE_CUDA_NO_THROW(cudaLibraryUnload(library));
}

cudaKernel_t CompiledKernels::loaded(const KernelProgram& program) {
  const std::lock_guard lock(mutex_);
  const auto known = kernels_.find(program.expression);
  if (known != kernels_.end()) return known->second;
  KernelProgram for_device = program;
  for_device.architecture = architecture_of_device();
  const auto obtained = compiler_.obtain(for_device);
  if (!obtained) throw NotCompiled(obtained.error());
  const CompiledKernel& compiled = *obtained.value().kernel;
  cudaLibrary_t library = nullptr;
  ATTNSCOPE_CUDA(cudaLibraryLoadData(&library, compiled.cubin.data(), nullptr, nullptr, 0, nullptr,
                                     nullptr, 0));
  libraries_.push_back(library);
  cudaKernel_t kernel = nullptr;
  ATTNSCOPE_CUDA(cudaLibraryGetKernel(&kernel, library, compiled.entry.c_str()));
  kernels_.emplace(program.expression, kernel);
  return kernel;
}

void CompiledKernels::start(const KernelProgram& program, Index blocks, int threads,
                            Index shared_bytes, void* stream, void** arguments) {
  constexpr Index kDefaultSharedBytes = 48 * 1024;
  const cudaKernel_t kernel = loaded(program);
  const auto* const function = reinterpret_cast<const void*>(kernel);
  if (shared_bytes > kDefaultSharedBytes) {
    check_shared_memory(static_cast<int>(shared_bytes));
    ATTNSCOPE_CUDA(cudaFuncSetAttribute(function, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                        static_cast<int>(shared_bytes)));
  }
  ATTNSCOPE_CUDA(cudaLaunchKernel(
      function, dim3(static_cast<unsigned>(blocks)), dim3(static_cast<unsigned>(threads)),
      arguments, static_cast<std::size_t>(shared_bytes), static_cast<cudaStream_t>(stream)));
}

}  // namespace attnscope::kernels
