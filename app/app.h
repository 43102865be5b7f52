/// The app without its window: its state between two frames, and the effects of commands.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/files/opened_files.h"
#include "app/guide/guide.h"
#include "app/jobs/background_job.h"
#include "app/jobs/gpu_runner.h"
#include "app/jobs/measurements.h"
#include "app/jobs/step_simulator.h"
#include "app/jobs/worker.h"
#include "app/panels/parts/panel.h"
#include "app/play/lesson_player.h"
#include "app/play/playhead.h"
#include "app/play/quiz.h"
#include "app/scene/choice_history.h"
#include "app/scene/scene.h"

namespace attnscope::app {

/// A rejected choice, shown at the field where it was made.
struct RefusedChoice : Refusal {
  RunSpec choice;
  std::string message;  ///< one line: what is wrong, why, and what would be accepted
  std::string typed;    ///< the text itself, if it could not be understood
};

/// A lesson in the list of lessons.
struct ListedLesson {
  std::string name;
  std::string title;
  std::size_t questions = 0;
  std::size_t right = 0;  ///< questions answered correctly so far
  std::size_t steps = 0;
  std::optional<std::size_t> step = {};  ///< where to resume, from 0; nothing: not begun
};

/// The entries of the lists of scenes, lessons and GPUs, and the user guide; empty until read.
struct FileLists {
  std::vector<ShippedScene> scenes;   ///< the scenes in assets/scenes
  FolderList folder;                  ///< filled by ListFolder
  std::vector<std::string> gpus;      ///< the names of the GPUs in assets/gpus
  Guide guide;                        ///< the pages in assets/guide
  std::vector<ListedLesson> lessons;  ///< the lessons in assets/lessons, in teaching order
};

/// The result of opening a scene, or of saving a scene, a picture or text.
struct SceneAnswer {
  std::string error;         ///< empty: the scene was opened or saved
  std::string nearest = {};  ///< an existing file or scene of nearly the same name, or empty
  bool file_exists = false;  ///< saving stopped, because the file would be replaced
};

/// A line of text that fades out.
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
  Scene scene;  ///< as opened; `view` has the changes since then
  LessonPlayer lesson_player;
  Quiz quiz;
  Measurements measurements;
  std::optional<RefusedChoice> refused;
  std::optional<Notice> notice;
  std::optional<SceneAnswer> scene_answer;  ///< to the last OpenScene, SaveScene or SaveFile
  std::optional<FileToSave> asked_to_save;  ///< the dialog that saves it is requested
  FileLists listed;
  /// Whether the walk "FlashAttention in two minutes" is playing; nullopt if it is not open or has
  /// ended. Play and Space toggle it.
  std::optional<bool> walk_plays;
  std::vector<std::string> recent_files;  ///< files opened or saved, the newest first
  const std::shared_ptr<GpuCatalog> gpus = std::make_shared<GpuCatalog>();

  /// The newest valid snapshot; nullptr before the first.
  std::shared_ptr<const Snapshot> snapshot() const { return shown_->snapshot; }
  /// Why there is no snapshot at all.
  const std::optional<Error>& first_error() const { return first_error_; }
  /// Whether the card of a lesson or a quiz chooses the panels.
  bool shows_card() const { return lesson_player.is_open() || quiz.is_open(); }
  /// The newest snapshot of a race's second run; nullptr without a race.
  std::shared_ptr<const Snapshot> rival_snapshot() const;
  /// The common clock of a race; nullptr until both runs exist.
  const RaceCourse* course() const { return course_ ? &*course_ : nullptr; }
  const Worker& worker() const { return worker_; }
  const GpuRunner& gpu() const { return gpu_; }
  const Player& player() const { return player_; }
  /// The progress, 0 to 1, of work that the user waits for: a simulation or a search.
  std::optional<double> waiting() const;
  /// The choice that the fields show: the pending one, else the rejected one, else the valid one.
  const RunSpec& shown_choice() const {
    return refused && !pending_ ? refused->choice : wanted_choice();
  }
  /// Whether nothing is pending and the snapshot is the one that the view requests.
  bool settled() const;

  /// Whether the user has asked to quit, and everything is saved. A failure to save cancels the
  /// request, so that its message can be read.
  bool wants_to_quit() const { return quit_ && unsaved_ == 0; }

  /// Executes commands, moves the playhead, collects the threads' results and requests missing
  /// ones. Call it between two frames.
  void update(double now_s);
  /// Pictures that the window must save after the frame is drawn.
  std::vector<PanelPicture> take_pictures() { return std::exchange(pictures_, {}); }
  /// Text for the clipboard.
  std::optional<std::string> take_clipboard() { return std::exchange(clipboard_, std::nullopt); }
  void show_notice(std::string text);
  /// Requests the quiz about the displayed run: which of its operations is missing? The next
  /// update() starts it, and ends a lesson or a race.
  void start_quiz(std::uint64_t seed) { asked_quiz_ = seed; }
  /// Reads the list of shipped lessons again, with the user's progress.
  void list_lessons();
  /// Calls `write` on the file thread to write the file; then shows its error, or that the file was
  /// saved.
  void save_file(const std::string& path, std::function<std::optional<Error>()> write);

