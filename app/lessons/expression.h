/// Expressions of a lesson over the results of its runs: "fa1.traffic.requested.write_bytes",
/// "fa1.flops.matmul / fa2.flops.matmul", "tile(fa2, visit(fa2, 1))".
///
///   or, and, not            of conditions
///   < <= > >= ==            of numbers; == also of strings in single quotes, and of tiles
///   + - * /                 of numbers
///   min(a, b) max(a, b) abs(a) log2(a)
///   visit(run, n)           step at which the run's head starts to compute its n-th tile of scores
///   launch(run, n)          the first step of the run's n-th launch, from 0
///   tile(run, step)         the tile of scores that the operation at this step works on
///   first_difference(a, b)  first step whose result differs between two runs of one schedule
///   run.key.key             a value in the JSON of a run; [n] or [key=value,key=value] after a
///   list
///                           selects an element, and "key=" one without that key (run_values.h)
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "app/lessons/expression_parser.h"

namespace attnscope::lessons {

/// The kind of a value: "a number", "a condition", "a string", "a tile".
std::string_view kind_words(const Value& value);

/// The values of the names in an expression. Errors: invalid_request for a name that does not
/// exist; unavailable, with the reason, for a value that this GPU or problem does not have.
class ValueSource {
 public:
  virtual ~ValueSource() = default;
  virtual Result<Value> value(const Path& path) = 0;
  virtual Result<Index> visit(const std::string& run, Index n) = 0;
  virtual Result<Index> launch(const std::string& run, Index n) = 0;
  virtual Result<TilePlace> tile(const std::string& run, Index step) = 0;
  virtual Result<Index> first_difference(const std::string& a, const std::string& b) = 0;
};

class Expression {
 public:
  /// Parses the text; invalid_request, in one line, if it is not an expression.
  static Result<Expression> parse(std::string_view text);

  const std::string& text() const { return text_; }
  /// Every path in the expression, in order.
  std::vector<Path> paths() const;
  /// Every run that the expression names, in a path or as a function's argument.
  std::vector<std::string> runs() const;
  /// The expression's value. Errors as in ValueSource; invalid_request for an operand of the wrong
  /// kind.
  Result<Value> evaluate(ValueSource& source) const;
  /// The same for an expression that must be a number; unavailable unless it is finite.
  Result<double> number(ValueSource& source) const;
  /// The same for an expression that must be a condition.
  Result<bool> condition(ValueSource& source) const;
  /// The unit of a number, by the names in its paths: "bytes", "bytes on chip" (SRAM, registers,
  /// L2), "s", "FLOP", "Hz", "bytes/s", "FLOP/s", "/s"; empty for counts and ratios.
  std::string unit() const;

 private:
  std::string text_;
  std::shared_ptr<const ExpressionNode> root_;
};

}  // namespace attnscope::lessons
