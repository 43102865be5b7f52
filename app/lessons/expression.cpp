#include "app/lessons/expression.h"

#include <algorithm>
#include <cmath>
#include <functional>

namespace attnscope::lessons {

namespace {

using Node = ExpressionNode;

Error wrong_kind(const Node& node, std::string_view needed, const Value& value) {
  return invalid_request("'{}' needs {}, not {}", node.word, needed, kind_words(value));
}

Result<Value> evaluate_node(const Node& node, ValueSource& source);

template <typename Kind>
Result<Kind> operand(const Node& node, std::size_t n, ValueSource& source,
                     std::string_view needed) {
  ATTNSCOPE_TRY(const Value value, evaluate_node(*node.operands[n], source));
  if (const Kind* kind = std::get_if<Kind>(&value)) return *kind;
  return wrong_kind(node, needed, value);
}

Result<double> number(const Node& node, std::size_t n, ValueSource& source) {
  return operand<double>(node, n, source, "numbers");
}

/// Evaluates "and" and "or": always both sides, so that a wrong path is always found.
Result<Value> logic(const Node& node, ValueSource& source) {
  ATTNSCOPE_TRY(const bool left, operand<bool>(node, 0, source, "conditions"));
  if (node.word == "not") return Value(!left);
  ATTNSCOPE_TRY(const bool right, operand<bool>(node, 1, source, "conditions"));
  return Value(node.word == "and" ? left && right : left || right);
}

Result<Value> equality(const Node& node, ValueSource& source) {
  ATTNSCOPE_TRY(const Value left, evaluate_node(*node.operands[0], source));
  ATTNSCOPE_TRY(const Value right, evaluate_node(*node.operands[1], source));
  if (left.index() == right.index()) return Value(left == right);
  return invalid_request("'==' compares {} with {}", kind_words(left), kind_words(right));
}

Result<Value> arithmetic(const Node& node, ValueSource& source) {
  ATTNSCOPE_TRY(const double a, number(node, 0, source));
  if (node.word == "abs") return Value(std::abs(a));
  if (node.word == "log2") return Value(std::log2(a));
  ATTNSCOPE_TRY(const double b, number(node, 1, source));
  if (node.word == "+") return Value(a + b);
  if (node.word == "-") return Value(a - b);
  if (node.word == "*") return Value(a * b);
  if (node.word == "/") return Value(a / b);
  if (node.word == "<") return Value(a < b);
  if (node.word == "<=") return Value(a <= b);
  if (node.word == ">") return Value(a > b);
  if (node.word == ">=") return Value(a >= b);
  return Value(node.word == "min" ? std::min(a, b) : std::max(a, b));
}

/// The value of operand `n`, which must be a whole number: a count or a step.
Result<Index> whole(const Node& node, std::size_t n, ValueSource& source) {
  ATTNSCOPE_TRY(const double value, number(node, n, source));
  constexpr double kMost = 9e15;
  if (value == std::floor(value) && std::abs(value) < kMost) return static_cast<Index>(value);
  return invalid_request("{} needs a whole number, not {:g}", node.word, value);
}

Result<Value> run_function(const Node& node, ValueSource& source) {
  const std::string& run = node.operands[0]->path->run;
  if (node.word == "first_difference") {
    ATTNSCOPE_TRY(const Index step, source.first_difference(run, node.operands[1]->path->run));
    return Value(static_cast<double>(step));
  }
  ATTNSCOPE_TRY(const Index n, whole(node, 1, source));
  if (node.word == "visit" || node.word == "launch") {
    ATTNSCOPE_TRY(const Index step,
                  node.word == "visit" ? source.visit(run, n) : source.launch(run, n));
    return Value(static_cast<double>(step));
  }
  ATTNSCOPE_TRY(const TilePlace tile, source.tile(run, n));
  return Value(tile);
}

Result<Value> evaluate_node(const Node& node, ValueSource& source) {
  if (node.constant) return *node.constant;
  if (node.path) return source.value(*node.path);
  if (node.word == "and" || node.word == "or" || node.word == "not") return logic(node, source);
  if (node.word == "==") return equality(node, source);
  const auto* form = std::ranges::find(kFunctions, node.word, &FunctionForm::name);
  const bool takes_runs = form != std::end(kFunctions) && form->runs > 0;
  return takes_runs ? run_function(node, source) : arithmetic(node, source);
}

void visit_paths(const Node& node, const std::function<void(const Path&)>& visit) {
  if (node.path) visit(*node.path);
  for (const auto& each : node.operands) visit_paths(*each, visit);
}

/// The unit of a path's value, derived from the last key: keys of the JSON name their units.
std::string unit_of_path(const Path& path) {
  std::string last, before;
  bool of_time = false;
  for (const PathPart& part : path.parts) {
    const auto time = std::pair<std::string, std::string>("quantity", "time");
    of_time = of_time || std::ranges::find(part.selects, time) != part.selects.end();
    if (part.key.empty()) continue;
    before = std::exchange(last, part.key);
  }
  for (const char* on_chip : {"l2_bytes", "shared_bytes", "sram_bytes", "register_bytes"}) {
    if (last.find(on_chip) != last.npos) return "bytes on chip";
  }
  if (last.ends_with("_bytes")) return "bytes";
  if (last == "dram_bytes_per_s") return "bytes/s";
  if (last.ends_with("flops_per_s") || before == "matrix_flops_per_s") return "FLOP/s";
  if (last == "exponentials_per_s") return "/s";
  if (last.ends_with("_s") || before == "parts") return "s";
  if (last.ends_with("_hz")) return "Hz";
  if (last == "matmul" || last == "non_matmul") return "FLOP";
  if (last == "modelled" || last == "recorded") return of_time ? "s" : "bytes";
  return "";
}

std::string unit_of(const Node& node) {
  if (node.path) return unit_of_path(*node.path);
  const bool keeps = node.word == "+" || node.word == "-" || node.word == "min" ||
                     node.word == "max" || node.word == "abs";
  if (!keeps && node.word != "*" && node.word != "/") return "";
  std::string unit;
  for (const auto& each : node.operands) {
    const std::string own = unit_of(*each);
    const bool divides = node.word == "/" && each == node.operands[1];
    if (divides && own == unit + "/s") return "s";
    if (divides && !own.empty()) return "";
    if (node.word == "*" && !own.empty() && !unit.empty()) return "";
    if (!own.empty()) unit = own;
  }
  return unit;
}

}  // namespace

std::string_view kind_words(const Value& value) {
  constexpr std::string_view kWords[] = {"a number", "a condition", "a string", "a tile"};
  return kWords[value.index()];
}

Result<Expression> Expression::parse(std::string_view text) {
  ATTNSCOPE_TRY(auto root, parse_expression(text));
  Expression expression;
  expression.text_ = text;
  expression.root_ = std::move(root);
  return expression;
}

std::vector<Path> Expression::paths() const {
  std::vector<Path> paths;
  visit_paths(*root_, [&](const Path& path) {
    if (!path.parts.empty()) paths.push_back(path);
  });
  return paths;
}

std::vector<std::string> Expression::runs() const {
  std::vector<std::string> runs;
  visit_paths(*root_, [&](const Path& path) {
    if (std::ranges::find(runs, path.run) == runs.end()) runs.push_back(path.run);
  });
  return runs;
}

Result<Value> Expression::evaluate(ValueSource& source) const {
  return evaluate_node(*root_, source);
}

Result<double> Expression::number(ValueSource& source) const {
  ATTNSCOPE_TRY(const Value value, evaluate(source));
  const double* number = std::get_if<double>(&value);
  if (number == nullptr)
    return invalid_request("'{}' is {}, not a number", text_, kind_words(value));
  if (!std::isfinite(*number)) return unavailable("'{}' is not finite", text_);
  return *number;
}

Result<bool> Expression::condition(ValueSource& source) const {
  ATTNSCOPE_TRY(const Value value, evaluate(source));
  if (const bool* holds = std::get_if<bool>(&value)) return *holds;
  return invalid_request("'{}' is {}, not a condition", text_, kind_words(value));
}

std::string Expression::unit() const {
  return unit_of(*root_);
}

}  // namespace attnscope::lessons
