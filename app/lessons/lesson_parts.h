/// The parts of a lesson (lesson.h): runs, fields that a student may change, and steps.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "app/lessons/expression.h"
#include "reference/run_fields.h"

namespace attnscope::lessons {

/// A value of a field, as text that set_field() accepts.
struct FieldValueText {
  const RunField* field = nullptr;
  std::string text;
};

/// A run: that of a scene, or another run of the lesson, with fields set.
struct RunRecipe {
  std::string name;   ///< the run's name in expressions
  std::string scene;  ///< name or path; empty: the default run
  std::string from;   ///< an earlier run of the lesson; empty: none
  std::vector<FieldValueText> set;
};

/// A field that a student may change, and values for which the lesson is checked. The value
/// replaces that of every run without `from`, and reaches the other runs through `from`.
struct Vary {
  const RunField* field = nullptr;
  std::vector<std::string> values;
};

/// Text with the results of expressions in braces: "{fa1.flops.matmul} instead of ...".
struct Text {
  struct Piece {
    std::string text;
    std::optional<Expression> value = {};  ///< the value shown after the text
  };
  std::vector<Piece> pieces;
  bool empty() const { return pieces.empty(); }
};

/// What the screen shows beside a step.
struct Show {
  std::string run;                  ///< the run to show; empty: as before
  std::string reveal;               ///< the run once the question is answered; empty: the same
  std::string beside;               ///< a second run to its right, at the same place; empty: none
  std::vector<std::string> panels;  ///< names of kPanelNames
  /// Tensors, everywhere ("S"), or lines of the ledger ("S written", "DRAM read").
  std::vector<std::string> highlights;
  std::vector<std::string> hidden;  ///< parts of panels to hide, by names of kPartNames
  std::optional<Expression> start;  ///< the playhead's step before the answer; none: as before
  std::optional<Expression> step;   ///< the playhead's step once the answer is shown
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

/// A choice among options; the right one is the one whose condition holds.
struct ChoiceQuestion {
  struct Option {
    std::string text;
    Expression when;
    std::string why;  ///< shown to a student who wrongly chooses it; may be empty
  };
  std::vector<Option> options;
};

/// A click on a tile of scores.
struct TileQuestion {
  Expression answer;
  std::vector<Mistake> mistakes;
};

/// A curve over a field: the answer at each of its values, set as in Vary. A curve is right when
/// every number is off by at most the factor `within`.
struct CurveQuestion {
  const RunField* over = nullptr;
  std::vector<std::string> values;  ///< at least two
  Expression answer;
  double within = 1.5;
  std::vector<Mistake> mistakes;
};

struct Question {
  std::string text;
  std::variant<NumberQuestion, ChoiceQuestion, TileQuestion, CurveQuestion> kind;
  /// Another way to compute the answer, which check_lesson() compares with it; choices have none.
  std::optional<Expression> agrees;
  /// The unit of a number or of a curve's numbers: "bytes", "s"; empty for counts and ratios.
  std::string unit;
};

struct Step {
  Text say;   ///< text before the answer
  Text then;  ///< text after the answer; may be empty
  Show show;
  std::optional<Question> ask;
};

}  // namespace attnscope::lessons
