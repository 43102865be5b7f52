/// Thread blocks that an SM holds at once: the number computed from the compiler's report, which
/// `attnscope-cli compile` prints, equals the driver's.
#include "app/report/residency.h"

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "app/report/compare.h"
#include "kernels/catalog.h"
#include "kernels/compile/nvrtc_library.h"
#include "kernels/default_tilings.h"
#include "kernels/host/cuda_check.h"
#include "kernels/launch_resources.h"
#include "kernels/measure/device_query.h"
#include "kernels/resolve.h"
#include "kernels/run_programs.h"
#include "tests/kernels/forward_run.h"

namespace attnscope::kernels {
namespace {

/// The GPU in use, as assets/gpus/ describes it; without a description, as its driver does.
GpuDescription gpu_here(const DeviceInfo& device) {
  if (const auto name = find_gpu_of(device)) return load_gpu(*name).value();
  cudaDeviceProp driver{};
  ATTNSCOPE_CUDA(cudaGetDeviceProperties(&driver, 0));
  GpuDescription gpu = load_gpu("h200").value();
  gpu.sm_count = driver.multiProcessorCount;
  gpu.shared_bytes_per_sm = static_cast<Index>(driver.sharedMemPerMultiprocessor);
  gpu.shared_bytes_per_block = static_cast<Index>(driver.sharedMemPerBlockOptin);
  gpu.reserved_shared_bytes_per_block = static_cast<Index>(driver.reservedSharedMemPerBlock);
  gpu.register_bytes_per_sm = Index{driver.regsPerMultiprocessor} * size_bytes(DType::fp32);
  gpu.max_threads_per_sm = driver.maxThreadsPerMultiProcessor;
  gpu.max_blocks_per_sm = driver.maxBlocksPerMultiProcessor;
  return gpu;
}

int blocks_by_driver(const BlockProgram& block, const CompiledKernel& compiled) {
  cudaLibrary_t library = nullptr;
  ATTNSCOPE_CUDA(cudaLibraryLoadData(&library, compiled.cubin.c_str(), nullptr, nullptr, 0, nullptr,
                                     nullptr, 0));
  cudaKernel_t kernel = nullptr;
  ATTNSCOPE_CUDA(cudaLibraryGetKernel(&kernel, library, compiled.entry.c_str()));
  const auto* const function = reinterpret_cast<const void*>(kernel);
  ATTNSCOPE_CUDA(cudaFuncSetAttribute(function, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                      static_cast<int>(block.shared_bytes)));
  int blocks = 0;
  ATTNSCOPE_CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(
      &blocks, function, block.threads, static_cast<std::size_t>(block.shared_bytes)));
  ATTNSCOPE_CUDA(cudaLibraryUnload(library));
  return blocks;
}

class ResidentBlocks : public ::testing::TestWithParam<PassKind> {};

TEST_P(ResidentBlocks, AreThoseOfTheDriver) {
  ATTNSCOPE_NEEDS_GPU();
  const DeviceInfo device = open_device(0).value();
  const GpuDescription gpu = gpu_here(device);
  const ProgramTarget target{device.compute_capability, gpu.shared_bytes_per_block, gpu.sm_count};
  const std::string architecture = architecture_here(device.compute_capability).value();
  int compared = 0;
  for (const KernelInfo& kernel : catalog()) {
    for (const DType dtype : {DType::bf16, DType::fp32}) {
      for (const Index d : {16, 64, 128, 256}) {
        ResolvedRun run;
        run.asked.kernel = kernel.name;
        run.asked.pass = GetParam();
        run.problem.dtype = dtype;
        run.problem.d = d;
        if (supports(run)) continue;
        run = run_on_gpu(run, target);
        for (LaunchProgram& launch : programs_of(run, target)) {
          BlockProgram& block = launch.block;
          block.program.architecture = architecture;
          const auto obtained = test_resources().kernels.compiler().obtain(block.program);
          ASSERT_TRUE(obtained) << obtained.error().message;
          const CompiledKernel& compiled = *obtained.value().kernel;
          EXPECT_EQ(resident_blocks(block, compiled.resources, gpu),
                    blocks_by_driver(block, compiled))
              << block.program.expression;
          ++compared;
        }
      }
    }
  }
  EXPECT_GE(compared, 20);
}

INSTANTIATE_TEST_SUITE_P(Each, ResidentBlocks,
                         ::testing::Values(PassKind::forward, PassKind::backward));

}  // namespace
}  // namespace attnscope::kernels
