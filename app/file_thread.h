/// The thread that reads and writes files for the user interface, which never waits for a disk.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <queue>
#include <thread>
#include <vector>

namespace attnscope::app {

class FileThread {
 public:
  /// The part of a job that runs on the thread that draws; may be empty.
  using Finish = std::function<void()>;
  /// Runs on the file thread, after the jobs before it. An exception ends the program.
  using Job = std::function<Finish()>;

  /// `on_done` is called on the file thread after every job.
  explicit FileThread(std::function<void()> on_done);
  /// Waits for every job, so that nothing that was saved is lost.
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
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace attnscope::app
