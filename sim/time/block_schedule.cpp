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
  double next_event(const StepCycles& cycles) const { return now_ + until_event(cycles); }

  /// Advances to the time of next_event(), and moves the blocks that have ended to `ended`.
  /// `none_left`: every block of the launch has started.
  void move_on(double to, const StepCycles& step_cycles, bool none_left, ScheduleCycles& cycles,
               std::vector<ScheduledBlock>& ended) {
    const std::size_t blocks = stepping();
    const double passed = until_event(step_cycles);
    (blocks > 0 ? cycles.stepping : cycles.waiting) += to - now_;
    now_ = to;
    for (Running& running : running_) {
      BlockTask& task = running.task;
      if (task.wait_before_cycles > 0) {
        use_up(task.wait_before_cycles, passed);
        if (task.wait_before_cycles <= 0) {
          running.block.first_step = running.block.last_step_end = to;
        }
      } else if (executes(task)) {
        use_up(task.steps > 0 ? task.steps : task.last_steps,
               passed / step_cycles.of(task, blocks));
        if (!executes(task)) {
          running.block.last_step_end = to;
          if (none_left) task.wait_after_cycles += task.wait_after_last_cycles;
        }
      } else {
        use_up(task.wait_after_cycles, passed);
      }
    }
    std::erase_if(running_, [&](Running& running) {
      const BlockTask& task = running.task;
      if (task.wait_before_cycles > 0 || executes(task) || task.wait_after_cycles > 0) return false;
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

  static bool executes(const BlockTask& task) { return task.steps > 0 || task.last_steps > 0; }
  std::size_t stepping() const {
    return static_cast<std::size_t>(std::ranges::count_if(running_, [](const Running& running) {
      return running.task.wait_before_cycles <= 0 && executes(running.task);
    }));
  }
  double until_event(const StepCycles& cycles) const {
    const std::size_t blocks = stepping();
    double least = std::numeric_limits<double>::infinity();
    for (const auto& [task, block] : running_) {
      const double left = task.wait_before_cycles > 0 ? task.wait_before_cycles
                          : executes(task) ? (task.steps > 0 ? task.steps : task.last_steps) *
                                                 cycles.of(task, blocks)
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

BlockSchedule::BlockSchedule(Index sm_count, StepCycles cycles, double start_cycles)
    : sm_count_(sm_count), cycles_(std::move(cycles)), start_cycles_(start_cycles) {
  ATTNSCOPE_CHECK(sm_count_, >=, Index{1});
  ATTNSCOPE_CHECK(cycles_.of_step.size(), >=, std::size_t{1});
  ATTNSCOPE_CHECK(cycles_.of_step.size(), ==, cycles_.of_last_step.size());
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
  for (std::size_t slot = 0; slot < cycles_.of_step.size(); ++slot) {
    for (std::size_t sm = 0; sm < sms.size(); ++sm) start_next(sm, static_cast<Index>(slot), true);
  }

  using Event = std::pair<double, std::size_t>;  // time, SM
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events;
  const auto enqueue = [&](std::size_t n) {
    if (!sms[n].is_empty()) events.emplace(sms[n].next_event(cycles_), n);
  };
  for (std::size_t n = 0; n < sms.size(); ++n) enqueue(n);
  ScheduleCycles cycles;
  std::vector<ScheduledBlock> ended;
  while (!events.empty()) {
    if (cancel != nullptr && cancel->load(std::memory_order_relaxed)) throw Cancelled{};
    const auto [time, n] = events.top();
    events.pop();
    ended.clear();
    sms[n].move_on(time, cycles_, next == count, cycles, ended);
    for (const ScheduledBlock& block : ended) start_next(n, block.slot, false);
    if (scheduled != nullptr) scheduled->insert(scheduled->end(), ended.begin(), ended.end());
    cycles.end = time;
    enqueue(n);
  }
  for (const Sm& sm : sms) cycles.idle += cycles.end - sm.now();
  return cycles;
}

}  // namespace attnscope
