/// Seeking by click: searches in the background for the next operation on the clicked item. After
/// the last operation, the search wraps around to the first.
#include <fmt/core.h>

#include "app/app.h"
#include "sim/observers/progress_observer.h"

namespace attnscope::app {

/// Whether the run is the one on the screen, or the rival's.
bool App::shows(const RunInfo& run) const {
  const auto rival = rival_snapshot();
  return (shown_->snapshot && &run == shown_->snapshot->run.get()) ||
         (course_ && rival && &run == rival->run.get());
}

void App::begin_search(const SeekThing& seek) {
  end_search();
  if (!shows(*seek.run)) return;
  if (const auto* operation = std::get_if<Operation>(&seek.thing)) {
    return go_to(*seek.run, operation->step);
  }

  // In a race the clock moves by tiles, so the previous operation must be in an earlier tick
  const bool of_rival = seek.run != shown_->snapshot->run;
  const RaceCourse::Racer racer = of_rival ? RaceCourse::rival : RaceCourse::chosen;
  const bool later = seek.direction == SeekDirection::later;
  Index from = view.step;
  if (course_ && later) from = course_->step_of(racer, view.race_tick);
  if (course_ && !later) from = course_->begin_of(racer, view.race_tick);
  view.playing = false;
  searching_ = Search{seek, from, ++searches_};
}

void App::end_search() {
  if (searching_) search_.give_up();
  searching_.reset();
}

void App::run_search() {
  search_.collect();  // releases the run of a search that was cancelled
  if (searching_ && !shows(*searching_->seek.run)) end_search();
  if (!searching_) return;
  if (search_.wants(searching_->number)) {
    search_.start(searching_->number,
                  [search = *searching_](WorkControl& control) -> Result<std::optional<Index>> {
                    const SeekThing& seek = search.seek;
                    const auto find_from = [&](Index from) {
                      return find_operation(*seek.run, seek.thing, from, seek.direction,
                                            control.cancel_flag(),
                                            [&](double part) { control.set_progress(part); });
                    };
                    const bool later = seek.direction == SeekDirection::later;
                    try {
                      const auto found = find_from(search.from);
                      return found ? found : find_from(later ? -1 : seek.run->step_count);
                    } catch (const Cancelled&) {
                      return cancelled();
                    }
                  });
  }
  const std::optional<Index>* found = search_.latest();
  if (search_.busy()) return;
  // The previous search may just have ended
  const bool is_this_one = search_.latest_key() && *search_.latest_key() == searching_->number;
  if (!search_.error() && !is_this_one) return;
  const SeekThing done = std::exchange(searching_, std::nullopt)->seek;
  if (search_.error()) return show_notice(words(*search_.error(), Reader::screen));
  if (*found) return go_to(*done.run, **found);
  show_notice(fmt::format("no operation found for {}", in_words(done.thing)));
}

/// Moves the playhead of a run on the screen to the step.
void App::go_to(const RunInfo& run, Index step) {
  const bool of_rival = &run != shown_->snapshot->run.get();
  if (of_rival) return execute(SeekTick{course_->tick_of(RaceCourse::rival, step)});
  execute(SeekTo{step});
}

std::optional<double> App::waiting() const {
  const auto work = worker_.under_way();
  if (work && work->running_for_s() >= kPatienceSeconds) return work->progress();
  if (searching_ && search_.busy_for_s() >= kPatienceSeconds) return search_.progress();
  return std::nullopt;
}

}  // namespace attnscope::app
