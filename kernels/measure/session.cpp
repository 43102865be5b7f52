#include "kernels/measure/session.h"

#include <exception>

#include "kernels/host/cuda_check.h"
#include "kernels/measure/device_query.h"

namespace attnscope::kernels {

Result<std::unique_ptr<Session>> Session::open(int device) {
  std::unique_ptr<Session> session(new Session);
  session->device_ = device;
  const auto error = session->run([&]() -> std::optional<Error> {
    auto info = open_device(device);
    if (!info) return info.error();
    session->info_ = std::move(info).value();
    session->target_ = current_gpu();
    session->stream_ = std::make_unique<Stream>();
    session->resources_ = std::make_unique<LaunchResources>();
    session->conditioning_ = std::make_unique<Conditioning>(
        session->resources_->kernels, static_cast<std::size_t>(session->info_.l2_bytes));
    session->sm_clock_ =
        std::make_unique<SmClock>(session->resources_->kernels, session->info_.sm_count);
    return std::nullopt;
  });
  if (error) return *error;
  return session;
}

Session::~Session() {
  // Free on the thread that owns the context; if the context is lost, nothing can be freed
  thread_.run([this] {
    profiler_.reset();
    sm_clock_.reset();
    conditioning_.reset();
    resources_.reset();
    stream_.reset();
  });
}

std::optional<Error> Session::run(const std::function<std::optional<Error>()>& work) {
  std::optional<Error> error;
  thread_.run([&] { error = guarded(work); });
  return error;
}

std::optional<Error> Session::guarded(const std::function<std::optional<Error>()>& work) {
  if (lost_) {
    return failed("the GPU's context was lost ({}); restart the program to use it", lost_because_);
  }
  std::optional<Error> error;
  try {
    error = work();
  } catch (const GpuError& failure) {
    error = failure.error;
  } catch (const std::bad_alloc&) {
    error = failed("out of host memory");
  } catch (const std::exception& failure) {
    error = failed(failure.what());
  }
  return error ? check_context(std::move(error)) : std::nullopt;
}

std::optional<Error> Session::check_context(std::optional<Error> error) {
  if (!stream_) return error;  // nothing was opened
  cudaGetLastError();          // clears an error that did not corrupt the context
  const cudaError_t state = cudaDeviceSynchronize();
  if (state != cudaSuccess) {
    lost_because_ = error->message;
    lost_ = true;
  }
  return error;
}

const Result<std::unique_ptr<CounterProfiler>>& Session::profiler() {
  if (!profiler_) profiler_.emplace(CounterProfiler::create(device_, stream(), conditioning()));
  return *profiler_;
}

}  // namespace attnscope::kernels
