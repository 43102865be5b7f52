#include "app/jobs/worker.h"

#include <chrono>
#include <exception>
#include <utility>

#include "sim/snapshot/snapshot.h"

namespace attnscope::app {

Worker::Worker(Simulate simulate, std::function<void()> on_published, FindNearest find_nearest)
    : simulate_(std::move(simulate)),
      on_published_(std::move(on_published)),
      find_nearest_(std::move(find_nearest)),
      thread_([this] { work(); }) {}

Worker::~Worker() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    if (control_) control_->cancel();
  }
  wanted_.notify_all();
  thread_.join();
}

void Worker::request(const Request& request) {
  {
    const std::lock_guard lock(mutex_);
    waiting_ = request;
    if (running_ && !(running_->choice == request.choice)) control_->cancel();
  }
  wanted_.notify_all();
}

void Worker::cancel() {
  const std::lock_guard lock(mutex_);
  waiting_.reset();
  if (control_) control_->cancel();
}

std::shared_ptr<const Published> Worker::latest() const {
  const std::lock_guard lock(mutex_);
  return published_;
}

bool Worker::busy() const {
  const std::lock_guard lock(mutex_);
  return running_.has_value() || waiting_.has_value();
}

std::shared_ptr<const WorkControl> Worker::under_way() const {
  const std::lock_guard lock(mutex_);
  return control_;
}

void Worker::free_replaced() {
  std::erase_if(replaced_, [](const auto& run) { return run.use_count() == 1; });
}

bool Worker::wait_for_request(std::unique_lock<std::mutex>& lock) {
  // The screen releases a replaced run within a few frames; a run held for longer is freed after
  // the next answer, without polling until then
  constexpr std::chrono::milliseconds kBetweenLooks{50};
  constexpr int kMostLooks = 20;
  const auto is_wanted = [this] { return stopping_ || waiting_.has_value(); };
  for (int look = 0; look < kMostLooks && !replaced_.empty(); ++look) {
    if (wanted_.wait_for(lock, kBetweenLooks, is_wanted)) break;
    lock.unlock();
    free_replaced();
    lock.lock();
  }
  wanted_.wait(lock, is_wanted);
  return !stopping_;
}

void Worker::work() {
  for (;;) {
    std::unique_lock lock(mutex_);
    if (!wait_for_request(lock)) return;
    running_ = std::exchange(waiting_, std::nullopt);
    control_ = std::make_shared<WorkControl>();
    const Request request = *running_;
    const std::shared_ptr<WorkControl> control = control_;
    lock.unlock();

    answer(request, *control);

    lock.lock();
    running_.reset();
    control_.reset();
    lock.unlock();
    if (on_published_) on_published_();
    free_replaced();
  }
}

Refusal Worker::refuse(const Request& request, const Error& error,
                       const WorkControl& control) const {
  const bool can_help = find_nearest_ && error.kind == Error::Kind::invalid_request;
  if (!can_help || control.cancelled()) return {error};
  const auto shown = latest();
  try {
    return find_nearest_(request.choice, error, (shown->snapshot ? shown->request : request).choice,
                         control);
  } catch (const std::exception&) {
    return {error};  // report the reason without an alternative
  }
}

void Worker::answer(const Request& request, WorkControl& control) {
  const auto result = result_of([&] { return simulate_(request, control); },
                                "not enough memory for this problem; choose a smaller N");
  std::optional<Refusal> refusal;
  if (!result) refusal = refuse(request, result.error(), control);

  const std::lock_guard lock(mutex_);
  if (result) {
    const auto before = published_->snapshot ? published_->snapshot->run : nullptr;
    if (before && before != result.value()->run) replaced_.push_back(before);
    published_ = std::make_shared<Published>(Published{result.value(), request, {}, {}});
    return;
  }
  if (control.cancelled() && waiting_.has_value()) return;  // replaced by a newer request
  auto next = std::make_shared<Published>(*published_);
  next->refusal = control.cancelled() ? Refusal{cancelled()} : std::move(refusal);
  next->refused_request = request;
  published_ = std::move(next);
}

}  // namespace attnscope::app
