/// Checks a lesson over all combinations of the values that it lets a student change.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "app/lessons/judge.h"

namespace attnscope::lessons {

/// A mistake in a lesson.
struct Finding {
  std::string field;    ///< path of the field: "steps[2]: ask: mistakes[0]"
  std::string message;  ///< one line
  std::string at;       ///< the changes that show it: "seq-len 4096"; empty: none

  /// The finding in one line: "steps[2]: ask: mistakes[0]: seq-len 4096: MESSAGE".
  std::string line() const;
};

struct LessonCheck {
  std::vector<Finding> findings;  ///< each one once, with the first changes that show it
  std::size_t points = 0;         ///< number of combinations of changes, including none
  std::size_t questions = 0;
};

/// The mistakes in the question for the current runs, one line each; `path` is its field.
std::vector<Finding> check_question(const Question& question, LessonRuns& runs,
                                    const std::string& path);

/// The changes with which a lesson is checked: none, then every combination of its `vary`.
std::vector<Changes> points_of(const Lesson& lesson);

/// The changes as text: "seq-len 4096, head-dim 64"; empty for none.
std::string changes_text(const Changes& changes);

/// Findings: a path that does not exist; an expression of the wrong kind; a question without a
/// right answer, or with more than one; an answer that does not agree with its second
/// computation; a mistake whose answer is right, or is the same as another's; a question that has
/// no answer at any point, because it is unavailable. `progress` is called with the number of
/// points done and their total.
LessonCheck check_lesson(const Lesson& lesson,
                         const std::function<void(std::size_t, std::size_t)>& progress = {});

/// The first mistake in the steps from `first` up to but not including `end`, for the lesson as
/// written: an error that names the file. Nothing if there is none.
std::optional<Error> first_mistake(const Lesson& lesson, std::size_t first, std::size_t end);

}  // namespace attnscope::lessons
