#include <fmt/core.h>

#include <algorithm>

#include "app/app.h"

namespace attnscope::app {

std::shared_ptr<const Snapshot> App::rival_snapshot() const {
  return view.race ? rival_published_->snapshot : nullptr;
}

bool App::race_settled() const {
  if (!view.race) return true;
  return course_ && !rival_worker_.busy() && rival_published_ == rival_worker_.latest() &&
         rival_asked_ && rival_published_->request == *rival_asked_;
}

void App::run_race(double elapsed_s) {
  if (!view.race) {
    course_.reset();
    rival_asked_.reset();
    last_rival_.reset();
    return;
  }

  // If the rival cannot run, return to the last one that could, or end the race
  rival_published_ = rival_worker_.latest();
  const auto& refusal = rival_published_->refusal;
  if (refusal && rival_asked_ && rival_published_->refused_request == *rival_asked_) {
    const RunSpec refused_rival = view.race->rival;
    show_notice(refused_rival.algorithm + " cannot race: " + words(refusal->error, Reader::screen));
    const bool is_of_lesson = view.race == lesson_race_;
    if (is_of_lesson) lesson_race_.reset();
    if (!last_rival_ || is_of_lesson) return view.race.reset();
    view.race->rival = *last_rival_;
  }

  // When both runs exist, they share a clock, which is played tick by tick
  const auto own = shown_->snapshot;
  const auto rival = rival_published_->snapshot;
  const RunSpec& choice = view.race->rival;
  const bool ready = own && rival && shown_->request.choice == view.choice &&
                     rival_published_->request.choice == choice;
  if (!ready) course_.reset();
  if (ready) begin_race(*own, *rival);
  if (ready) last_rival_ = choice;
  Index rival_step = -1;
  if (course_) {
    if (view.playing) view.race_tick += player_.units(view, elapsed_s);
    if (view.race_tick >= course_->last_tick()) view.playing = false;
    view.race_tick = std::clamp<Index>(view.race_tick, 0, course_->last_tick());
    view.step = course_->step_of(RaceCourse::chosen, view.race_tick);
    rival_step = course_->step_of(RaceCourse::rival, view.race_tick);
    if (view.playing || view.race != lesson_race_) lesson_step_.reset();
    if (lesson_step_) view.step = rival_step = *lesson_step_;
  }

  // The rival may have fewer heads and rows than the choice
  const AttentionProblem& problem = choice.problem;
  const Index heads = std::max<Index>(problem.batch * problem.heads, 1);
  const Request wanted{choice,           std::min(view.head, heads - 1), rival_step, view.query_row,
                       view.O_column,
                       /*in_race=*/true,
                       /*is_rival=*/true};
  if (rival_asked_ == wanted) return;
  rival_asked_ = wanted;
  rival_worker_.request(wanted);
}

/// Makes the clock of both runs, unless they already have one.
void App::begin_race(const Snapshot& own, const Snapshot& rival) {
  if (course_ && course_->is_of(own.run, rival.run, view.race->clock)) return;
  course_.emplace(own.run, rival.run, view.race->clock);
  if (opened_tick_ > course_->last_tick()) {
    show_notice(fmt::format("{}: race: tick {}: the last tick is {}", scene.name, opened_tick_,
                            course_->last_tick()));
  }
  opened_tick_ = 0;
}

/// Moves the clock as the command would move the playhead.
void App::step_race(const Command& command) {
  constexpr Index kTicksOfATurn = 8;
  const auto move_to = [&](Index tick) {
    view.playing = false;
    view.race_tick = std::clamp<Index>(tick, 0, course_->last_tick());
  };
  if (const auto* seek = std::get_if<SeekTick>(&command)) {
    move_to(seek->tick);
  } else if (const auto* to = std::get_if<SeekTo>(&command)) {
    move_to(course_->tick_of(RaceCourse::chosen, to->step));
  } else if (std::holds_alternative<SeekToEnd>(command)) {
    move_to(course_->last_tick());
  } else if (const auto* by = std::get_if<StepBy>(&command)) {
    const Index ticks = by->granularity == Granularity::outer_loop ? kTicksOfATurn : 1;
    move_to(view.race_tick + ticks * by->count);
  } else if (std::holds_alternative<TogglePlay>(command) && !view.playing &&
             view.race_tick >= course_->last_tick()) {
    view.race_tick = 0;
  }
}

}  // namespace attnscope::app
