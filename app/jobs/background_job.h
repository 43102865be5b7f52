/// Work outside the thread that draws: its progress and cancellation, panels' jobs, and files.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <queue>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "reference/result.h"

namespace attnscope::app {

// How work on another thread reports its progress and learns that it was cancelled.

/// The progress of work that takes longer than this is shown, and the user can cancel the work.
inline constexpr double kPatienceSeconds = 0.1;

/// Created when the work begins.
class WorkControl {
 public:
  void set_progress(double fraction) { progress_.store(fraction); }
  double progress() const { return progress_.load(); }
  void cancel() { cancelled_.store(true); }
  bool cancelled() const { return cancelled_.load(); }
  const std::atomic<bool>& cancel_flag() const { return cancelled_; }
  double running_for_s() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - began_).count();
  }

 private:
  const std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
  std::atomic<double> progress_{0.0};
  std::atomic<bool> cancelled_{false};
};

/// The work's Result. Exceptions become errors; if memory runs out, the message is
/// `without_memory`.
template <typename Work>
std::invoke_result_t<Work> result_of(const Work& work, const char* without_memory) {
  try {
    return work();
  } catch (const std::bad_alloc&) {
    return failed(without_memory);
  } catch (const std::exception& error) {
    return failed(error.what());
  }
}

// Background work of a panel: one job at a time; the last result remains available until the next
// one.

/// Call every function on the thread that draws; only the destructor waits.
template <typename Key, typename Value>
class BackgroundJob {
 public:
  /// Runs on a separate thread; ends early when the control reports that it was cancelled.
  using Work = std::function<Result<Value>(WorkControl&)>;

  BackgroundJob() = default;
  BackgroundJob(const BackgroundJob&) = delete;
  BackgroundJob& operator=(const BackgroundJob&) = delete;
  ~BackgroundJob() {
    if (control_) control_->cancel();
  }

  /// Whether start() should be called for this key: it differs from the last key, and no work is
  /// running. Collects the result of the last work first, and cancels work on another key.
  bool wants(const Key& key) {
    collect();
    if (wanted_ == key) return false;
    if (busy()) control_->cancel();
    return !busy();
  }

  void start(const Key& key, Work work) {
    wanted_ = key;
    error_.reset();
    given_up_ = false;
    control_ = std::make_shared<WorkControl>();
    running_ = std::async(std::launch::async, [work = std::move(work), control = control_] {
      return result_of([&] { return work(*control); }, "not enough memory for this");
    });
  }

  /// Takes the result of work that has ended, as wants() does. No other function does, so the job
  /// stays busy for the rest of the frame that starts it, however short its work is.
  void collect() {
    if (!busy()) return;
    if (running_.wait_for(std::chrono::seconds(0)) != std::future_status::ready) return;
    Result<Value> result = running_.get();
    if (control_->cancelled()) {
      if (!given_up_) wanted_.reset();  // the wanted key has no result
      return;
    }
    error_.reset();
    if (result) {
      latest_.emplace(*wanted_, std::move(result).value());
      ++results_;
    } else {
      error_ = result.error();
    }
  }

  /// The newest collected result and its key; nullptr before the first.
  const Value* latest() const { return latest_ ? &latest_->second : nullptr; }
  const Key* latest_key() const { return latest_ ? &latest_->first : nullptr; }
  /// The number of results so far.
  int results() const { return results_; }
  /// Why the wanted key has no result.
  const std::optional<Error>& error() const { return error_; }

  /// Whether work is running, or has ended and its result has not been collected yet.
  bool busy() const { return running_.valid(); }
  double busy_for_s() const { return busy() ? control_->running_for_s() : 0.0; }
  double progress() const { return control_ ? control_->progress() : 0.0; }

  /// Cancels the current work: its key is not retried until another key is requested or again() is
  /// called.
  void give_up() {
    if (!busy()) return;
    control_->cancel();
    given_up_ = true;
  }
  bool given_up() const { return given_up_; }
  /// Retries the cancelled work.
  void again() {
    if (!given_up_) return;
    wanted_.reset();
    given_up_ = false;
  }

 private:
  std::optional<Key> wanted_;
  std::optional<std::pair<Key, Value>> latest_;
  int results_ = 0;
  std::optional<Error> error_;
  bool given_up_ = false;
  std::shared_ptr<WorkControl> control_;
  std::future<Result<Value>> running_;  // last: its destructor waits for the work
};

// The thread that reads and writes files for the user interface, which never waits for a disk.

class FileThread {
 public:
  /// The part of a job that runs on the thread that draws; may be empty.
  using Finish = std::function<void()>;
  /// Runs on the file thread, after the jobs before it. An exception ends the program.
  using Job = std::function<Finish()>;

  /// `on_done` is called on the file thread after every job.
  explicit FileThread(std::function<void()> on_done);
  /// Waits for every job, so that no pending save is lost.
  ~FileThread();
  FileThread(const FileThread&) = delete;
  FileThread& operator=(const FileThread&) = delete;

  void post(Job job);
  /// Runs the second parts of the completed jobs, in their order. Call it on the thread that draws.
  void run_completed();
  /// Whether a job is waiting or running, or run_completed() has not run its second part.
  bool busy() const;

 private:
  void work();

  std::function<void()> on_done_;
  mutable std::mutex mutex_;
  std::condition_variable posted_;
  std::queue<Job> jobs_;  ///< the front one is running
  std::vector<Finish> done_;
  bool stopping_ = false;
  std::thread thread_;  // declared last: it uses all members above
};

}  // namespace attnscope::app
