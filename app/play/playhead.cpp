#include "app/play/playhead.h"

#include <algorithm>
#include <cmath>

namespace attnscope::app {

namespace {

/// The last step before the range `count` ranges ahead, or behind if negative; `begins` are the
/// ranges in order.
template <typename Begins, typename BeginOf>
Index moved_over(const Begins& begins, const BeginOf& begin_of, Index step, int count, Index last) {
  // A range that begins at operation b ends the previous one at step b - 1
  const auto end_before = [&](const auto& begin) { return begin_of(begin) - 1; };
  if (count > 0) {
    const auto next = std::ranges::upper_bound(begins, step, {}, end_before);
    return begins.end() - next >= count ? end_before(*(next + (count - 1))) : last;
  }
  const auto here = std::ranges::lower_bound(begins, step, {}, end_before);
  return here - begins.begin() >= -count ? end_before(*(here + count)) : -1;
}

}  // namespace

Index clamp_step(const RunInfo& run, Index step) {
  return std::clamp<Index>(step, -1, run.step_count - 1);
}

Index moved_step(const RunInfo& run, Index step, Granularity granularity, int count) {
  step = clamp_step(run, step);
  if (count == 0) return step;
  const Index last = run.step_count - 1;
  switch (granularity) {
    case Granularity::op:
      return clamp_step(run, step + count);
    case Granularity::tile:
      return moved_over(
          run.tile_steps, [](std::int32_t begin) { return Index{begin}; }, step, count, last);
    case Granularity::outer_loop:
      return moved_over(
          run.outer, [](const StepSpan& span) { return span.begin; }, step, count, last);
  }
  return step;
}

double next_speed(double speed, int direction) {
  constexpr double kMinSpeed = 0.125;
  return std::clamp(direction > 0 ? speed * 2.0 : speed * 0.5, kMinSpeed, kMaxSpeed);
}

int Player::units(const ViewState& view, double elapsed_s) {
  units_ += elapsed_s * kUnitsPerSecond * view.speed;
  const double whole = std::floor(units_);
  units_ -= whole;
  return static_cast<int>(std::min(whole, 1e6));
}

void Player::advance(const RunInfo& run, ViewState& view, double elapsed_s) {
  if (!view.playing) return;
  const int count = units(view, elapsed_s);
  if (count > 0) view.step = moved_step(run, view.step, view.granularity, count);
  if (view.step >= run.step_count - 1) {
    view.playing = false;
    units_ = 0.0;
  }
}

RaceCourse::RaceCourse(const Run& chosen_run, const Run& rival_run, RaceClock clock)
    : runs_{chosen_run, rival_run}, clock_(clock) {
  readings_.push_back(0);
  for (const Racer racer : {Racer::chosen, Racer::rival}) {
    const RunInfo& run = *runs_[racer];
    const std::size_t count = run.tile_steps.size();
    const Index all_bytes = sum(run.head_bytes).total();
    for (std::size_t tile = 0; tile < count; ++tile) {
      const bool last = tile + 1 == count;
      const Index step = last ? run.step_count - 1 : run.tile_steps[tile + 1] - 1;
      const Index bytes = last ? all_bytes : run.tile_bytes[tile + 1];
      const Index reading = clock == RaceClock::tiles ? static_cast<Index>(tile) + 1 : bytes;
      ends_[racer].push_back({step, reading});
    }
    if (count == 0) ends_[racer].push_back({run.step_count - 1, all_bytes});  // no key is visible
    for (const End& end : ends_[racer]) readings_.push_back(end.reading);
  }
  std::ranges::sort(readings_);
  readings_.erase(std::unique(readings_.begin(), readings_.end()), readings_.end());
}

bool RaceCourse::is_of(const Run& chosen_run, const Run& rival_run, RaceClock clock) const {
  return runs_[Racer::chosen] == chosen_run && runs_[Racer::rival] == rival_run && clock_ == clock;
}

Index RaceCourse::tiles_done(Racer racer, Index tick) const {
  const auto& ends = ends_[racer];
  const auto past = std::ranges::upper_bound(ends, reading(tick), {}, &End::reading);
  return past - ends.begin();
}

Index RaceCourse::step_of(Racer racer, Index tick) const {
  const Index done = tiles_done(racer, tick);
  return done == 0 ? -1 : ends_[racer][static_cast<std::size_t>(done - 1)].step;
}

Index RaceCourse::begin_of(Racer racer, Index tick) const {
  const Index done = tiles_done(racer, tick);
  if (done == 0) return -1;
  return done == 1 ? 0 : ends_[racer][static_cast<std::size_t>(done - 2)].step + 1;
}

Index RaceCourse::tick_of(Racer racer, Index step) const {
  if (step < 0) return 0;
  const auto& ends = ends_[racer];
  const auto end = std::ranges::lower_bound(ends, step, {}, &End::step);
  if (end == ends.end()) return last_tick();
  return std::ranges::lower_bound(readings_, end->reading) - readings_.begin();
}

}  // namespace attnscope::app
