/// A user's progress in each lesson, kept between sessions.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "app/lessons/lesson.h"

namespace attnscope::lessons {

struct LessonProgress {
  /// The hash of the lesson as it was then; progress in a changed lesson starts over.
  std::uint64_t lesson_hash = 0;
  std::size_t step = 0;            ///< the step at which to continue
  std::set<std::size_t> answered;  ///< steps whose question was answered or shown
  std::set<std::size_t> right;     ///< those of `answered` with a correct answer
};

/// The path of "state.lessons.json", which is beside "state.json", the file of the app's state.
std::filesystem::path progress_file_beside(const std::filesystem::path& state);

/// The progress of all lessons, in one file. A missing or damaged file counts as empty.
class Progress {
 public:
  explicit Progress(std::filesystem::path file);

  /// The progress in the lesson as it is now.
  LessonProgress find(const Lesson& lesson) const;
  /// Saves the progress; failed when the file cannot be written.
  std::optional<Error> keep(const Lesson& lesson, LessonProgress progress);

 private:
  std::filesystem::path file_;
  std::map<std::string, LessonProgress> lessons_;  ///< progress by the lesson's name
};

}  // namespace attnscope::lessons
