/// Compares a student's prediction with the results of the runs.
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "app/lessons/lesson_runs.h"

namespace attnscope::lessons {

/// An option of a choice, by its index.
struct Chosen {
  std::size_t option = 0;
  bool operator==(const Chosen&) const = default;
};

/// A prediction, or the truth: a number (in the question's unit), a choice, a tile or a curve (one
/// number for each value of its field).
using Answer = std::variant<double, Chosen, TilePlace, std::vector<double>>;

/// The answer that follows from the runs. Errors: unavailable, with the reason, if there is none
/// for this GPU ("not calibrated for NVIDIA T4: ..."); invalid_request for a mistake in the lesson:
/// no option, or more than one, is right; a path that does not exist.
Result<Answer> truth_of(const Question& question, LessonRuns& runs);

/// The answer that this expression would give, such as that of a misconception; not for a choice.
/// Errors as in truth_of().
Result<Answer> answer_by(const Question& question, const Expression& expression, LessonRuns& runs);

/// The misconceptions of a question that is not a choice; empty for a choice.
const std::vector<Mistake>& mistakes_of(const Question& question);

/// The data on which the computed answer is based.
struct Basis {
  /// The kinds of its numbers, joined by "and": "measured" in this session, "recorded" in a shipped
  /// recording, "modelled"; "datasheet" if all of them describe the GPU.
  std::string kind;
  /// The measurements of this session among them, each with its only row, and each run once.
  std::vector<Recording> measured;
};

/// The basis of the answer to the question, for the runs as they are now.
Basis basis_of(const Question& question, LessonRuns& runs);

/// Whether the step's text or its computed answer uses a measurement.
bool uses_measurements(const Step& step);

/// Whether the prediction is right: within the question's factor for a number of the same sign,
/// everywhere for a curve.
bool is_right(const Question& question, const Answer& answer, const Answer& truth);

struct Verdict {
  enum class Kind : std::uint8_t {
    right,
    mistake,  ///< wrong, and `why` names the misconception
    wrong,
  };
  Kind kind = Kind::wrong;
  std::string why = {};
  Answer truth;
};
constexpr std::array<std::string_view, 3> enum_names(Verdict::Kind) {
  return {"right", "mistake", "wrong"};
}

/// Judges the answer. Errors as in truth_of(), and invalid_request for an answer of the wrong kind.
Result<Verdict> judge(const Question& question, const Answer& answer, LessonRuns& runs);

/// Parses a typed answer: a number with or without its unit ("4.4 GB", "12 us", "3e9"); the letter
/// of an option; "i, j"; numbers separated by commas. not_understood with what is accepted.
Result<Answer> parse_answer(const Question& question, std::string_view text);

/// The answer as text: "285.2 MB", "b) FA2", "tile (1, 2)", "1 GB, 2 GB".
std::string answer_text(const Question& question, const Answer& answer);

/// The letter of an option: 'a', 'b', ...
constexpr char letter_of(std::size_t option) {
  return static_cast<char>('a' + option);
}

}  // namespace attnscope::lessons
