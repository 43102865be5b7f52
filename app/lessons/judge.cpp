#include "app/lessons/judge.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <cmath>

#include "kernels/recording/recording.h"
#include "reference/message_text.h"
#include "reference/parse_number.h"

namespace attnscope::lessons {

namespace {

/// Restores the runs' changes after those of a curve, on every exit from the scope.
class RestoreChanges {
 public:
  explicit RestoreChanges(LessonRuns& runs) : runs_(runs), before_(runs.changes()) {}
  RestoreChanges(const RestoreChanges&) = delete;
  RestoreChanges& operator=(const RestoreChanges&) = delete;
  ~RestoreChanges() { runs_.change(before_); }
  const Changes& before() const { return before_; }

 private:
  LessonRuns& runs_;
  Changes before_;
};

/// Calls `visit` at each of the curve's values, set in the runs; stops at an error.
template <typename Visit>
std::optional<Error> at_each_value(const CurveQuestion& curve, LessonRuns& runs,
                                   const Visit& visit) {
  const RestoreChanges restore(runs);
  for (const std::string& value : curve.values) {
    Changes changes = restore.before();
    std::erase_if(changes, [&](const auto& change) { return change.field == curve.over; });
    changes.push_back({curve.over, value});
    if (auto error = runs.change(std::move(changes))) return error;
    if (std::optional<Error> error = visit()) return error;
  }
  return std::nullopt;
}

Result<Answer> curve_of(const CurveQuestion& curve, const Expression& expression,
                        LessonRuns& runs) {
  std::vector<double> numbers;
  auto error = at_each_value(curve, runs, [&]() -> std::optional<Error> {
    ATTNSCOPE_TRY(numbers.emplace_back(), expression.number(runs));
    return std::nullopt;
  });
  if (error) return *std::move(error);
  return Answer(std::move(numbers));
}

Result<Answer> choice_of(const ChoiceQuestion& choice, LessonRuns& runs) {
  std::vector<std::size_t> right;
  for (std::size_t n = 0; n < choice.options.size(); ++n) {
    ATTNSCOPE_TRY(const bool holds, choice.options[n].when.condition(runs));
    if (holds) right.push_back(n);
  }
  if (right.size() == 1) return Answer(Chosen{right.front()});
  if (right.empty()) return invalid_request("no option is right");
  return invalid_request("options '{}' and '{}' are both right",
                         printable(choice.options[right[0]].text),
                         printable(choice.options[right[1]].text));
}

Result<Answer> tile_of(const Expression& expression, LessonRuns& runs) {
  ATTNSCOPE_TRY(const Value value, expression.evaluate(runs));
  if (const auto* tile = std::get_if<TilePlace>(&value)) return Answer(*tile);
  return invalid_request("'{}' is {}, not a tile", expression.text(), kind_words(value));
}

bool is_within(double answer, double truth, double factor) {
  if (answer == truth) return true;
  const double ratio = answer / truth;
  const double slack = 1.0 + 1e-9;  // accepts a typed number exactly on the limit
  return ratio <= factor * slack && ratio * factor * slack >= 1.0;
}

/// How far a wrong number is from that of a mistake: the absolute logarithm of their ratio. 1 for
/// answers that are not numbers, or if the mistake's number is 0.
double distance(const Answer& answer, const Answer& mistake) {
  const double* a = std::get_if<double>(&answer);
  const double* b = std::get_if<double>(&mistake);
  return a == nullptr || b == nullptr || *b == 0.0 ? 1.0 : std::abs(std::log(*a / *b));
}

Error not_an_answer(std::string_view text, std::string_view accepted) {
  Error error = invalid_request("'{}' is not an answer; use {}", printable(text), accepted);
  error.code = ErrorCode::not_understood;
  return error;
}

std::string_view trimmed(std::string_view text) {
  const auto is_space = [](char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; };
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

/// The factor of the SI prefix of a unit: "GB", "µs", "us", "G"; nothing for other words.
std::optional<double> unit_factor(std::string_view word, const std::string& unit) {
  const bool is_bytes = unit.starts_with("bytes");
  if (is_bytes && (word == "bytes" || word == "byte")) return 1.0;
  if (is_bytes && word.ends_with("B")) word.remove_suffix(1);
  if (unit == "s" && word.ends_with("s")) word.remove_suffix(1);
  if (unit == "FLOP" && word.ends_with("FLOP")) word.remove_suffix(4);
  if (unit == "Hz" && word.ends_with("Hz")) word.remove_suffix(2);
  if (word.empty()) return 1.0;
  constexpr std::pair<std::string_view, double> kPrefixes[] = {
      {"n", 1e-9}, {"u", 1e-6},    {"µ", 1e-6},       {"m", 1e-3},         {"k", 1e3},
      {"K", 1e3},  {"M", 1e6},     {"G", 1e9},        {"T", 1e12},         {"P", 1e15},
      {"%", 1e-2}, {"Ki", 1024.0}, {"Mi", 1048576.0}, {"Gi", 1073741824.0}};
  const auto* prefix =
      std::ranges::find(kPrefixes, word, &std::pair<std::string_view, double>::first);
  return prefix == std::end(kPrefixes) ? std::nullopt : std::optional(prefix->second);
}

std::optional<double> parse_quantity(std::string_view text, const std::string& unit) {
  text = trimmed(text);
  std::size_t end = text.size();
  while (end > 0) {
    const auto number = parse_number<double>(trimmed(text.substr(0, end)));
    if (number && std::isfinite(*number)) {
      const auto factor = unit_factor(trimmed(text.substr(end)), unit);
      if (factor) return *number * *factor;
    }
    --end;
  }
  return std::nullopt;
}

std::string_view example_of(const std::string& unit) {
  if (unit.starts_with("bytes")) return "a number of bytes, such as 4.4 GB or 3e9";
  if (unit == "s") return "a time, such as 12 µs or 0.5 ms";
  if (unit == "FLOP") return "a number of operations, such as 68 GFLOP";
  return "a number";
}

}  // namespace

const std::vector<Mistake>& mistakes_of(const Question& question) {
  static const std::vector<Mistake> none;
  if (const auto* number = std::get_if<NumberQuestion>(&question.kind)) return number->mistakes;
  if (const auto* tile = std::get_if<TileQuestion>(&question.kind)) return tile->mistakes;
  if (const auto* curve = std::get_if<CurveQuestion>(&question.kind)) return curve->mistakes;
  return none;
}

namespace {

/// The paths that the computed answer uses.
std::vector<Path> paths_of(const Question& question) {
  std::vector<Path> paths;
  const auto add = [&](const Expression& expression) {
    for (Path& path : expression.paths()) paths.push_back(std::move(path));
  };
  if (const auto* choice = std::get_if<ChoiceQuestion>(&question.kind)) {
    for (const auto& option : choice->options) add(option.when);
  } else if (const auto* number = std::get_if<NumberQuestion>(&question.kind)) {
    add(number->answer);
  } else if (const auto* curve = std::get_if<CurveQuestion>(&question.kind)) {
    add(curve->answer);
  }
  return paths;
}

}  // namespace

Basis basis_of(const Question& question, LessonRuns& runs) {
  const std::vector<Path> paths = paths_of(question);
  Basis basis;
  bool is_recorded = false;
  const auto visit = [&]() -> std::optional<Error> {
    for (const Path& path : paths) {
      if (!is_measured(path)) continue;
      const auto measurement = runs.measurement_of(path);
      if (!measurement) continue;
      const auto& recording = measurement.value();
      is_recorded |= !recording;
      const auto is_same = [&](const Recording& other) {
        return same_run(other.rows.front(), recording->rows.front());
      };
      if (recording && std::ranges::none_of(basis.measured, is_same)) {
        basis.measured.push_back(*recording);
      }
    }
    return std::nullopt;
  };
  if (const auto* curve = std::get_if<CurveQuestion>(&question.kind)) {
    at_each_value(*curve, runs, visit);
  } else {
    visit();
  }
  const auto is_of_gpu = [](const Path& path) { return path.parts.front().key == "gpu"; };
  const auto is_modelled = [&](const Path& path) {
    return !is_measured(path) && !is_of_gpu(path) && path.parts.front().key != "problem";
  };
  std::vector<std::string_view> kinds;
  if (!basis.measured.empty()) kinds.emplace_back("measured");
  if (is_recorded) kinds.emplace_back("recorded");
  if (std::ranges::any_of(paths, is_modelled)) kinds.emplace_back("modelled");
  const bool is_datasheet = !paths.empty() && std::ranges::all_of(paths, is_of_gpu);
  if (kinds.empty()) kinds.emplace_back(is_datasheet ? "datasheet" : "modelled");
  basis.kind = fmt::format("{}", fmt::join(kinds, " and "));
  return basis;
}

bool uses_measurements(const Step& step) {
  for (const Text* text : {&step.say, &step.then}) {
    for (const Text::Piece& piece : text->pieces) {
      if (piece.value && std::ranges::any_of(piece.value->paths(), is_measured)) return true;
    }
  }
  return step.ask && std::ranges::any_of(paths_of(*step.ask), is_measured);
}

Result<Answer> truth_of(const Question& question, LessonRuns& runs) {
  if (const auto* choice = std::get_if<ChoiceQuestion>(&question.kind)) {
    return choice_of(*choice, runs);
  }
  if (const auto* number = std::get_if<NumberQuestion>(&question.kind)) {
    return answer_by(question, number->answer, runs);
  }
  if (const auto* tile = std::get_if<TileQuestion>(&question.kind)) {
    return answer_by(question, tile->answer, runs);
  }
  return answer_by(question, std::get<CurveQuestion>(question.kind).answer, runs);
}

Result<Answer> answer_by(const Question& question, const Expression& expression, LessonRuns& runs) {
  if (std::holds_alternative<NumberQuestion>(question.kind)) {
    ATTNSCOPE_TRY(const double number, expression.number(runs));
    return Answer(number);
  }
  if (std::holds_alternative<TileQuestion>(question.kind)) return tile_of(expression, runs);
  return curve_of(std::get<CurveQuestion>(question.kind), expression, runs);
}

bool is_right(const Question& question, const Answer& answer, const Answer& truth) {
  if (answer.index() != truth.index()) return false;
  if (const auto* number = std::get_if<NumberQuestion>(&question.kind)) {
    return is_within(std::get<double>(answer), std::get<double>(truth), number->within);
  }
  if (const auto* curve = std::get_if<CurveQuestion>(&question.kind)) {
    const auto near = [&](double a, double b) { return is_within(a, b, curve->within); };
    return std::ranges::equal(std::get<std::vector<double>>(answer),
                              std::get<std::vector<double>>(truth), near);
  }
  return answer == truth;
}

Result<Verdict> judge(const Question& question, const Answer& answer, LessonRuns& runs) {
  ATTNSCOPE_TRY(const Answer truth, truth_of(question, runs));
  if (answer.index() != truth.index()) return invalid_request("the answer is of the wrong kind");
  Verdict verdict{.truth = truth};
  if (is_right(question, answer, truth)) {
    verdict.kind = Verdict::Kind::right;
    return verdict;
  }
  if (const auto* choice = std::get_if<ChoiceQuestion>(&question.kind)) {
    const std::size_t option = std::get<Chosen>(answer).option;
    if (option >= choice->options.size()) return invalid_request("there is no such option");
    verdict.why = choice->options[option].why;
  }
  // The nearest of several mistakes that fit
  double nearest = INFINITY;
  for (const Mistake& mistake : mistakes_of(question)) {
    const auto leads_to = answer_by(question, mistake.is, runs);
    if (!leads_to || !is_right(question, answer, leads_to.value())) continue;
    const double away = distance(answer, leads_to.value());
    if (away >= nearest) continue;
    nearest = away;
    verdict.why = mistake.why;
  }
  if (!verdict.why.empty()) verdict.kind = Verdict::Kind::mistake;
  return verdict;
}

Result<Answer> parse_answer(const Question& question, std::string_view text) {
  const std::string_view word = trimmed(text);
  if (const auto* choice = std::get_if<ChoiceQuestion>(&question.kind)) {
    const std::size_t count = choice->options.size();
    const auto letter = static_cast<std::size_t>(
        word.size() == 1 ? std::tolower(static_cast<unsigned char>(word[0])) - 'a' : 255);
    if (letter < count) return Answer(Chosen{letter});
    return not_an_answer(text, fmt::format("a letter from a to {}", letter_of(count - 1)));
  }
  if (std::holds_alternative<TileQuestion>(question.kind)) {
    const std::size_t comma = word.find(word.find(',') == word.npos ? ' ' : ',');
    const auto i = parse_number<Index>(trimmed(word.substr(0, comma)));
    const auto j =
        comma == word.npos ? std::nullopt : parse_number<Index>(trimmed(word.substr(comma + 1)));
    if (i && j) return Answer(TilePlace{*i, *j});
    return not_an_answer(text, "row and column of a tile, such as 1, 2");
  }
  if (const auto* curve = std::get_if<CurveQuestion>(&question.kind)) {
    std::vector<double> numbers;
    for (std::string_view rest = word;;) {
      const std::size_t comma = rest.find(',');
      const auto number = parse_quantity(rest.substr(0, comma), question.unit);
      if (!number) break;
      numbers.push_back(*number);
      if (comma == rest.npos) break;
      rest.remove_prefix(comma + 1);
    }
    if (numbers.size() == curve->values.size()) return Answer(std::move(numbers));
    return not_an_answer(text, fmt::format("{} numbers, separated by commas, each {}",
                                           curve->values.size(), example_of(question.unit)));
  }
  const auto number = parse_quantity(word, question.unit);
  if (number) return Answer(*number);
  return not_an_answer(text, example_of(question.unit));
}

std::string answer_text(const Question& question, const Answer& answer) {
  if (const auto* chosen = std::get_if<Chosen>(&answer)) {
    const auto* choice = std::get_if<ChoiceQuestion>(&question.kind);
    const bool is_known = choice != nullptr && chosen->option < choice->options.size();
    return fmt::format("{}) {}", letter_of(chosen->option),
                       is_known ? choice->options[chosen->option].text : "");
  }
  if (const auto* tile = std::get_if<TilePlace>(&answer)) return value_text(*tile, "");
  if (const double* number = std::get_if<double>(&answer)) {
    return value_text(*number, question.unit);
  }
  std::vector<std::string> texts;
  for (const double number : std::get<std::vector<double>>(answer)) {
    texts.push_back(value_text(number, question.unit));
  }
  return fmt::format("{}", fmt::join(texts, ", "));
}

}  // namespace attnscope::lessons
