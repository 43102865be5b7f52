#include "app/playhead.h"

#include <algorithm>
#include <cmath>

namespace attnscope::app {

namespace {

/// The step at which the `count`-th next range ends; `begins` are the ranges in order.
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

}  // namespace attnscope::app
