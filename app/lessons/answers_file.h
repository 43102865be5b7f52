/// The answers of a student: JSON Lines, one object of schema "attnscope.answer/1" per line, in a
/// file that the user names. Each line has what is needed to mark its answer without the student's
/// GPU: where the computed answer used measurements of the session, these are in the line, each as
/// a recording (kernels/recording/recording.h).
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/lessons/judge.h"

namespace attnscope::lessons {

/// When a student saw the computed answer to a question.
enum class TruthShown : std::uint8_t {
  no,
  before,  ///< before answering
  after,   ///< after answering, or on request
};
constexpr std::array<std::string_view, 3> enum_names(TruthShown) {
  return {"no", "before", "after"};
}

/// An attempt at a question.
struct Attempt {
  Index number = 1;  ///< from 1
  TruthShown truth_shown = TruthShown::no;
};

/// One answer, with what is needed to mark it again.
struct AnswerRecord {
  std::string date;  ///< UTC, ISO 8601
  std::string lesson;
  std::uint64_t lesson_hash = 0;
  std::size_t step = 0;                                      ///< from 0
  Attempt attempt;                                           ///< at this step
  std::vector<std::pair<std::string, std::string>> changes;  ///< option and value
  std::string run;  ///< the run that is shown, as a JSON object
  std::string gpu;  ///< the modelled GPU of that run
  /// The answer; nothing if the student asked to see it.
  std::optional<Answer> answer;
  std::string text;                      ///< the answer as text
  std::string outcome;                   ///< "right", "mistake", "wrong", "shown", "unavailable"
  std::vector<Recording> measured = {};  ///< as Basis::measured
};

/// The earlier attempts at a question.
struct EarlierAttempts {
  Index count = 0;
  bool truth_shown = false;  ///< in one of them
};

/// The record of an answer, or of the request to see it.
AnswerRecord record_of(const Lesson& lesson, std::size_t step, LessonRuns& runs,
                       const Attempt& attempt, const std::optional<Answer>& answer,
                       const std::optional<Verdict>& verdict);

/// A file to which answers are added. Every add() replaces the whole file in one step and returns
/// once it is on disk: even if the program or the power fails, the file contains all the answers
/// given so far. Several processes may add to one file.
class AnswersFile {
 public:
  /// Opens or creates the file; invalid_request when it cannot be written, or contains something
  /// else.
  static Result<AnswersFile> open(std::filesystem::path path);
  /// Adds the answer; failed when the file can no longer be written: it then has all earlier
  /// answers.
  std::optional<Error> add(const AnswerRecord& record) const;
  /// The attempts at this step of the lesson as it is now, in all sessions; failed when the file
  /// cannot be read.
  Result<EarlierAttempts> earlier_attempts(const Lesson& lesson, std::size_t step) const;

 private:
  explicit AnswersFile(std::filesystem::path path) : path_(std::move(path)) {}
  std::filesystem::path path_;
};

/// The answers in a file, in order.
struct ReadAnswers {
  std::vector<AnswerRecord> records;
  std::size_t unreadable = 0;  ///< number of lines that are not answers
};
/// Reads the answers of a file; failed when it cannot be read.
Result<ReadAnswers> read_answers(const std::filesystem::path& path);

}  // namespace attnscope::lessons
