/// The thread that checks choices and simulates them: takes the newest request and publishes an
/// immutable snapshot, or why there is none, and an alternative choice. The user interface never
/// waits for it.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "app/jobs/background_job.h"
#include "reference/run_spec.h"

namespace attnscope {
struct RunInfo;
struct Snapshot;
}  // namespace attnscope

namespace attnscope::app {

/// The requested snapshot.
struct Request {
  RunSpec choice;
  Index head = 0;  ///< batch * heads + head
  Index step = 0;
  Index query_row = 0;
  Index O_column = 0;
  bool in_race = false;   ///< whether two runs share the memory limit of one
  bool is_rival = false;  ///< a race's second run: its tiles may be smaller than chosen

  bool operator==(const Request&) const = default;
  /// Whether both are steps of the same run.
  bool same_run(const Request& other) const {
    return choice == other.choice && head == other.head && in_race == other.in_race &&
           is_rival == other.is_rival;
  }
};

/// Why a choice has no snapshot, and an alternative choice.
struct Refusal {
  Error error;
  std::string field = {};               ///< where the rejected change was made; may be empty
  std::optional<RunSpec> nearest = {};  ///< the nearest valid choice
  std::string nearest_label = {};       ///< "Br = 128"
};

/// The worker's latest results. Each part is kept until a newer one replaces it.
struct Published {
  std::shared_ptr<const Snapshot> snapshot;  ///< nullptr before the first
  Request request;                           ///< the request that the snapshot answers
  /// Why a newer request has no snapshot; the last valid snapshot above is then kept.
  std::optional<Refusal> refusal;
  Request refused_request;
};

/// Answers requests one at a time, on the worker's thread; caches data between them.
using Simulate =
    std::function<Result<std::shared_ptr<const Snapshot>>(const Request&, WorkControl&)>;
/// Finds an alternative to `refused`, on the worker's thread, unless cancelled. `last_valid` is the
/// choice of the snapshot that is shown.
using FindNearest = std::function<Refusal(const RunSpec& refused, const Error& error,
                                          const RunSpec& last_valid, const WorkControl&)>;

class Worker {
 public:
  /// `on_published` is called on the worker's thread after every answer. Both functions after
  /// `simulate` may be empty.
  Worker(Simulate simulate, std::function<void()> on_published, FindNearest find_nearest = {});
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  /// Replaces the waiting request. Work on another choice is cancelled; work on another step of the
  /// same run is left to finish.
  void request(const Request& request);
  /// Cancels the current work and the waiting request.
  void cancel();

  std::shared_ptr<const Published> latest() const;
  bool busy() const;
  /// The progress of the current work; nullptr when idle.
  std::shared_ptr<const WorkControl> under_way() const;

 private:
  void work();
  /// Waits for a request, and frees replaced runs in the meantime; false if the worker must stop.
  bool wait_for_request(std::unique_lock<std::mutex>& lock);
  void free_replaced();
  void answer(const Request& request, WorkControl& control);
  Refusal refuse(const Request& request, const Error& error, const WorkControl& control) const;

  Simulate simulate_;
  std::function<void()> on_published_;
  FindNearest find_nearest_;

  mutable std::mutex mutex_;
  std::condition_variable wanted_;
  std::optional<Request> waiting_;
  std::optional<Request> running_;
  std::shared_ptr<WorkControl> control_;
  std::shared_ptr<const Published> published_ = std::make_shared<Published>();
  bool stopping_ = false;
  /// Runs of earlier answers that the screen may still show. Freeing one takes milliseconds, so the
  /// worker, not the drawing thread, frees it soon after the screen has released it.
  std::vector<std::shared_ptr<const RunInfo>> replaced_;  // used by the worker's thread only
  std::thread thread_;                                    // last: it uses the members above
};

}  // namespace attnscope::app