 private:
  /// The latest choice: the pending one, else the valid one.
  const RunSpec& wanted_choice() const { return pending_ ? *pending_ : view.choice; }
  /// The request that the latest choice needs.
  Request wanted() const;
  void execute(const Command& command);
  /// Moves the playhead to the step, and stops playing.
  void stop_at(Index step);
  void toggle_play();
  void cancel_work();
  void choose(const RunSpec& choice);
  void run_on_gpu();
  std::string measured_notice(const MeasuredRun& run) const;
  void read_shipped_files();
  void list_folder_again(const std::string& path);
  void open(const std::vector<std::string>& paths);
  void take_files(const std::vector<std::string>& paths, Result<OpenedFiles> opened);
  void take_scene(Scene opened);
  void save_scene_as(const std::string& name, bool replaces);
  void save_text_or_picture(const SaveFile& save);
  void show_saved(const std::string& path, const std::optional<Error>& error);
  void take_published();
  void take_snapshot();
  void take_refusal(const Refusal& refusal);
  void end_opening(Error error);
  void ask_worker();
  void run_lesson(double elapsed_s);
  void begin_quiz(std::uint64_t seed);
  void run_quiz();
  void leave_lesson_of_another_run();
  void restore_tabs();
  void enter_lesson_step();
  void reveal_lesson_step();
  void glide(double elapsed_s);
  bool lesson_takes(const Command& command);
  void run_race(double elapsed_s);
  void begin_race(const Snapshot& own, const Snapshot& rival);
  void step_race(const Command& command);
  bool race_settled() const;
  bool shows(const RunInfo& run) const;
  void go_to(const RunInfo& run, Index step);
  void begin_search(const SeekThing& seek);
  void end_search();
  void run_search();
  void note_choices();
  void keep_valid_choice();
  void move_in_history(std::ptrdiff_t by);
  void restore();

  bool quit_ = false;
  int unsaved_ = 0;  ///< files that are still to be saved
  double now_s_ = 0.0;
  std::optional<RunSpec> pending_;  ///< the choice requested but not answered yet
  /// A scene and its first view, until they can be shown.
  struct Opening {
    Scene scene;
    ViewState view;
  };
  std::optional<Opening> opening_;  ///< the scene that pending_ belongs to
  ChoiceHistory history_;
  std::optional<std::ptrdiff_t> restoring_;  ///< pending_ is this far ahead in the history
  int generation_ = 0;  ///< counts choices and scenes; a later one replaces an earlier one
  std::optional<Error> first_error_;
  std::shared_ptr<const Published> published_ = std::make_shared<Published>();  ///< the newest
  std::shared_ptr<const Published> shown_ = published_;  ///< the newest one that was wanted
  std::optional<Request> asked_;
  Player player_;
  Index opened_tick_ = 0;  ///< the tick of a scene's race, until its clock is known
  /// The animated move of the playhead to the place that a lesson's step shows (app_lesson.cpp).
  struct Glide {
    Index to = 0;
    std::optional<Index> from = {};  ///< where the move began; nothing: it has not begun
    double elapsed_s = 0.0;
  };
  std::optional<Glide> glide_;
  std::optional<std::uint64_t> asked_quiz_;  ///< the seed of the quiz to start
  RunSpec quiz_run_;  ///< the run that the quiz shows: the given one, then a broken one
  std::optional<ViewState> before_lesson_;  ///< its tabs return after the lesson
  std::optional<RunSpec> lesson_run_;       ///< the run of the lesson's step
  std::optional<Race> lesson_race_;         ///< the race of a step that shows two runs
  /// Both runs of lesson_race_ stay at this operation of the clock's tile until the playhead moves.
  std::optional<Index> lesson_step_;
  std::vector<PanelPicture> pictures_;
  std::optional<std::string> clipboard_;
  GpuRunner gpu_;
  Worker worker_;

  // A race: the second run has a separate worker
  std::optional<RaceCourse> course_;
  std::shared_ptr<const Published> rival_published_ = std::make_shared<Published>();
  std::optional<Request> rival_asked_;
  std::optional<RunSpec> last_rival_;  ///< the last rival of this race that could run
  Worker rival_worker_;

  /// The search for the operation that a click jumps to (app_search.cpp).
  struct Search {
    SeekThing seek;
    Index from = 0;
    int number = 0;
  };
  std::optional<Search> searching_;
  int searches_ = 0;
  BackgroundJob<int, std::optional<Index>> search_;  ///< key: Search::number

  FileThread files_;  // last: its jobs may use all members above
};

}  // namespace attnscope::app
