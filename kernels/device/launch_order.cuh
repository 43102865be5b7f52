/// Overlapping launches on one stream: the next launch may start while this one runs, and waits
/// inside its kernel. Before compute capability 9.0 launches do not overlap, and both functions do
/// nothing.
#pragma once

namespace attnscope::kernels::device {

/// The next launch may start once every block of this one has called this or has ended.
__device__ inline void let_next_launch_start() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;\n" ::: "memory");
#endif
}

/// Waits until the previous launch has ended and its results can be read.
__device__ inline void wait_for_launch_before() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;\n" ::: "memory");
#endif
}

}  // namespace attnscope::kernels::device
