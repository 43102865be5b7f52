#include "app/jobs/background_job.h"

namespace attnscope::app {

FileThread::FileThread(std::function<void()> on_done)
    : on_done_(std::move(on_done)), thread_([this] { work(); }) {}

FileThread::~FileThread() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  posted_.notify_one();
  thread_.join();
}

void FileThread::post(Job job) {
  {
    const std::lock_guard lock(mutex_);
    jobs_.push(std::move(job));
  }
  posted_.notify_one();
}

void FileThread::run_completed() {
  std::vector<Finish> done;
  {
    const std::lock_guard lock(mutex_);
    done = std::exchange(done_, {});
  }
  for (const Finish& finish : done) {
    if (finish) finish();
  }
}

bool FileThread::busy() const {
  const std::lock_guard lock(mutex_);
  return !jobs_.empty() || !done_.empty();
}

void FileThread::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    posted_.wait(lock, [this] { return stopping_ || !jobs_.empty(); });
    if (jobs_.empty()) return;
    const Job& job = jobs_.front();  // post() does not move the elements of a queue
    lock.unlock();
    Finish finish = job();
    lock.lock();
    jobs_.pop();
    done_.push_back(std::move(finish));
    lock.unlock();
    if (on_done_) on_done_();
    lock.lock();
  }
}

}  // namespace attnscope::app
