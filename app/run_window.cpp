#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>

#include "app/arguments.h"
#include "app/report/interruption.h"
#include "app/windowed_app.h"
#include "reference/json/run_json.h"

namespace attnscope::app {

using nlohmann::json;

namespace {

constexpr double kFrameSeconds = 1.0 / 60.0;
constexpr double kIdleSeconds = 0.1;
constexpr int kFramesBeforeDump = 5;    // before --dump-ui prints
constexpr double kSavingSeconds = 2.0;  // least time between two writes of the state

/// Prints the state of the app after a frame: "plays" if the playhead moves by itself, "rests" if
/// there is nothing left to do, else "works".
void log_frame(const WindowedApp& windowed, const Window& window) {
  const bool rests = windowed.settled() && !window.has_input();
  fmt::print("{}\n", windowed.app().view.playing ? "plays" : rests ? "rests" : "works");
  std::fflush(stdout);
}

json lesson_as_json(const LessonPlayer& player) {
  json state{{"name", player.lesson().name},
             {"step", player.step() + 1},
             {"phase", to_string(player.phase())},
             {"error", player.draft.error}};
  const Outcome* outcome = player.outcome();
  if (outcome != nullptr && outcome->verdict) state["verdict"] = to_string(*outcome->verdict);
  return state;
}

/// The data that a test needs for clicks and checks, as JSON (schema "attnscope.ui/1"): "window"
/// {width, height}, "state", and "rects", each [x0, y0, x1, y1] in pixels of the window.
std::string ui_as_json(const App& app, const NamedRects& rects, int width, int height) {
  const ViewState& view = app.view;
  json places = json::object();
  for (const auto& [name, rect] : rects.all()) {
    places[name] = {rect.min.x, rect.min.y, rect.max.x, rect.max.y};
  }
  const auto snapshot = app.snapshot();
  json state{{"step", view.step},
             {"playing", view.playing},
             {"speed", view.speed},
             {"granularity", to_string(view.granularity)},
             {"theme", to_string(view.theme)},
             {"presenter", view.presenter},
             {"chart", name_of(shown_chart(view))},
             {"enlarged", view.enlarged ? to_string(*view.enlarged) : "none"},
             {"show_keys", view.show_keys},
             {"scene", app.scene.name}};
  store_run(view.choice, state);
  if (snapshot) {
    state["shown_step"] = snapshot->step;
    state["step_count"] = snapshot->run->step_count;
  }
  if (const RaceCourse* course = app.course()) {
    state["race"] = {{"against", view.race->rival.algorithm},
                     {"tick", view.race_tick},
                     {"last_tick", course->last_tick()},
                     {"rival_step", course->step_of(RaceCourse::rival, view.race_tick)}};
  }
  if (app.refused) {
    state["refused"] = {{"field", app.refused->field},
                        {"message", app.refused->message},
                        {"nearest", app.refused->nearest_label}};
  }
  if (app.lesson_player.is_open()) state["lesson"] = lesson_as_json(app.lesson_player);
  if (app.notice) state["notice"] = app.notice->text;
  const json document{{"schema", "attnscope.ui/1"},
                      {"window", {{"width", width}, {"height", height}}},
                      {"state", state},
                      {"rects", places}};
  return document.dump(2);
}

/// The files of the user's answers and of the progress in lessons. The progress is kept beside the
/// app's state; without a state file, it is not kept.
Result<LessonFiles> lesson_files(const Arguments& arguments) {
  LessonFiles files;
  if (!arguments.state.empty()) files.progress = lessons::progress_file_beside(arguments.state);
  if (arguments.answers.empty()) return files;
  ATTNSCOPE_TRY(files.answers, lessons::AnswersFile::open(arguments.answers));
  return files;
}

/// The state that the next start resumes. If the run is no longer the scene's, neither is the
/// title.
UserState state_of(const App& app, const Window& window) {
  Scene left = app.scene;
  left.view = app.view;
  if (!(left.view.choice == app.scene.view.choice)) left.title = "Your own choice";
  return {window.place(), app.view.theme, std::move(left), app.recent_files};
}

/// Writes the state while the program runs, so that a signal or a crash loses only seconds of it.
class StateKeeper {
 public:
  explicit StateKeeper(std::filesystem::path file) : file_(std::move(file)) {}

