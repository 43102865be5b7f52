/// The state of the app between two frames, and what commands do to it. No drawing, no window.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/command.h"
#include "app/gpu_runner.h"
#include "app/measurements.h"
#include "app/playhead.h"
#include "app/race.h"
#include "app/scene.h"
#include "app/worker.h"

namespace attnscope::app {

/// A choice that was refused, shown at the field where it was made.
struct RefusedChoice {
  Choice choice;
  std::string field;              ///< of the top bar: "N", "Br", ...; empty: the whole choice
  std::string message;            ///< one line: what, why, what would be accepted
  std::optional<Choice> nearest;  ///< the nearest choice that can work
  std::string nearest_label;      ///< "Br = 128"
  std::string typed;              ///< the text itself, where it could not be understood
};

/// What became of opening or saving a scene.
struct SceneAnswer {
  std::string error;  ///< empty: done
};

/// A line that fades away.
struct Notice {
  std::string text;
  double until_s = 0.0;
};

class App {
 public:
  /// `wake` is called from other threads when there is something new to draw.
  App(Scene scene, const std::function<void()>& wake);

  // What the screen draws
  ViewState view;
  CommandSink commands;
  Scene scene;  ///< as opened; `view` is what became of it
  Measurements measurements;
  std::optional<RefusedChoice> refused;
  std::optional<Notice> notice;
  std::optional<SceneAnswer> scene_answer;  ///< to the last OpenScene or SaveScene
  std::string last_edited_field;            ///< where the choice under way was made

  /// The newest good snapshot; nullptr before the first.
  std::shared_ptr<const Snapshot> snapshot() const { return published_->snapshot; }
  /// Why there is no snapshot at all.
  const std::optional<Error>& first_error() const { return first_error_; }
  /// The newest snapshot of a race's second algorithm; nullptr without a race.
  std::shared_ptr<const Snapshot> rival_snapshot() const;
  /// The common clock of a race; nullptr until both runs are there.
  const RaceCourse* course() const { return course_ ? &*course_ : nullptr; }
  const Worker& worker() const { return worker_; }
  const GpuRunner& gpu() const { return gpu_; }
  const Player& player() const { return player_; }
  /// The choice that was made last: under way, or the valid one.
  const Choice& wanted_choice() const { return pending_ ? *pending_ : view.choice; }
  /// Nothing is under way, and the snapshot is the one that the view asks for.
  bool settled() const;

  /// The user has asked to leave.
  bool wants_to_quit() const { return quit_; }

  /// Between two frames: carries out commands, moves the playhead, takes in what threads have
  /// published, asks for what is missing.
  void update(double now_s);
  /// What the last update left for the window: pictures to save after the frame was drawn.
  std::vector<SavePicture> take_pictures() { return std::exchange(pictures_, {}); }
  /// Text for the clipboard.
  std::optional<std::string> take_clipboard() { return std::exchange(clipboard_, std::nullopt); }
  void show_notice(std::string text);

 private:
  void execute(const Command& command);
  void choose(const Choice& choice);
  void open_scene(const std::string& name_or_path);
  void take_published();
  void ask_worker();
  void run_race(double elapsed_s);
  void step_race(const Command& command);
  bool race_settled() const;

  bool quit_ = false;
  double now_s_ = 0.0;
  std::optional<Choice> pending_;  ///< asked for, not answered yet
  std::optional<Error> first_error_;
  std::shared_ptr<const Published> published_ = std::make_shared<Published>();
  std::optional<Request> asked_;
  Player player_;
  Index opened_tick_ = 0;  ///< of a scene's race, until its clock is known
  std::vector<SavePicture> pictures_;
  std::optional<std::string> clipboard_;
  GpuRunner gpu_;
  Worker worker_;

  // A race: the second algorithm has a worker of its own
  std::optional<RaceCourse> course_;
  std::shared_ptr<const Published> rival_published_ = std::make_shared<Published>();
  std::optional<Request> rival_asked_;
  Choice raced_;         ///< the choice that the one below was made for
  Choice rival_choice_;  ///< of the second algorithm, by rival_of()
  Worker rival_worker_;
};

/// Why check_choice() refuses the choice, with the nearest one that it accepts, found by changing
/// one field alone: the edited one, or the number that the reason names; nothing when the choice
/// can work.
std::optional<RefusedChoice> refuse(const Choice& choice, const std::string& edited,
                                    const Choice& last_valid);

}  // namespace attnscope::app
