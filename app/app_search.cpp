/// Seeking by a click on a thing: the next operation is searched for in the background.
#include <fmt/core.h>

#include "app/app.h"
#include "sim/observers/progress_observer.h"

namespace attnscope::app {

void App::begin_search(const SeekThing& seek) {
  const auto own = shown_->snapshot;
  const auto rival = rival_snapshot();
  const bool of_rival = course_ && rival && seek.run == rival->run;
  if (!of_rival && !(own && seek.run == own->run)) return;  // of a run that is no longer shown

  // In a race the clock moves by tiles: the previous operation is in an earlier tick
  const RaceCourse::Racer racer = of_rival ? RaceCourse::rival : RaceCourse::chosen;
  const bool later = seek.direction == SeekDirection::later;
  Index from = view.step;
  if (course_ && later) from = course_->step_of(racer, view.race_tick);
  if (course_ && !later) from = course_->begin_of(racer, view.race_tick);
  view.playing = false;
  searching_ = Search{seek.run, seek.thing, seek.direction, from, ++searches_};
}

void App::end_search() {
  if (searching_) search_.give_up();
  searching_.reset();
}

void App::run_search() {
  if (!searching_) return;
  if (search_.wants(*searching_)) {
    search_.start(*searching_,
                  [search = *searching_](WorkControl& control) -> Result<std::optional<Index>> {
                    try {
                      return find_operation(*search.run, search.thing, search.from,
                                            search.direction, control.cancel_flag(),
                                            [&](double part) { control.set_progress(part); });
                    } catch (const Cancelled&) {
                      return cancelled();
                    }
                  });
  }
  const std::optional<Index>* found = search_.latest();
  if (search_.busy()) return;
  const Search done = *std::exchange(searching_, std::nullopt);
  if (search_.error()) return show_notice(words(*search_.error(), Reader::screen));
  if (!*found) {
    const bool later = done.direction == SeekDirection::later;
    return show_notice(
        fmt::format("no {} operation of {}", later ? "later" : "earlier", in_words(done.thing)));
  }
  const auto rival = rival_snapshot();
  if (course_ && rival && done.run == rival->run) {
    execute(SeekTick{course_->tick_of(RaceCourse::rival, **found)});
  } else if (shown_->snapshot && done.run == shown_->snapshot->run) {
    execute(SeekTo{**found});
  }
}

std::optional<double> App::waiting() const {
  const auto work = worker_.under_way();
  if (work && work->running_for_s() >= kPatienceSeconds) return work->progress();
  if (searching_ && search_.busy_for_s() >= kPatienceSeconds) return search_.progress();
  return std::nullopt;
}

}  // namespace attnscope::app
