#include "app/lessons/lesson_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>

#include "reference/field_rules.h"
#include "reference/message_text.h"
#include "sim/device/assets.h"

namespace attnscope::lessons {

using nlohmann::json;

namespace {

/// The JSON value of a field, as text that set_field() accepts.
std::string value_text(const json& value, const std::string& path) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean()) return value.get<bool>() ? "true" : "";
  if (value.is_number()) return value.dump();
  throw JsonFieldError("{}: a value must be a string, a number, true or false", path);
}

/// Rejects text that the field cannot parse or that is outside its range.
std::string checked_text(const RunField& field, std::string text, const std::string& path) {
  RunSpec spec;
  auto error = set_field(field, text, spec);
  if (!error) error = check_range(field, spec);
  if (error) throw JsonFieldError("{}: {}", path, words(*error, Reader::command_line));
  return text;
}

bool is_run_name(std::string_view name) {
  const auto is_part = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
  };
  const bool is_word =
      name == "and" || name == "or" || name == "not" || name == "true" || name == "false";
  return !name.empty() && std::isdigit(static_cast<unsigned char>(name[0])) == 0 &&
         std::ranges::all_of(name, is_part) && !is_word;
}

Expression checked_expression(std::string_view text, const std::string& path,
                              const std::vector<RunRecipe>& runs) {
  auto expression = Expression::parse(text);
  if (!expression) throw JsonFieldError("{}: {}", path, expression.error().message);
  std::vector<std::string> names;
  for (const RunRecipe& run : runs) names.push_back(run.name);
  for (const std::string& run : expression.value().runs()) {
    if (std::ranges::find(names, run) != names.end()) continue;
    throw JsonFieldError("{}: {}", path, unknown_name_message("run", run, names));
  }
  return std::move(expression).value();
}

double read_within(const JsonObject& object, double by_default) {
  const double within = object.number_or("within", by_default);
  constexpr double kMost = 10.0;
  if (within >= 1.0 && within <= kMost) return within;
  throw JsonFieldError("{}: {:g} is out of range; use a factor from 1 to {:g}",
                       object.path_of("within"), within, kMost);
}

std::vector<Mistake> read_mistakes(const JsonObject& object, const std::vector<RunRecipe>& runs) {
  std::vector<Mistake> mistakes;
  if (!object.has("mistakes")) return mistakes;
  const json& list = object.array("mistakes");
  for (std::size_t n = 0; n < list.size(); ++n) {
    const JsonObject mistake(list[n], fmt::format("{}[{}]", object.path_of("mistakes"), n));
    check_keys(mistake, {"is", "why"});
    if (!mistake.has("is")) {
      throw JsonFieldError("{}: 'why' without 'is'; give the prediction that it explains",
                           mistake.path());
    }
    mistakes.push_back({read_expression(mistake, "is", runs), mistake.string("why")});
  }
  return mistakes;
}

ChoiceQuestion read_choice(const JsonObject& object, const std::vector<RunRecipe>& runs) {
  ChoiceQuestion choice;
  const json& list = object.array("options");
  for (std::size_t n = 0; n < list.size(); ++n) {
    const JsonObject option(list[n], fmt::format("{}[{}]", object.path_of("options"), n));
    check_keys(option, {"text", "when", "why"});
    if (!option.has("when")) {
      throw JsonFieldError("{}: 'when' is missing; give the condition that makes this option right",
                           option.path());
    }
    choice.options.push_back({option.string("text"), read_expression(option, "when", runs),
                              option.string_or("why", "")});
  }
  if (choice.options.size() < 2) {
    throw JsonFieldError("{}: a choice needs two options or more", object.path_of("options"));
  }
  return choice;
}

CurveQuestion read_curve(const JsonObject& object, const std::vector<RunRecipe>& runs) {
  CurveQuestion curve{.over = &field_of_option(object.string("over"), object.path_of("over"))};
  curve.values = read_values(object, "values", *curve.over, 2);
  curve.answer = read_expression(object, "answer", runs);
  curve.within = read_within(object, curve.within);
  curve.mistakes = read_mistakes(object, runs);
  return curve;
}

/// The kinds of questions, by the key that holds the question's text.
constexpr std::string_view kQuestionKeys[] = {"number", "choice", "tile", "curve"};

std::string_view question_key(const JsonObject& object) {
  std::vector<std::string_view> given;
  for (const std::string_view key : kQuestionKeys) {
    if (object.has(key)) given.push_back(key);
  }
  if (given.size() == 1) return given.front();
  throw JsonFieldError("{}: a question needs one of {}, with its text; this one has {}",
                       object.path(), alternatives(kQuestionKeys),
                       given.empty() ? "none" : "more than one");
}

}  // namespace

void check_keys(const JsonObject& object, std::initializer_list<std::string_view> known) {
  const std::vector<std::string> names(known.begin(), known.end());
  for (const auto& [key, unused] : object.value().items()) {
    if (std::ranges::find(names, key) != names.end()) continue;
    const std::string_view at = object.path();
    throw JsonFieldError("{}{}{}", at, at.empty() ? "" : ": ",
                         unknown_name_message("field", key, names));
  }
}

