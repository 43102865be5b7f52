#include "app/lessons/expression_parser.h"

#include <algorithm>
#include <cctype>

#include "reference/message_text.h"
#include "reference/parse_number.h"

namespace attnscope::lessons {

namespace {

using Node = ExpressionNode;
using NodePtr = std::shared_ptr<const Node>;

constexpr int kMostDepth = 100;

/// Thrown at the first mistake; parse_expression() turns it into an Error.
struct Mistaken {
  std::string message;
};

template <typename... Args>
[[noreturn]] void refuse(fmt::format_string<Args...> format, Args&&... args) {
  throw Mistaken{fmt::format(format, std::forward<Args>(args)...)};
}

bool begins_name(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_';
}
bool continues_name(char c) {
  return begins_name(c) || std::isdigit(static_cast<unsigned char>(c)) != 0;
}

/// A recursive-descent parser, with one function for each level of precedence.
class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  NodePtr whole() {
    NodePtr node = either();
    skip_space();
    if (at_ < text_.size()) refuse("'{}' is unexpected", printable(text_.substr(at_)));
    return node;
  }

 private:
  NodePtr either() {
    NodePtr left = both();
    while (take_word("or")) left = operation("or", {left, both()});
    return left;
  }

  NodePtr both() {
    NodePtr left = negation();
    while (take_word("and")) left = operation("and", {left, negation()});
    return left;
  }

  NodePtr negation() {
    if (!take_word("not")) return comparison();
    const Deeper deeper(*this);
    return operation("not", {negation()});
  }

  NodePtr comparison() {
    NodePtr left = sum();
    for (const char* word : {"<=", ">=", "==", "<", ">"}) {
      if (take(word)) return operation(word, {left, sum()});
    }
    return left;
  }

  NodePtr sum() {
    NodePtr left = product();
    while (true) {
      if (take("+")) {
        left = operation("+", {left, product()});
      } else if (take("-")) {
        left = operation("-", {left, product()});
      } else {
        return left;
      }
    }
  }

  NodePtr product() {
    NodePtr left = factor();
    while (true) {
      if (take("*")) {
        left = operation("*", {left, factor()});
      } else if (take("/")) {
        left = operation("/", {left, factor()});
      } else {
        return left;
      }
    }
  }

  NodePtr factor() {
    const Deeper deeper(*this);
    if (take("-")) return operation("-", {constant(0.0), factor()});
    if (take("(")) {
      NodePtr inner = either();
      expect(")");
      return inner;
    }
    skip_space();
    if (at_ == text_.size()) refuse("a value is missing at the end");
    const char next = text_[at_];
    if (next == '\'') return quoted();
    if (std::isdigit(static_cast<unsigned char>(next)) != 0) return digits();
    if (begins_name(next)) return named();
    refuse("'{}' is unexpected; use a number, a path or a function", printable(text_.substr(at_)));
  }

  NodePtr digits() {
    std::size_t end = at_;
    const auto is_part = [&](std::size_t k) {
      const char c = text_[k];
      const bool is_sign = (c == '+' || c == '-') && (text_[k - 1] == 'e' || text_[k - 1] == 'E');
      return std::isdigit(static_cast<unsigned char>(c)) != 0 || c == '.' || c == 'e' || c == 'E' ||
             is_sign;
    };
    while (end < text_.size() && is_part(end)) ++end;
    const std::string_view word = text_.substr(at_, end - at_);
    const auto number = parse_number<double>(word);
    if (!number) refuse("'{}' is not a number", printable(word));
    at_ = end;
    return constant(*number);
  }

  NodePtr quoted() {
    const std::size_t end = text_.find('\'', at_ + 1);
    if (end == text_.npos) refuse("the string after ' is not closed");
    std::string inner(text_.substr(at_ + 1, end - at_ - 1));
    at_ = end + 1;
    return constant(std::move(inner));
  }

  NodePtr named() {
    const std::size_t begin = at_;
    const std::string name = take_name();
    if (name == "true" || name == "false") return constant(name == "true");
    if (take("(")) return call(name);
    Path path{.run = name, .begin = begin};
    read_parts(path);
    path.text = text_.substr(begin, at_ - begin);
    if (path.parts.empty()) {
      refuse("'{0}' alone is not a value; use a path such as {0}.flops.matmul", name);
    }
    return leaf(std::move(path));
  }

