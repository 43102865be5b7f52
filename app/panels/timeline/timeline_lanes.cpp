#include "app/panels/timeline/timeline.h"

#include <algorithm>

#include "sim/snapshot/op_window.h"

namespace attnscope::app {

namespace {

/// A launch of one thread block is regenerated from its start; beyond this it takes too long for a
/// frame.
constexpr Index kMostRegenerated = 1'000'000;

/// Spans of the outer loop that lie in a launch.
std::pair<std::size_t, std::size_t> spans_of(const RunInfo& run, const StepSpan& launch) {
  const auto first = std::ranges::lower_bound(run.outer, launch.begin, {}, &StepSpan::begin);
  const auto past = std::ranges::lower_bound(run.outer, launch.end, {}, &StepSpan::begin);
  return {static_cast<std::size_t>(first - run.outer.begin()),
          static_cast<std::size_t>(past - run.outer.begin())};
}

/// The agents of a launch's program, in the order of their lanes.
std::vector<Agent> agents_of(const RunInfo& run, std::size_t launch) {
  const Launch& of = run.pass.launches[launch];
  return of.by_agents() ? of.agents : std::vector{Agent::block};
}

}  // namespace

void TimelineLanes::update(const Snapshot& snapshot, std::size_t count) {
  const RunInfo& run = *snapshot.run;
  const auto launch = static_cast<std::size_t>(snapshot.launch);
  const auto [begin, past] = spans_of(run, run.launches[launch]);
  const std::vector<Agent> agents = agents_of(run, launch);
  lanes_a_span_ = agents.size();
  const std::size_t total = (past - begin) * lanes_a_span_;
  const Index step = std::max<Index>(snapshot.step, run.launches[launch].begin);

  // The lane under the playhead; the window of lanes moves only when that lane would leave it
  std::size_t current = 0;
  for (std::size_t k = begin; k < past && run.outer[k].begin <= step; ++k) {
    current = (k - begin) * lanes_a_span_;
  }
  const auto agent = std::ranges::find(agents, snapshot.op.agent);
  if (agent != agents.end()) current += static_cast<std::size_t>(agent - agents.begin());
  const bool same = run_ == RunOfWork{snapshot.run} && launch_ == launch && count_ == count;
  const bool inside = current >= first_ && current < first_ + lanes_.size();
  current_ = current;
  if (scrolled_at_ != current) scrolled_at_.reset();
  if (same && (inside || scrolled_at_ == current)) return;
  run_ = {snapshot.run};
  launch_ = launch;
  begin_ = begin;
  count_ = count;
  total_ = total;
  scrolled_at_.reset();
  longest_ = 1;
  for (std::size_t k = begin; k < past; ++k) {
    longest_ = std::max(longest_, run.outer[k].end - run.outer[k].begin);
  }
  const std::size_t before = count / 3 / lanes_a_span_ * lanes_a_span_;
  const std::size_t of_block = current / lanes_a_span_ * lanes_a_span_;
  show_from(run, of_block > before ? of_block - before : 0);
}

void TimelineLanes::scroll(std::ptrdiff_t lanes) {
  const auto last = static_cast<std::ptrdiff_t>(total_ <= count_ ? 0 : total_ - count_);
  const auto to = std::clamp<std::ptrdiff_t>(static_cast<std::ptrdiff_t>(first_) + lanes, 0, last);
  const auto run = run_.run.lock();
  if (run == nullptr || static_cast<std::size_t>(to) == first_) return;
  scrolled_at_ = current_;
  show_from(*run, static_cast<std::size_t>(to));
}

/// Shows the lanes from this one on, or the last lanes if fewer remain.
void TimelineLanes::show_from(const RunInfo& run, std::size_t first) {
  first_ = total_ <= count_ ? 0 : std::min(first, total_ - count_);
  lanes_.clear();
  for (std::size_t k = first_; k < std::min(first_ + count_, total_); ++k) {
    const StepSpan& span = run.outer[begin_ + k / lanes_a_span_];
    const Agent agent = agents_of(run, launch_)[k % lanes_a_span_];
    const std::string who = agent == Agent::block ? "" : ", " + agent_name(agent);
    lanes_.push_back({span.begin, span.end, span.label + who, agent, {}});
  }
  collect(run, launch_);
}

void TimelineLanes::collect(const RunInfo& run, std::size_t launch) {
  if (lanes_.empty()) return;
  const TileGrid& grid = run.grids[launch];
  const Index blocks = run.pass.launches[launch].blocks_per_head(grid);
  if (blocks == 1) {
    const Index origin = run.launches[launch].begin;
    const Index begin = lanes_.front().begin - origin;
    const Index end = lanes_.back().end - origin;
    if (run.launches[launch].end - origin > kMostRegenerated) return;
    const std::vector<TileOp> ops = regenerate(run, {launch, 0, begin, end});
    for (Lane& lane : lanes_) {
      const auto from = ops.begin() + (lane.begin - lanes_.front().begin);
      lane.ops.assign(from, from + (lane.end - lane.begin));
    }
    return;
  }
  for (std::size_t k = 0; k < lanes_.size(); ++k) {
    Lane& lane = lanes_[k];
    const auto block = static_cast<Index>((first_ + k) / lanes_a_span_);
    lane.ops = regenerate(run, {launch, block, 0, lane.end - lane.begin});
  }
}

}  // namespace attnscope::app
