/// A lesson: runs, and steps that ask for a prediction about them before they show the answer.
/// Files of schema "attnscope.lesson/1", shipped in assets/lessons/. No answer is written in one:
/// each is an expression over the results of the lesson's runs (expression.h), which lesson_runs.h
/// computes and judge.h compares with a student's prediction.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "app/lessons/expression.h"
#include "reference/run_fields.h"

namespace attnscope::lessons {

/// A value of a field, as text that set_field() understands.
struct FieldValueText {
  const RunField* field = nullptr;
  std::string text;
};

/// A run: the one of a scene, or of another run of the lesson, with fields set.
struct RunRecipe {
  std::string name;   ///< in expressions
  std::string scene;  ///< name or path; empty: the default run
  std::string from;   ///< a run of the lesson, before this one; empty: none
  std::vector<FieldValueText> set;
};

/// A field that a student may change, and values for which the lesson is checked. The value is set
/// in every run without `from`, in place of its own, and reaches the others through `from`.
struct Vary {
  const RunField* field = nullptr;
  std::vector<std::string> values;
};

/// Text with the results of expressions in braces: "{fa1.flops.matmul} instead of ...".
struct Text {
  struct Piece {
    std::string text;
    std::optional<Expression> value = {};  ///< after the text
  };
  std::vector<Piece> pieces;
  bool empty() const { return pieces.empty(); }
};

/// What the screen shows beside a step.
struct Show {
  std::string run;                  ///< of the lesson; empty: as before
  std::string reveal;               ///< the run once the question is answered; empty: the same
  std::string beside;               ///< a second run to its right, at the same place; empty: none
  std::vector<std::string> panels;  ///< names of kPanelNames
  std::vector<std::string> highlights;  ///< names of tensors
  std::optional<Expression> step;       ///< of the playhead, once the answer is shown
  std::optional<Index> query_row;
};

/// A misconception: the prediction that it leads to, and what is wrong with it.
struct Mistake {
  Expression is;
  std::string why;
};

/// A number; right when it is off by at most the factor `within`.
struct NumberQuestion {
  Expression answer;
  double within = 1.1;
  std::vector<Mistake> mistakes;
};

/// One of several texts; the right one is that whose condition holds.
struct ChoiceQuestion {
  struct Option {
    std::string text;
    Expression when;
    std::string why;  ///< shown where it is wrongly chosen; may be empty
  };
  std::vector<Option> options;
};

/// A click on a tile of scores.
struct TileQuestion {
  Expression answer;
  std::vector<Mistake> mistakes;
};

/// A curve over a field: the answer at each of its values, set as by Vary; right when every number
/// is off by at most the factor `within`.
struct CurveQuestion {
  const RunField* over = nullptr;
  std::vector<std::string> values;  ///< at least 2
  Expression answer;
  double within = 1.5;
  std::vector<Mistake> mistakes;
};

struct Question {
  std::string text;
  std::variant<NumberQuestion, ChoiceQuestion, TileQuestion, CurveQuestion> kind;
  /// Another way to compute the answer, which check_lesson() compares with it; not of a choice.
  std::optional<Expression> agrees;
  /// Of a number or of a curve's numbers: "bytes", "s"; empty for counts and ratios.
  std::string unit;
};

struct Step {
  Text say;   ///< before the answer
  Text then;  ///< after it; may be empty
  Show show;
  std::optional<Question> ask;
};

struct Lesson {
  std::string name;  ///< the file's stem
  std::string path;  ///< as it was opened, for messages
  std::string title;
  Index order = 0;         ///< in the list of lessons
  std::uint64_t hash = 0;  ///< of the file's contents, whatever its layout
  std::vector<RunRecipe> runs;
  std::vector<Vary> vary;
  std::vector<Step> steps;

  const RunRecipe* find_run(std::string_view run) const;
};

/// Most steps of a lesson.
inline constexpr std::size_t kMostSteps = 10;

/// Names of the panels that a step may show (Panel::name in app/panels/parts/panel.h).
inline constexpr std::string_view kPanelNames[] = {"memory",         "warps",      "scores",
                                                   "online_softmax", "why_online", "explain",
                                                   "ledger",         "timeline",   "charts"};

/// A lesson from its text; `name` names the file in messages. invalid_request with one line, which
/// has the path of the field: malformed text, an unknown or missing field, a run, panel, tensor or
/// field of a run that does not exist, an expression that cannot be parsed.
Result<Lesson> parse_lesson(std::string_view text, std::string_view name);

/// Reads a shipped lesson by name, or a file by path. Errors as of parse_lesson() and find_asset().
Result<Lesson> load_lesson(std::string_view name_or_path);

/// A lesson of assets/lessons, or why its file is not one.
struct ShippedLesson {
  std::string name;
  Result<Lesson> lesson;
};
/// All of them, in the order in which they are learned.
std::vector<ShippedLesson> list_shipped_lessons();

}  // namespace attnscope::lessons