  NodePtr call(const std::string& name) {
    const auto* form = std::ranges::find(kFunctions, name, &FunctionForm::name);
    if (form == std::end(kFunctions)) {
      std::vector<std::string> known;
      for (const FunctionForm& each : kFunctions) known.emplace_back(each.name);
      refuse("{}", unknown_name_message("function", name, known));
    }
    std::vector<NodePtr> operands;
    while (operands.size() < form->operands) {
      if (!operands.empty()) expect(",");
      operands.push_back(operands.size() < form->runs ? run_name(name) : either());
    }
    expect(")");
    return operation(name, std::move(operands));
  }

  NodePtr run_name(const std::string& function) {
    skip_space();
    if (at_ == text_.size() || !begins_name(text_[at_])) {
      refuse("{} takes the name of a run first", function);
    }
    const std::size_t begin = at_;
    const std::string name = take_name();
    return leaf({.run = name, .text = name, .begin = begin});
  }

  /// Adds any number of ".key" and "[...]" to the path.
  void read_parts(Path& path) {
    while (at_ < text_.size()) {
      if (text_[at_] == '.') {
        ++at_;
        if (at_ == text_.size() || !begins_name(text_[at_])) refuse("a key is missing after '.'");
        path.parts.push_back({.key = take_name()});
      } else if (text_[at_] == '[') {
        path.parts.push_back(element());
      } else {
        return;
      }
    }
  }

  /// Reads "[2]" or "[method=naive,dtype=fp16]".
  PathPart element() {
    const std::size_t end = text_.find(']', at_);
    if (end == text_.npos) refuse("']' is missing");
    std::string_view inner = text_.substr(at_ + 1, end - at_ - 1);
    at_ = end + 1;
    PathPart part;
    if (const auto index = parse_number<std::size_t>(inner)) {
      part.index = *index;
      return part;
    }
    while (true) {
      const std::string_view one = inner.substr(0, inner.find(','));
      const std::size_t equals = one.find('=');
      if (equals == one.npos || equals == 0) {
        refuse("'[{}]' selects nothing; use [2] or [key=value]", printable(one));
      }
      part.selects.emplace_back(one.substr(0, equals), one.substr(equals + 1));
      if (one.size() == inner.size()) return part;
      inner.remove_prefix(one.size() + 1);
    }
  }

  std::string take_name() {
    const std::size_t begin = at_;
    while (at_ < text_.size() && continues_name(text_[at_])) ++at_;
    return std::string(text_.substr(begin, at_ - begin));
  }

  void skip_space() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
  }

  bool take(std::string_view symbol) {
    skip_space();
    if (!text_.substr(at_).starts_with(symbol)) return false;
    at_ += symbol.size();
    return true;
  }

  bool take_word(std::string_view word) {
    skip_space();
    const std::size_t end = at_ + word.size();
    if (!text_.substr(at_).starts_with(word)) return false;
    if (end < text_.size() && continues_name(text_[end])) return false;
    at_ = end;
    return true;
  }

  void expect(std::string_view symbol) {
    if (take(symbol)) return;
    skip_space();
    if (at_ == text_.size()) refuse("'{}' is missing at the end", symbol);
    refuse("'{}' is missing before '{}'", symbol, printable(text_.substr(at_)));
  }

  static NodePtr operation(std::string word, std::vector<NodePtr> operands) {
    return std::make_shared<Node>(Node{.word = std::move(word), .operands = std::move(operands)});
  }
  static NodePtr constant(Value value) {
    return std::make_shared<Node>(Node{.constant = std::move(value)});
  }
  static NodePtr leaf(Path path) { return std::make_shared<Node>(Node{.path = std::move(path)}); }

  /// Counts the depth of nesting and limits it, so that no file can exhaust the stack.
  struct Deeper {
    explicit Deeper(Parser& parser) : parser_(parser) {
      if (++parser_.depth_ > kMostDepth)
        refuse("the expression is nested more than {} deep", kMostDepth);
    }
    Deeper(const Deeper&) = delete;
    Deeper& operator=(const Deeper&) = delete;
    ~Deeper() { --parser_.depth_; }
    Parser& parser_;
  };

  std::string_view text_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

Result<NodePtr> parse_expression(std::string_view text) {
  try {
    return Parser(text).whole();
  } catch (const Mistaken& mistaken) {
    return invalid_request("'{}': {}", printable(text), mistaken.message);
  }
}

}  // namespace attnscope::lessons
