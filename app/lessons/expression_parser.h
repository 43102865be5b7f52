/// The values and paths of expressions, and the tree that the parser builds from text.
#pragma once

#include <memory>
#include <optional>
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

/// One step of a path: a key of an object, or a choice among the elements of a list.
struct PathPart {
  std::string key;                                           ///< empty for an element of a list
  std::size_t index = 0;                                     ///< the index if `selects` is empty
  std::vector<std::pair<std::string, std::string>> selects;  ///< keys and values; "": key missing
};

struct Path {
  std::string run;  ///< name of a run of the lesson
  std::vector<PathPart> parts;
  std::string text;       ///< the path as written, including the run
  std::size_t begin = 0;  ///< its position in the expression
};

/// An operator or a function with its operands, a constant or a path.
struct ExpressionNode {
  std::string word;  ///< "+", "and", "min"; empty for a constant or a path
  std::vector<std::shared_ptr<const ExpressionNode>> operands;
  std::optional<Value> constant;
  std::optional<Path> path;  ///< a path; without parts, the run that is an argument
};

/// A function, how many operands it takes, and how many of these, from the left, are runs.
struct FunctionForm {
  std::string_view name;
  std::size_t operands;
  std::size_t runs;
};
inline constexpr FunctionForm kFunctions[] = {
    {"min", 2, 0},   {"max", 2, 0},    {"abs", 1, 0},  {"log2", 1, 0},
    {"visit", 2, 1}, {"launch", 2, 1}, {"tile", 2, 1}, {"first_difference", 2, 2}};

/// The tree of the text, or the one line that says what is wrong with it.
Result<std::shared_ptr<const ExpressionNode>> parse_expression(std::string_view text);

}  // namespace attnscope::lessons
