#include "kernels/measure/gpu_thread.h"

#include <exception>
#include <utility>

namespace attnscope::kernels {

GpuThread::GpuThread() : thread_([this] { loop(); }) {}

GpuThread::~GpuThread() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void GpuThread::run(const std::function<void()>& work) {
  const std::lock_guard turn(callers_);
  std::unique_lock lock(mutex_);
  work_ = &work;
  changed_.notify_all();
  changed_.wait(lock, [this] { return work_ == nullptr; });
  if (thrown_) std::rethrow_exception(std::exchange(thrown_, nullptr));
}

void GpuThread::loop() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return work_ != nullptr || stopping_; });
    if (work_ == nullptr) return;
    const auto* work = work_;
    lock.unlock();
    std::exception_ptr thrown;
    try {
      (*work)();
    } catch (...) {
      thrown = std::current_exception();
    }
    lock.lock();
    thrown_ = thrown;
    work_ = nullptr;
    changed_.notify_all();
  }
}

}  // namespace attnscope::kernels