  /// Writes the state on another thread, unless it is unchanged or was just written.
  void keep(const App& app, const Window& window) {
    const double now_s = steady_now_s();
    if (file_.empty() || now_s < next_s_ || files_->busy() || !app.snapshot()) return;
    next_s_ = now_s + kSavingSeconds;
    std::string text = user_state_text(state_of(app, window));
    if (text == written_) return;
    written_ = std::move(text);
    files_->post([file = file_, text = written_]() -> FileThread::Finish {
      write_user_state(file, text);  // an error is reported at the end
      return {};
    });
  }
  /// Collects completed writes.
  void collect() { files_->run_completed(); }

  /// Leaves the lesson, whose tabs the next start does not show, and writes the state for the last
  /// time.
  std::optional<Error> finish(App& app, const Window& window) {
    if (file_.empty()) return std::nullopt;
    app.lesson_player.act(LessonPlayer::Action::leave);
    app.update(steady_now_s());
    files_.reset();  // waits for the last write
    return write_user_state(file_, user_state_text(state_of(app, window)));
  }

 private:
  std::filesystem::path file_;
  std::string written_;
  double next_s_ = steady_now_s() + kSavingSeconds;
  std::optional<FileThread> files_{std::in_place, [] {}};
};

/// Waits between two frames: briefly while the screen moves, and for some time after an event or a
/// new picture, because their effects may take several frames, such as the size of a menu that has
/// just been opened.
class FramePacer {
 public:
  void note_change() { lively_until_s_ = steady_now_s() + kLivelySeconds; }

  /// Handles events until the frame after the one that began at `began_s` is due.
  void wait(Window& window, double began_s, bool moving) {
    const double drawn_s = steady_now_s();
    const bool lively = moving || drawn_s < lively_until_s_;
    const double wait_s = lively ? kFrameSeconds - (drawn_s - began_s) : kIdleSeconds;
    window.handle_events(std::max(wait_s, 0.0));
    const bool woken = steady_now_s() - drawn_s < wait_s - kTimerSlackSeconds;
    if (woken) note_change();
  }

 private:
  static constexpr double kLivelySeconds = 0.15;
  static constexpr double kTimerSlackSeconds = 0.002;
  double lively_until_s_ = 0.0;
};

}  // namespace

int run_window(const Arguments& arguments, Scene scene, const std::optional<UserState>& remembered,
               const std::string& problem) {
  auto files = lesson_files(arguments);
  if (!files) return report(files.error());
  auto opened = Window::open(arguments.width, arguments.height, "AttnScope");
  if (!opened) {
    return report(unavailable(opened.error().message +
                              "; without one, use: attnscope render --scene default --step 0 "
                              "--size 1600x900 --out picture.png"));
  }
  Window& window = *opened.value();
  const bool is_asked = arguments.scene_given || !arguments.lesson.empty();
  const bool starts_first = !arguments.state.empty() && !remembered && !is_asked;
  scene.view.welcome = starts_first;
  if (remembered && remembered->window && !arguments.size_given) {
    window.move_to(*remembered->window);
  }
  WindowedApp windowed(window, std::move(scene));
  App& app = windowed.app();
  if (remembered) app.recent_files = remembered->recent;
  if (!problem.empty()) app.show_notice(problem);
  app.lesson_player.set_files(std::move(files).value());
  if (!arguments.lesson.empty()) app.lesson_player.open(arguments.lesson, arguments.lesson_step);

  // --dump-ui waits for the screen to settle, unless --frames says how long
  const bool dumps_settled = arguments.dump_ui && arguments.frames == 0;
  int settled_frames = 0;
  const auto finished = [&] {
    return windowed.closed() ||
           (arguments.frames > 0 && windowed.frames_drawn() >= arguments.frames) ||
           (dumps_settled && settled_frames >= kFramesBeforeDump);
  };
  StateKeeper keeper(arguments.state);
  FramePacer pacer;
  while (!finished()) {
    const double began_s = steady_now_s();
    if (windowed.draw_frame(Redraw::if_new)) pacer.note_change();
    keeper.collect();
    keeper.keep(app, window);
    if (arguments.log_frames) log_frame(windowed, window);
    settled_frames = windowed.settled() ? settled_frames + 1 : 0;
    const bool moving =
        app.view.playing || !windowed.settled() || dumps_settled || app.notice.has_value();
    // A test that reads the log also waits for frames at rest
    pacer.wait(window, began_s, moving || arguments.log_frames);
  }

  if (arguments.dump_ui) {
    fmt::print("{}\n", ui_as_json(app, windowed.screen().rects(), window.width(), window.height()));
  }
  if (const auto error = keeper.finish(app, window)) {
    print_to_stderr(fmt::format("attnscope: {}\n", words(*error, Reader::file)));
  }
  return kDone;
}

}  // namespace attnscope::app
