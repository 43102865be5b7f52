/// Small read-only arrays of a problem in device memory: slopes, boundaries of sequences, lists of
/// tiles. Internal to libattnscope_kernels.so.
#pragma once

#include <cstddef>
#include <memory>

#include "kernels/host/device_buffer.h"

namespace attnscope::kernels {

/// The bytes in memory of the current device, 256-byte aligned: uploaded at the first call and
/// reused by later calls with the same content. The caller holds the buffer until its launch is
/// enqueued; cudaFree() waits for the work on it. Throws CudaError.
std::shared_ptr<const DeviceBuffer> device_table(const void* data, std::size_t bytes);

}  // namespace attnscope::kernels