const RunField& field_of_option(std::string_view option, const std::string& path) {
  std::vector<std::string> options;
  for (const RunField& field : run_fields()) {
    if (field.option == option && !option.empty()) return field;
    if (!field.option.empty()) options.emplace_back(field.option);
  }
  const auto nearest = nearest_name(option, options);
  throw JsonFieldError("{}: '{}' is not a field of a run; {}see attnscope-cli guide", path,
                       printable(option),
                       nearest ? fmt::format("did you mean '{}'? ", *nearest) : "");
}

std::vector<std::string> read_values(const JsonObject& object, std::string_view key,
                                     const RunField& field, std::size_t least) {
  std::vector<std::string> values;
  for (const json& each : object.array(key)) {
    const std::string path = object.path_of(key);
    values.push_back(checked_text(field, value_text(each, path), path));
  }
  if (values.size() >= least) return values;
  throw JsonFieldError("{}: {} values; give {} or more", object.path_of(key), values.size(), least);
}

RunRecipe read_run(const JsonObject& object, const std::string& name) {
  if (!is_run_name(name)) {
    throw JsonFieldError("{}: use only letters, digits and '_' in the name of a run",
                         object.path());
  }
  check_keys(object, {"scene", "from", "set"});
  RunRecipe recipe{
      .name = name, .scene = object.string_or("scene", ""), .from = object.string_or("from", "")};
  if (!recipe.scene.empty() && !recipe.from.empty()) {
    throw JsonFieldError("{}: 'scene' and 'from' cannot be combined; give one of them",
                         object.path());
  }
  if (!recipe.scene.empty()) {
    const auto scene = find_asset("scenes", recipe.scene);
    if (!scene) {
      throw JsonFieldError("{}: {}", object.path_of("scene"),
                           words(scene.error(), Reader::command_line));
    }
  }
  if (!object.has("set")) return recipe;
  const JsonObject set = object.object("set");
  for (const auto& [option, value] : set.value().items()) {
    const std::string path = set.path_of(option);
    const RunField& field = field_of_option(option, path);
    recipe.set.push_back({&field, checked_text(field, value_text(value, path), path)});
  }
  return recipe;
}

Expression read_expression(const JsonObject& object, std::string_view key,
                           const std::vector<RunRecipe>& runs) {
  return checked_expression(object.string(key), object.path_of(key), runs);
}

Text read_text(const JsonObject& object, std::string_view key, const std::vector<RunRecipe>& runs) {
  const std::string whole = object.string(key);
  const std::string path = object.path_of(key);
  std::string_view rest = whole;
  Text text;
  while (!rest.empty()) {
    const std::size_t open = rest.find('{');
    Text::Piece& piece = text.pieces.emplace_back();
    piece.text = rest.substr(0, open);
    if (open == rest.npos) return text;
    const std::size_t close = rest.find('}', open);
    if (close == rest.npos) throw JsonFieldError("{}: '}}' is missing", path);
    piece.value = checked_expression(rest.substr(open + 1, close - open - 1), path, runs);
    rest.remove_prefix(close + 1);
  }
  return text;
}

namespace {

/// Rejects fields that a question of this kind does not have.
void check_question_keys(const JsonObject& object, std::string_view kind) {
  if (kind == "choice") return check_keys(object, {kind, "options"});
  if (kind == "tile") return check_keys(object, {kind, "answer", "agrees", "mistakes"});
  if (kind == "number") return check_keys(object, {kind, "answer", "agrees", "within", "mistakes"});
  check_keys(object, {kind, "over", "values", "answer", "agrees", "within", "mistakes"});
}

}  // namespace

Question read_question(const JsonObject& object, const std::vector<RunRecipe>& runs) {
  const std::string_view key = question_key(object);
  check_question_keys(object, key);
  Question question{.text = object.string(key)};
  if (key == "choice") {
    question.kind = read_choice(object, runs);
    return question;
  }
  if (!object.has("answer")) {
    throw JsonFieldError("{}: 'answer' is missing; give the expression that computes it",
                         object.path());
  }
  if (object.has("agrees")) question.agrees = read_expression(object, "agrees", runs);
  if (key == "tile") {
    question.kind =
        TileQuestion{read_expression(object, "answer", runs), read_mistakes(object, runs)};
  } else if (key == "number") {
    NumberQuestion number{.answer = read_expression(object, "answer", runs)};
    number.within = read_within(object, number.within);
    number.mistakes = read_mistakes(object, runs);
    question.unit = number.answer.unit();
    question.kind = std::move(number);
  } else {
    CurveQuestion curve = read_curve(object, runs);
    question.unit = curve.answer.unit();
    question.kind = std::move(curve);
  }
  return question;
}

}  // namespace attnscope::lessons
