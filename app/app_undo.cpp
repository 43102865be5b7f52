/// Undo and redo of the user's choices.
#include <fmt/core.h>

#include "app/app.h"

namespace attnscope::app {

/// Adds the valid choices on the screen to the history; a race is added once it has begun.
void App::note_choices() {
  if (pending_ || opening_ || !shown_->snapshot || (view.race && !course_)) return;
  history_.note(scene, view);
}

/// Drops a choice that is rejected, or not shown yet; neither is part of the history.
void App::keep_valid_choice() {
  refused.reset();
  ++generation_;
  if (!shown_->snapshot) return;
  pending_.reset();
  opening_.reset();
  restoring_.reset();
}

/// Moves by `by` choices in the history, backwards if negative: at once if their run is on the
/// screen, else as soon as it has been simulated.
void App::move_in_history(std::ptrdiff_t by) {
  const bool is_undo = by < 0;
  const bool has_invalid = refused || (pending_ && !restoring_ && !history_.empty());
  if (has_invalid) {
    if (is_undo) keep_valid_choice();
    return;
  }
  by += restoring_.value_or(0);
  const Choices* to = history_.at(by);
  if (to == nullptr) return show_notice(is_undo ? "nothing to undo" : "nothing to redo");
  end_search();
  ++generation_;
  restoring_ = by;
  pending_ = to->run;
  if (to->run == view.choice) {
    pending_.reset();
    restore();
  }
}

/// Shows the choices at the new place in the history; everything that is not a choice, such as the
/// tabs, stays as it is.
void App::restore() {
  const std::ptrdiff_t by = *std::exchange(restoring_, std::nullopt);
  const Choices& to = *history_.at(by);
  if (by != 0) {
    show_notice((by < 0 ? "undone: " : "redone: ") + difference(*history_.at(0), to));
  }
  history_.move(by);
  scene = to.scene;
  view.choice = to.run;
  view.race = to.race;
  view.head = to.head;
  view.query_row = to.query_row;
  view.O_column = to.O_column;
  view.step = to.step;
  view.race_tick = to.race_tick;
  view.playing = false;
  opened_tick_ = 0;
  player_.restart();
}

}  // namespace attnscope::app
