/// Marks a folder of answer files again, from the lessons.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "app/lessons/answers_file.h"

namespace attnscope::lessons {

/// The marks of one lesson.
struct LessonMarks {
  std::size_t questions = 0;    ///< number of questions of the lesson
  std::size_t answered = 0;     ///< questions with an answer, given or shown
  std::size_t right_first = 0;  ///< questions answered correctly on the first attempt
  std::size_t right = 0;        ///< questions answered correctly before the answer was shown
};

struct StudentMarks {
  std::string student;  ///< the stem of the file's name
  std::map<std::string, LessonMarks> lessons;
  std::size_t other_version = 0;  ///< answers to a lesson that is not among the given ones
  std::size_t measured = 0;       ///< answers marked with measurements that are in their lines
  std::size_t unmarked = 0;       ///< answers that cannot be marked here: "not calibrated"
  std::size_t unreadable = 0;     ///< number of lines that are not answers

  LessonMarks total() const;
};

/// The marks of every file NAME.jsonl of the folder, by name. `lessons` are those that may have
/// been answered: an answer belongs to the one with its hash. Measurements are those of the
/// answer's line and of the shipped recordings, so that the marks are the same on every computer.
/// Failed when the folder cannot be read, invalid_request when it has no such file.
Result<std::vector<StudentMarks>> grade(const std::filesystem::path& folder,
                                        const std::vector<Lesson>& lessons);

}  // namespace attnscope::lessons
