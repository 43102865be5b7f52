/// Read-only arrays of a problem in device memory: slopes, boundaries of sequences, lists of
/// tiles. Internal to kernels/.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "kernels/host/device_buffer.h"

namespace attnscope::kernels {

/// The arrays on one GPU, shared by launches with the same content. Any thread may use it.
class DeviceTables {
 public:
  /// The bytes in the current device's memory, 256-byte aligned: uploaded by the first call and
  /// reused by later calls with the same content. The caller must keep the buffer until its launch
  /// is enqueued; cudaFree() waits for work that uses it. Throws CudaError.
  std::shared_ptr<const DeviceBuffer> find_or_upload(std::span<const std::byte> bytes);

 private:
  std::mutex mutex_;  ///< guards the members below
  std::map<std::vector<std::byte>, std::shared_ptr<const DeviceBuffer>> tables_;  ///< by content
  std::size_t bytes_ = 0;                                                         ///< of all
};

}  // namespace attnscope::kernels
