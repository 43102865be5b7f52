/// Device memory that frees itself, and read-only arrays that launches share. Internal to kernels/
/// and the GPU tests.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "kernels/host/cuda_check.h"

namespace attnscope::kernels {

/// Owns `bytes` of device memory, aligned to 256 bytes.
class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  explicit DeviceBuffer(std::size_t bytes) : bytes_(bytes) {
    void* allocated = nullptr;
    if (bytes > 0) ATTNSCOPE_CUDA(cudaMalloc(&allocated, bytes));
    data_dev_.reset(allocated);
  }

  void* data_dev() const { return data_dev_.get(); }
  std::size_t bytes() const { return data_dev_ == nullptr ? 0 : bytes_; }

  /// On return, the bytes are visible to every stream. This requires a synchronization: cudaMemcpy
  /// from pageable memory may return while the last part is still being copied.
  void copy_from_host(const void* source) {
    ATTNSCOPE_CUDA(cudaMemcpy(data_dev(), source, bytes(), cudaMemcpyHostToDevice));
    ATTNSCOPE_CUDA(cudaStreamSynchronize(nullptr));
  }
  void copy_to_host(void* destination) const {
    ATTNSCOPE_CUDA(cudaMemcpy(destination, data_dev(), bytes(), cudaMemcpyDeviceToHost));
  }
  /// Sets every byte; 0xff is NaN in all three precisions.
  void fill_bytes(int value) {
    if (bytes() > 0) ATTNSCOPE_CUDA(cudaMemset(data_dev(), value, bytes()));
  }

 private:
  struct Free {
    void operator()(void* data_dev) const { ATTNSCOPE_CUDA_NO_THROW(cudaFree(data_dev)); }
  };
  std::unique_ptr<void, Free> data_dev_;
  std::size_t bytes_ = 0;
};

/// Read-only arrays on one GPU (slopes, boundaries of sequences, lists of tiles), shared by
/// launches with the same content. Any thread may use it.
class DeviceTables {
 public:
  /// The bytes in the current device's memory, 256-byte aligned: uploaded by the first call and
  /// reused by later calls with the same content. At 64 arrays or 1 GiB, all are released, and
  /// uploaded again when they are next needed. The caller must keep the buffer until its launch is
  /// enqueued; cudaFree() waits for work that uses it. Throws CudaError.
  std::shared_ptr<const DeviceBuffer> find_or_upload(std::span<const std::byte> bytes);

 private:
  std::mutex mutex_;  ///< guards the members below
  std::map<std::vector<std::byte>, std::shared_ptr<const DeviceBuffer>> tables_;  ///< by content
  std::size_t bytes_ = 0;                                                         ///< of all
};

}  // namespace attnscope::kernels
