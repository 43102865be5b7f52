/// Empty kernels.
#pragma once

#include "kernels/device/launch_order.cuh"

namespace attnscope::kernels {

__global__ void do_nothing() {}

/// May start while the previous launch is still running, then waits for it.
__global__ void do_nothing_after_launch_before() {
  device::let_next_launch_start();
  device::wait_for_launch_before();
}

}  // namespace attnscope::kernels
