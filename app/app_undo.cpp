/// Undo and redo of the user's choices.
#include <fmt/core.h>

#include "app/app.h"

namespace attnscope::app {

/// The valid choices on the screen become part of the history: a race once it has begun.
void App::note_choices() {
  if (pending_ || opening_ || !shown_->snapshot || (view.race && !course_)) return;
  history_.note({scene, view.choice, view.race, view.head, view.query_row, view.O_column, view.step,
                 view.race_tick});
}

void App::undo() {
  // A choice that was rejected, or that is not shown yet, is not part of the history
  if (refused || (pending_ && !restoring_ && !history_.empty())) {
    refused.reset();
    execute(CancelWork{});
    return;
  }
  if (history_.empty()) return show_notice("nothing to undo");
  const Choices from = history_.present();
  const Choices* to = history_.undo();
  if (to == nullptr) return show_notice("nothing to undo");
  restore(*to);
  show_notice("undone: " + difference(from, *to));
}

void App::redo() {
  if (history_.empty()) return show_notice("nothing to redo");
  if (refused || (pending_ && !restoring_)) return;
  const Choices from = history_.present();
  const Choices* to = history_.redo();
  if (to == nullptr) return show_notice("nothing to redo");
  restore(*to);
  show_notice("redone: " + difference(from, *to));
}

/// At once if the run is the one on the screen, else when it has been simulated.
void App::restore(const Choices& choices) {
  ViewState restored = view;
  restored.choice = choices.run;
  restored.race = choices.race;
  restored.head = choices.head;
  restored.query_row = choices.query_row;
  restored.O_column = choices.O_column;
  restored.step = choices.step;
  restored.race_tick = choices.race_tick;
  restored.playing = false;
  player_.restart();
  end_search();
  ++generation_;
  if (choices.run == view.choice) {
    view = restored;
    scene = choices.scene;
    pending_.reset();
    opening_.reset();
    opened_tick_ = 0;
    return;
  }
  opening_ = Opening{choices.scene, restored};
  pending_ = choices.run;
  restoring_ = true;
}

}  // namespace attnscope::app
