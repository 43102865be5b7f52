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
#include "app/lessons/answers_file.h"
#include "app/lessons/progress.h"
#include "reference/enum_names.h"

namespace attnscope::app {

/// The files in which a user's answers and progress are kept.
struct LessonFiles {
  std::filesystem::path progress;  ///< empty: progress is not kept
  std::optional<lessons::AnswersFile> answers;
};

/// The vertical axis on which a curve is drawn.
struct CurveAxis {
  bool logarithmic = true;
  double low = 1.0;
  double high = 10.0;
};

/// What a step shows before it is answered.
struct PreparedStep {
  std::string say;
  RunSpec run;                      ///< the run on the screen; Br and Bc are set
  std::optional<RunSpec> revealed;  ///< the run after the answer; nothing: the same run
  std::optional<RunSpec> beside;    ///< a second run to its right; Br and Bc are set
  Index start = 0;  ///< the playhead's start: where the previous step with the same run left it
  std::optional<CurveAxis> axis;  ///< only if the question asks for a curve
};

/// What is revealed after an answer, or after "Show me".
struct Outcome {
  std::optional<lessons::Verdict::Kind> verdict;  ///< nothing without an answer or without a truth
  std::optional<lessons::Answer> truth;  ///< the computed answer; nothing without a question
  /// A sentence that says why the truth, or a value in the step's text, cannot be computed.
  std::string unavailable;
  std::string why;            ///< the misconception behind the answer
  std::string then;           ///< also empty where the truth, or a value in it, is unavailable
  std::optional<Index> step;  ///< where the playhead goes
  std::string unplaced;       ///< why it cannot go to the step's place
  std::string unsaved;        ///< why the answer could not be written to the user's file
};

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
  /// Nothing: each models its own.
  void set_gpu(std::optional<std::string> name);
  /// Opens a lesson, by name or path, at a step counted from 0; without a step, where the user left
  /// off. If it cannot be opened, take_error() returns the reason.
  void open(std::string name_or_path, std::optional<std::size_t> step = {});
  /// Queues an action for the next update(), between two frames.
  void act(Action action) { actions_.push_back(action); }
  /// Sets, at the next update(), a field that the lesson lets a student change; nothing: restores
  /// the lesson's own value.
  void change(const RunField& field, std::optional<std::string> text);
  /// Executes the queued actions, and collects the results of the background jobs.
  void update();

  Phase phase() const { return phase_; }
  bool is_open() const { return lesson_ != nullptr; }
  /// Whether nothing is being computed, and no action or cue is pending.
  bool settled() const {
    return !task_ && actions_.empty() && !wanted_changes_ && !cue_.enters && !cue_.reveals;
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

  /// What the screen must do for the step; take_cue() returns each request once.
  struct Cue {
    bool enters = false;   ///< true: show its run and panels
    bool reveals = false;  ///< true: move the playhead to its place
  };
  Cue take_cue() { return std::exchange(cue_, {}); }
  /// Why the last lesson could not be opened.
  std::string take_error() { return std::exchange(error_, {}); }

 private:
  struct Desk;  ///< state of the background jobs
  struct StepState {
    std::optional<PreparedStep> prepared;
    std::optional<lessons::Answer> given;
    std::optional<Outcome> outcome;
  };
  struct Reply {
    std::shared_ptr<const lessons::Lesson> lesson;
    std::size_t step = 0;
    lessons::LessonProgress progress;
    lessons::Changes changes;
    std::optional<PreparedStep> prepared;
    std::optional<Outcome> outcome;
  };
  using Task = std::function<Result<Reply>(WorkControl&)>;

  void start(Phase phase, Task task);
  void execute(Action action);
  void go_to(std::size_t step);
  void check();
  void judge(std::optional<lessons::Answer> answer);
  void leave();
  void take(const Reply& reply);
  void take_failure(const Error& error);
  Result<lessons::Answer> drafted() const;

  std::shared_ptr<Desk> desk_;
  bool waits_for_gpu_ = false;
  std::shared_ptr<const lessons::Lesson> lesson_;
  std::vector<StepState> states_;
  std::size_t step_ = 0;
  Phase phase_ = Phase::closed;
  lessons::LessonProgress progress_;
  lessons::Changes changes_;
  std::optional<lessons::Changes> wanted_changes_;
  std::vector<Action> actions_;
  Cue cue_;
  std::string error_;
  std::string problem_;
  Task task_;  ///< the job without a result yet; null: none
  int number_ = 0;
  BackgroundJob<int, Reply> job_;  ///< key: number_; last: its destructor waits
};

constexpr std::array<std::string_view, 7> enum_names(LessonPlayer::Phase) {
  return {"closed", "opening", "preparing", "asking", "judging", "revealed", "failed"};
}

}  // namespace attnscope::app
