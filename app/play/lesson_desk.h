/// The data that the steps of a lesson need from its runs and from the user's files, computed in
/// the background for LessonPlayer, one job at a time.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "app/lessons/answers_file.h"
#include "app/lessons/progress.h"

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

/// The content of a step before it is answered.
struct PreparedStep {
  std::string say;
  RunSpec run;                      ///< the run on the screen; Br and Bc are set
  std::optional<RunSpec> revealed;  ///< the run after the answer; nothing: the same run
  std::optional<RunSpec> beside;    ///< a second run to its right; Br and Bc are set
  /// Where the playhead starts: the step's own place, else where the previous step with the same
  /// run left it.
  Index start = 0;
  std::optional<CurveAxis> axis;  ///< only if the question asks for a curve
  bool lacks_values = false;      ///< a value in `say`, or the curve, is unavailable
};

/// The content revealed after an answer, or after "Show me".
struct Outcome {
  std::optional<lessons::Verdict::Kind> verdict;  ///< nothing without an answer or without a truth
  std::optional<lessons::Answer> truth;  ///< the computed answer; nothing without a question
  std::string kind;                      ///< the kind of its numbers: lessons::Basis::kind
  /// Why the truth, or a value in the step's text, cannot be computed; a sentence.
  std::string unavailable;
  std::string why;            ///< the misconception behind the answer
  std::string then;           ///< also empty if the truth, or a value in it, is unavailable
  std::optional<Index> step;  ///< where the playhead goes
  std::string unplaced;       ///< why it cannot go to the step's place
  std::string unsaved;        ///< why the answer could not be written to the user's file
};

/// The result of a job.
struct LessonReply {
  std::shared_ptr<const lessons::Lesson> lesson;
  std::size_t step = 0;
  lessons::LessonProgress progress;
  lessons::Changes changes;
  std::optional<PreparedStep> prepared;
  std::optional<Outcome> outcome;
};

class LessonDesk {
 public:
  LessonFiles files;
  std::optional<std::string> gpu;  ///< the shipped description of this machine's GPU

  /// Sets the runs that were measured in this session.
  void set_session(lessons::SessionRuns session);
  /// Opens a lesson, by name or path, at a step, or where the user left off.
  Result<LessonReply> open(const std::string& name_or_path, std::optional<std::size_t> step);
  /// Prepares the step with these changes of the lesson's fields, which replace earlier ones.
  Result<LessonReply> prepare(std::size_t step, const lessons::Changes& changes);
  /// The outcome of the answer, or of the request to see the computed one.
  Result<LessonReply> judge(std::size_t step, const std::optional<lessons::Answer>& answer);

 private:
  /// The name of the run that a step shows first: its own run, else the one that the previous step
  /// left.
  const std::string& run_of(std::size_t step) const;
  /// The name of the run that a step shows at its end.
  const std::string& run_after(std::size_t step) const;
  Result<Outcome> outcome_of(std::size_t step, const std::optional<lessons::Answer>& answer);
  std::optional<Error> keep_answer(std::size_t step, const std::optional<lessons::Answer>& answer,
                                   const std::optional<lessons::Verdict>& verdict, bool reveals);
  Result<std::optional<Index>> place_of(const std::optional<lessons::Expression>& step);
  /// PreparedStep::start of a step.
  Index start_of(std::size_t step);
  void keep_progress(std::size_t step);

  std::shared_ptr<const lessons::Lesson> lesson_;
  std::optional<lessons::LessonRuns> runs_;
  std::optional<lessons::Progress> progress_;
  lessons::LessonProgress done_;
  lessons::SessionRuns session_;
};

}  // namespace attnscope::app
