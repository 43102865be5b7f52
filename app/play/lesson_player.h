/// A lesson in progress: the current step, the user's prediction, and the outcome. Draws nothing.
/// Everything that a step needs from its runs is computed in the background.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "app/jobs/background_job.h"
#include "app/play/lesson_desk.h"
#include "reference/enum_names.h"

namespace attnscope::app {

class LessonPlayer {
 public:
  enum class Phase : std::uint8_t {
    closed,
    opening,    ///< the lesson is being read
    preparing,  ///< the step's text and its run are being computed
    asking,     ///< the question is open; nothing is revealed yet
    judging,    ///< an answer is being checked, or the truth computed
    revealed,
    failed,  ///< problem() says why the step cannot be shown
  };
  enum class Action : std::uint8_t { next, previous, check, show_me, leave };

  /// The user's prediction so far.
  struct Draft {
    std::array<char, 128> text{};  ///< the number as typed
    std::optional<std::size_t> option;
    std::optional<lessons::TilePlace> tile;
    std::vector<std::optional<double>> curve;
    std::string error;    ///< why the prediction cannot be checked
    bool typing = false;  ///< the text field has the keyboard
  };

  LessonPlayer();
  ~LessonPlayer();

  /// Sets the user's files. Call it before the first lesson is opened.
  void set_files(LessonFiles files);
  const std::filesystem::path& progress_file() const;
  /// Lessons opened from now on wait for the next call of set_gpu().
  void wait_for_gpu() { waits_for_gpu_ = true; }
  /// The shipped description of the GPU that is available; lessons opened from now on model it.
  /// Without one, each models its own.
  void set_gpu(std::optional<std::string> name);
  /// Adds a run measured on this machine's GPU, unless it failed, for all lessons. At the next
  /// update(), steps that lack a value and use measurements are computed and asked again.
  void add_measured(Recording run);
  /// Opens a lesson, by name or path, at a step counted from 0; without a step, where the user left
  /// off. If it cannot be opened, take_error() returns the reason.
  void open(std::string name_or_path, std::optional<std::size_t> step = {});
  /// Queues an action for the next update(), between two frames.
  void act(Action action) { actions_.push_back(action); }
  /// Sets, at the next update(), a field that the lesson lets a student change; without a text,
  /// restores the lesson's own value.
  void change(const RunField& field, std::optional<std::string> text);
  /// Executes the queued actions, and collects the results of the background jobs.
  void update();

  Phase phase() const { return phase_; }
  bool is_open() const { return lesson_ != nullptr; }
  /// Whether nothing is being computed, and no action or cue is pending.
  bool settled() const {
    return !task_ && actions_.empty() && !wanted_changes_ && !has_measured_ && !cue_.enters &&
           !cue_.reveals;
  }
  /// Whether the answer to the step's question must still be hidden.
  bool hides_answer() const;

  // Only while a lesson is open
  const lessons::Lesson& lesson() const { return *lesson_; }
  std::size_t step() const { return step_; }
  const lessons::Step& current() const { return lesson_->steps[step_]; }
  const PreparedStep* prepared() const;
  const Outcome* outcome() const;
  const std::optional<lessons::Answer>& given() const { return states_[step_].given; }
  const lessons::LessonProgress& progress() const { return progress_; }
  const lessons::Changes& changes() const { return changes_; }
  const std::string& problem() const { return problem_; }

  Draft draft;
  bool list_requested = false;  ///< the screen must open the list of lessons

  /// The screen's tasks for the step; take_cue() returns each request once.
  struct Cue {
    bool enters = false;   ///< true: show its run and panels
    bool reveals = false;  ///< true: move the playhead to its place
  };
  Cue take_cue() { return std::exchange(cue_, {}); }
  /// Why the last lesson could not be opened.
  std::string take_error() { return std::exchange(error_, {}); }

 private:
  struct StepState {
    std::optional<PreparedStep> prepared;
    std::optional<lessons::Answer> given;
    std::optional<Outcome> outcome;
  };
  using Task = std::function<Result<LessonReply>(WorkControl&)>;

  void start(Phase phase, Task task);
  void execute(Action action);
  void go_to(std::size_t step);
  void use_measured();
  void check();
  void judge(std::optional<lessons::Answer> answer);
  void leave();
  void take(const LessonReply& reply);
  void take_failure(const Error& error);
  Result<lessons::Answer> drafted() const;

  std::shared_ptr<LessonDesk> desk_;
  bool waits_for_gpu_ = false;
  std::shared_ptr<const lessons::Lesson> lesson_;
  std::vector<StepState> states_;
  std::size_t step_ = 0;
  Phase phase_ = Phase::closed;
  lessons::LessonProgress progress_;
  lessons::Changes changes_;
  std::optional<lessons::Changes> wanted_changes_;
  std::vector<Action> actions_;
  lessons::SessionRuns session_;
  bool has_measured_ = false;  ///< session_ is newer than the lesson's steps
  Cue cue_;
  std::string error_;
  std::string problem_;
  Task task_;  ///< the job without a result yet; null: none
  int number_ = 0;
  BackgroundJob<int, LessonReply> job_;  ///< key: number_; last: its destructor waits
};

constexpr std::array<std::string_view, 7> enum_names(LessonPlayer::Phase) {
  return {"closed", "opening", "preparing", "asking", "judging", "revealed", "failed"};
}

}  // namespace attnscope::app
