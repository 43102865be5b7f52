/// A lesson that is being played: its step, the prediction for it, and what is revealed after it.
/// No drawing. Everything that a step needs of its runs is computed in the background.
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

#include "app/background_job.h"
#include "app/lessons/answers_file.h"
#include "app/lessons/progress.h"
#include "reference/enum_names.h"

namespace attnscope::app {

/// Where a user's answers and progress are kept.
struct LessonFiles {
  std::filesystem::path progress;  ///< empty: nowhere
  std::optional<lessons::AnswersFile> answers;
};

/// The vertical axis on which a curve is drawn.
struct CurveAxis {
  bool logarithmic = true;
  double low = 1.0;
  double high = 10.0;
};

/// What is shown of a step before it is answered.
struct PreparedStep {
  std::string say;
  RunSpec run;                    ///< that the screen shows; both sides of its tiles are set
  std::optional<RunSpec> beside;  ///< the run at its right, likewise
  Index start = 0;  ///< of the playhead: the place of the step before, in the same run
  std::optional<CurveAxis> axis;  ///< of a question for a curve
};

/// What is revealed by an answer, or by asking for it.
struct Outcome {
  std::optional<lessons::Verdict::Kind> verdict;  ///< nothing without an answer or without a truth
  std::optional<lessons::Answer> truth;           ///< nothing without a question
  std::string unavailable;                        ///< why there is no truth
  std::string why;                                ///< the misconception
  std::string then;
  std::optional<Index> step;  ///< where the playhead goes
  std::string unsaved;        ///< why the answer could not be written to the user's file
};

class LessonPlayer {
 public:
  enum class Phase : std::uint8_t {
    closed,
    opening,    ///< the lesson is being read
    preparing,  ///< the step's text and run are being computed
    asking,     ///< nothing is revealed
    judging,    ///< an answer is being compared, or the truth computed
    revealed,
    failed,  ///< problem() says why the step cannot be shown
  };
  enum class Action : std::uint8_t { next, previous, check, show_me, leave };

  /// The prediction as far as it is entered.
  struct Draft {
    std::array<char, 128> text{};  ///< of a number
    std::optional<std::size_t> option;
    std::optional<lessons::TilePlace> tile;
    std::vector<std::optional<double>> curve;
    std::string error;    ///< what is wrong with it
    bool typing = false;  ///< the keyboard writes into the text
  };

  LessonPlayer();
  ~LessonPlayer();

  /// Before the first lesson is opened.
  void set_files(LessonFiles files);
  const std::filesystem::path& progress_file() const;
  /// Opens a lesson, by name or path, at a step, counted from 0; without one, where the user was
  /// last time. take_error() has the reason where it cannot be opened.
  void open(std::string name_or_path, std::optional<std::size_t> step = {});
  /// To be done at the next update(), between two frames.
  void act(Action action) { actions_.push_back(action); }
  /// The same: sets a field that the lesson lets a student change; nothing: as the lesson has it.
  void change(const RunField& field, std::optional<std::string> text);
  /// Does what was asked for, and takes the results of the background.
  void update();

  Phase phase() const { return phase_; }
  bool is_open() const { return lesson_ != nullptr; }
  /// Whether nothing is being computed, and the last cue was taken.
  bool settled() const {
    return !task_ && actions_.empty() && !wanted_changes_ && !cue_.enters && !cue_.reveals;
  }
  /// Whether the answer to the step's question is still to be hidden.
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
  bool list_requested = false;  ///< the list of lessons is to be opened

  /// What has happened to the step since the last call.
  struct Cue {
    bool enters = false;   ///< its run and panels are to be shown
    bool reveals = false;  ///< the playhead goes to its place
  };
  Cue take_cue() { return std::exchange(cue_, {}); }
  /// Why the last lesson could not be opened.
  std::string take_error() { return std::exchange(error_, {}); }

 private:
  struct Desk;  ///< of the thread in the background
  struct StepState {
    Index attempts = 0;
    std::optional<PreparedStep> prepared;
    std::optional<lessons::Answer> given;
    std::optional<Outcome> outcome;
  };
  struct Reply {
    std::shared_ptr<const lessons::Lesson> lesson;
    std::size_t step = 0;
    lessons::LessonProgress progress;
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
  Task task_;  ///< until it has a result
  int number_ = 0;
  BackgroundJob<int, Reply> job_;  ///< by number; last: its end waits for the work
};

constexpr std::array<std::string_view, 7> enum_names(LessonPlayer::Phase) {
  return {"closed", "opening", "preparing", "asking", "judging", "revealed", "failed"};
}

}  // namespace attnscope::app
