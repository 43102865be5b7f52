/// Expressions of a lesson over the results of its runs: "fa1.traffic.requested.write_bytes",
/// "fa1.flops.matmul / fa2.flops.matmul", "tile(fa2, visit(fa2, 1))".
///
///   or, and, not            of conditions
///   < <= > >= ==            of numbers; == also of texts in single quotes, and of tiles
///   + - * /                 of numbers
///   min(a, b) max(a, b) abs(a) log2(a)
///   visit(run, n)           step at which the run's head starts to compute its n-th tile of scores
///   tile(run, step)         the tile of scores that the operation at this step works on
///   first_difference(a, b)  first step whose result differs between two runs of one schedule
///   run.key.key             a value in the JSON of a run; [n] or [key=value,key=value] after a
///   list
///                           selects an element, and "key=" one without that key (run_values.h)
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "reference/attention_problem.h"
#include "reference/result.h"

namespace attnscope::lessons {

/// A tile of scores: row tile i, column tile j.
struct TilePlace {
  Index i = 0, j = 0;
  bool operator==(const TilePlace&) const = default;
};

using Value = std::variant<double, bool, std::string, TilePlace>;

/// "a number", "a condition", "a text", "a tile".
std::string_view kind_words(const Value& value);

/// One step of a path: a key of an object, or a choice among the elements of a list.
struct PathPart {
  std::string key;                                           ///< empty for an element
  std::size_t index = 0;                                     ///< of an element without a selection
  std::vector<std::pair<std::string, std::string>> selects;  ///< key and value; "": has none
};

struct Path {
  std::string run;  ///< name of a run of the lesson
  std::vector<PathPart> parts;
  std::string text;       ///< as written, the run included
  std::size_t begin = 0;  ///< where it stands in the expression
};

/// What the names in an expression stand for. Errors: invalid_request for a name that does not
/// exist; unavailable, with the reason, for a value that this GPU or problem does not have.
class ValueSource {
 public:
  virtual ~ValueSource() = default;
  virtual Result<Value> value(const Path& path) = 0;
  virtual Result<Index> visit(const std::string& run, Index n) = 0;
  virtual Result<TilePlace> tile(const std::string& run, Index step) = 0;
  virtual Result<Index> first_difference(const std::string& a, const std::string& b) = 0;
};

class Expression {
 public:
  /// invalid_request with one line for a text that is not an expression.
  static Result<Expression> parse(std::string_view text);

  const std::string& text() const { return text_; }
  /// Every path in it, in order.
  std::vector<Path> paths() const;
  /// Every run that it names, in a path or as a function's argument.
  std::vector<std::string> runs() const;
  /// Errors as of ValueSource; invalid_request for an operand of the wrong kind.
  Result<Value> evaluate(ValueSource& source) const;
  /// The same for an expression that must be a number: finite, else unavailable.
  Result<double> number(ValueSource& source) const;
  /// The same for a condition.
  Result<bool> condition(ValueSource& source) const;
  /// The unit of a number, by the names in its paths: "bytes", "bytes on chip" (SRAM, registers,
  /// L2), "s", "FLOP", "Hz", "bytes/s", "FLOP/s", "/s"; empty for counts and ratios.
  std::string unit() const;

  struct Node;

 private:
  std::string text_;
  std::shared_ptr<const Node> root_;
};

}  // namespace attnscope::lessons
