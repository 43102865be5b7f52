/// Streams and events as owning objects.
#pragma once

#include <cuda_runtime_api.h>

#include "kernels/host/cuda_check.h"

namespace attnscope::kernels {

/// A stream that synchronizes with the default stream, so that plain copies stay in order.
class Stream {
 public:
  Stream() { ATTNSCOPE_CUDA(cudaStreamCreate(&stream_)); }
  ~Stream() { ATTNSCOPE_CUDA_NO_THROW(cudaStreamDestroy(stream_)); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  cudaStream_t get() const { return stream_; }
  void wait() const { ATTNSCOPE_CUDA(cudaStreamSynchronize(stream_)); }

 private:
  cudaStream_t stream_ = nullptr;
};

class Event {
 public:
  Event() { ATTNSCOPE_CUDA(cudaEventCreate(&event_)); }
  ~Event() { ATTNSCOPE_CUDA_NO_THROW(cudaEventDestroy(event_)); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  void record(const Stream& stream) { ATTNSCOPE_CUDA(cudaEventRecord(event_, stream.get())); }
  void wait() const { ATTNSCOPE_CUDA(cudaEventSynchronize(event_)); }
  /// Seconds from `start` to this event; both must have completed.
  double seconds_since(const Event& start) const {
    float milliseconds = 0.0F;
    ATTNSCOPE_CUDA(cudaEventElapsedTime(&milliseconds, start.event_, event_));
    return static_cast<double>(milliseconds) * 1e-3;
  }

 private:
  cudaEvent_t event_ = nullptr;
};

}  // namespace attnscope::kernels
