/// The parsed form of an expression, shared by its parser and its evaluation.
#pragma once

#include <optional>

#include "app/lessons/expression.h"

namespace attnscope::lessons {

/// An operator or a function with its operands, a constant or a path.
struct Expression::Node {
  std::string word;  ///< "+", "and", "min"; empty for a constant or a path
  std::vector<std::shared_ptr<const Node>> operands;
  std::optional<Value> constant;
  std::optional<Path> path;  ///< without parts: a run as a function's argument
};

/// A function, how many operands it takes, and how many of these, from the left, are runs.
struct FunctionForm {
  std::string_view name;
  std::size_t operands;
  std::size_t runs;
};
inline constexpr FunctionForm kFunctions[] = {{"min", 2, 0},
                                              {"max", 2, 0},
                                              {"abs", 1, 0},
                                              {"log2", 1, 0},
                                              {"visit", 2, 1},
                                              {"tile", 2, 1},
                                              {"first_difference", 2, 2}};

/// The tree of the text, or the one line that says what is wrong with it.
Result<std::shared_ptr<const Expression::Node>> parse_expression(std::string_view text);

}  // namespace attnscope::lessons
