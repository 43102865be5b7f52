#include "app/race.h"

#include <algorithm>

#include "reference/run_fields.h"

namespace attnscope::app {

RunSpec rival_of(const RunSpec& choice, const std::string& rival) {
  RunSpec other = choice;
  other.algorithm = rival;
  return with_consequences(choice, std::move(other));
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

Index RaceCourse::tick_of(Racer racer, Index step) const {
  if (step < 0) return 0;
  const auto& ends = ends_[racer];
  const auto end = std::ranges::lower_bound(ends, step, {}, &End::step);
  if (end == ends.end()) return last_tick();
  return std::ranges::lower_bound(readings_, end->reading) - readings_.begin();
}

}  // namespace attnscope::app
