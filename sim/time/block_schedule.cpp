#include "sim/time/block_schedule.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <queue>

#include "reference/check.h"
#include "sim/observers/progress_observer.h"

namespace attnscope {

namespace {

/// Blocks on one SM, and the progress of each.
class Sm {
 public:
  /// `wait_cycles`: until the block's first step.
  void add(const BlockTask& task, double wait_cycles, const ScheduledBlock& block) {
    running_.push_back({task, block});
    running_.back().task.wait_before_cycles = wait_cycles;
    Running& added = running_.back();
    added.block.begin = added.block.first_step = added.block.last_step_end = now_;
  }
  bool is_empty() const { return running_.empty(); }
  double now() const { return now_; }

  /// The time at which the first of its blocks ends a phase, if no block is added before then.
  double next_event(std::span<const double> cycles_of_step) const {
    return now_ + until_event(of_step(cycles_of_step));
  }

  /// Advances to the time of next_event(), and moves the blocks that have ended to `ended`.
  /// `none_left`: every block of the launch has started.
  void move_on(double to, std::span<const double> cycles_of_step, bool none_left,
               ScheduleCycles& cycles, std::vector<ScheduledBlock>& ended) {
    const double step_cycles = of_step(cycles_of_step), passed = until_event(step_cycles);
    (stepping() > 0 ? cycles.stepping : cycles.waiting) += to - now_;
    now_ = to;
    for (Running& running : running_) {
      BlockTask& task = running.task;
      if (task.wait_before_cycles > 0) {
        use_up(task.wait_before_cycles, passed);
        if (task.wait_before_cycles <= 0) {
          running.block.first_step = running.block.last_step_end = to;
        }
      } else if (task.steps > 0) {
        use_up(task.steps, passed / step_cycles);
        if (task.steps <= 0) {
          running.block.last_step_end = to;
          if (none_left) task.wait_after_cycles += task.wait_after_last_cycles;
        }
      } else {
        use_up(task.wait_after_cycles, passed);
      }
    }
    std::erase_if(running_, [&](Running& running) {
      const BlockTask& task = running.task;
      if (task.wait_before_cycles > 0 || task.steps > 0 || task.wait_after_cycles > 0) return false;
      running.block.end = to;
      ended.push_back(running.block);
      return true;
    });
  }

 private:
  struct Running {
    BlockTask task;  ///< the remaining part
    ScheduledBlock block;
  };

  std::size_t stepping() const {
    return static_cast<std::size_t>(std::ranges::count_if(running_, [](const Running& running) {
      return running.task.wait_before_cycles <= 0 && running.task.steps > 0;
    }));
  }
  double of_step(std::span<const double> cycles_of_step) const {
    const std::size_t blocks = stepping();
    return blocks == 0 ? 1 : cycles_of_step[blocks - 1];
  }
  double until_event(double step_cycles) const {
    double least = std::numeric_limits<double>::infinity();
    for (const auto& [task, block] : running_) {
      const double left = task.wait_before_cycles > 0 ? task.wait_before_cycles
                          : task.steps > 0            ? task.steps * step_cycles
                                                      : task.wait_after_cycles;
      least = std::min(least, left);
    }
    return least;
  }
  /// A remainder due to rounding counts as used up, so that each event ends a phase.
  static void use_up(double& left, double used) {
    constexpr double kRounding = 1e-9;
    left = left - used > kRounding * left ? left - used : 0;
  }

  std::vector<Running> running_;
  double now_ = 0;
};

}  // namespace

BlockSchedule::BlockSchedule(Index sm_count, std::vector<double> cycles_of_step,
                             double start_cycles)
    : sm_count_(sm_count), cycles_of_step_(std::move(cycles_of_step)), start_cycles_(start_cycles) {
  ATTNSCOPE_CHECK(sm_count_, >=, Index{1});
  ATTNSCOPE_CHECK(cycles_of_step_.size(), >=, std::size_t{1});
}

ScheduleCycles BlockSchedule::run(std::span<const BlockTask> blocks_of_head, Index heads,
                                  const std::atomic<bool>* cancel,
                                  std::vector<ScheduledBlock>* scheduled) const {
  const auto per_head = static_cast<Index>(blocks_of_head.size());
  const Index run_heads =
      std::min(heads, std::max(Index{1}, kMostScheduledBlocks / std::max(Index{1}, per_head)));
  ScheduleCycles cycles = run_all(blocks_of_head, run_heads, cancel, scheduled);
  const double times = static_cast<double>(heads) / static_cast<double>(run_heads);
  for (double* const part : {&cycles.end, &cycles.stepping, &cycles.waiting, &cycles.idle}) {
    *part *= times;
  }
  return cycles;
}

ScheduleCycles BlockSchedule::run_all(std::span<const BlockTask> blocks_of_head, Index heads,
                                      const std::atomic<bool>* cancel,
                                      std::vector<ScheduledBlock>* scheduled) const {
  const std::size_t per_head = blocks_of_head.size();
  const std::size_t count = per_head * static_cast<std::size_t>(heads);
  std::size_t next = 0;
  std::vector<Sm> sms(static_cast<std::size_t>(sm_count_));
  const auto start_next = [&](std::size_t sm, Index slot, bool is_first) {
    if (next == count) return;
    const BlockTask& task = blocks_of_head[next % per_head];
    const double wait = is_first
                            ? task.wait_before_cycles + static_cast<double>(slot) * start_cycles_
                            : task.wait_before_following_cycles;
    sms[sm].add(task, wait, {next, static_cast<Index>(sm), slot});
    ++next;
  };
  for (std::size_t slot = 0; slot < cycles_of_step_.size(); ++slot) {
    for (std::size_t sm = 0; sm < sms.size(); ++sm) start_next(sm, static_cast<Index>(slot), true);
  }

  using Event = std::pair<double, std::size_t>;  // time, SM
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events;
  const auto enqueue = [&](std::size_t n) {
    if (!sms[n].is_empty()) events.emplace(sms[n].next_event(cycles_of_step_), n);
  };
  for (std::size_t n = 0; n < sms.size(); ++n) enqueue(n);
  ScheduleCycles cycles;
  std::vector<ScheduledBlock> ended;
  while (!events.empty()) {
    if (cancel != nullptr && cancel->load(std::memory_order_relaxed)) throw Cancelled{};
    const auto [time, n] = events.top();
    events.pop();
    ended.clear();
    sms[n].move_on(time, cycles_of_step_, next == count, cycles, ended);
    for (const ScheduledBlock& block : ended) start_next(n, block.slot, false);
    if (scheduled != nullptr) scheduled->insert(scheduled->end(), ended.begin(), ended.end());
    cycles.end = time;
    enqueue(n);
  }
  for (const Sm& sm : sms) cycles.idle += cycles.end - sm.now();
  return cycles;
}

}  // namespace attnscope
