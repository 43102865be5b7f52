#include "app/lessons/lesson_runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>

#include "app/documents/scene_run.h"
#include "app/report/report_text.h"
#include "reference/field_rules.h"
#include "reference/message_text.h"

namespace attnscope::lessons {

namespace {

bool is_choice_of_schedule(const RunField& field) {
  return field.key == "algorithm" || field.key == "pass";
}

/// The run with the fields set, in the table's order. A new algorithm or pass first drops the
/// fields that it does not have; every field that is then set must apply to it.
Result<RunSpec> with_fields(const RunSpec& base, const std::vector<FieldValueText>& set) {
  RunSpec spec = base;
  for (const bool schedule : {true, false}) {
    for (const RunField& field : run_fields()) {
      if (is_choice_of_schedule(field) != schedule) continue;
      const auto given = std::ranges::find(set, &field, &FieldValueText::field);
      if (given == set.end()) continue;
      if (auto error = set_field(field, given->text, spec)) return *error;
    }
    if (schedule) spec = with_consequences(base, std::move(spec));
  }
  if (auto error = validate(spec)) return *error;
  return spec;
}

/// The run from which a recipe without `from` starts: values are rounded as in a kernel, as in
/// scenes.
Result<RunSpec> base_of(const RunRecipe& recipe) {
  if (!recipe.scene.empty()) return load_scene_run(recipe.scene);
  return RunSpec{.round_to_storage = true};
}

/// The recipe's fields; a field that was changed has its new value instead of the recipe's.
std::vector<FieldValueText> merged(std::vector<FieldValueText> set, const Changes& changes) {
  for (const FieldValueText& change : changes) {
    std::erase_if(set, [&](const FieldValueText& own) { return own.field == change.field; });
    set.push_back(change);
  }
  return set;
}

Error of_run(const RunRecipe& recipe, Error error) {
  error.message = fmt::format("{}: {}", recipe.name, error.message);
  return error;
}

}  // namespace

Result<LessonRuns> LessonRuns::create(const Lesson& lesson, Changes changes) {
  LessonRuns runs;
  runs.recipes_ = lesson.runs;
  if (auto error = runs.change(std::move(changes))) return *error;
  return runs;
}

std::optional<Error> LessonRuns::change(Changes changes) {
  std::map<std::string, RunSpec, std::less<>> specs;
  for (const RunRecipe& recipe : recipes_) {
    const bool is_first = recipe.from.empty();
    const auto base = is_first ? base_of(recipe) : Result<RunSpec>(specs.at(recipe.from));
    if (!base) return of_run(recipe, base.error());
    const auto set = is_first ? merged(recipe.set, changes) : recipe.set;
    auto spec = with_fields(base.value(), set);
    if (!spec) return of_run(recipe, spec.error());
    specs.emplace(recipe.name, std::move(spec).value());
  }
  specs_ = std::move(specs);
  changes_ = std::move(changes);
  return std::nullopt;
}

const RunSpec* LessonRuns::find(std::string_view run) const {
  const auto found = specs_.find(run);
  return found == specs_.end() ? nullptr : &found->second;
}

Result<RunValues*> LessonRuns::values_of(const std::string& run) {
  const RunSpec* spec = find(run);
  if (spec == nullptr) return invalid_request("'{}' is not a run of this lesson", printable(run));
  for (const auto& each : values_) {
    if (each->spec() == *spec) return each.get();
  }
  return values_.emplace_back(std::make_unique<RunValues>(*spec, session_)).get();
}

void LessonRuns::set_session(SessionRuns session) {
  if (session == session_) return;
  session_ = std::move(session);
  for (const auto& each : values_) each->set_session(session_);
}

Result<std::optional<Recording>> LessonRuns::measurement_of(const Path& path) {
  ATTNSCOPE_TRY(RunValues* const values, values_of(path.run));
  return values->measurement_of(path);
}

Result<Value> LessonRuns::value(const Path& path) {
  ATTNSCOPE_TRY(RunValues* const values, values_of(path.run));
  return values->value(path);
}

Result<Index> LessonRuns::visit(const std::string& run, Index n) {
  ATTNSCOPE_TRY(RunValues* const values, values_of(run));
  return values->visit(n);
}

Result<Index> LessonRuns::launch(const std::string& run, Index n) {
  ATTNSCOPE_TRY(RunValues* const values, values_of(run));
  return values->launch(n);
}

Result<TilePlace> LessonRuns::tile(const std::string& run, Index step) {
  ATTNSCOPE_TRY(RunValues* const values, values_of(run));
  return values->tile(step);
}

Result<Index> LessonRuns::first_difference(const std::string& a, const std::string& b) {
  ATTNSCOPE_TRY(RunValues* const values, values_of(a));
  ATTNSCOPE_TRY(RunValues* const others, values_of(b));
  return values->first_difference(*others);
}

Changes first_changes(const Lesson& lesson, const LessonRuns& runs,
                      const std::optional<std::string>& gpu_at_hand) {
  const RunField& field = run_field("gpu");
  const auto choice = std::ranges::find(lesson.choices, &field, &Vary::field);
  if (!gpu_at_hand || choice == lesson.choices.end()) return {};
  const bool is_own = std::ranges::all_of(lesson.runs, [&](const RunRecipe& run) {
    return field.print(*runs.find(run.name)) == *gpu_at_hand;
  });
  if (is_own) return {};
  return {{&field, *gpu_at_hand}};
}

Result<FieldValueText> parse_change(const Lesson& lesson, std::string_view option,
                                    std::string_view text) {
  std::vector<std::string> options;
  const RunField* field = nullptr;
  for (const Vary& choice : lesson.choices) {
    options.emplace_back(choice.field->option);
    if (choice.field->option == option) field = choice.field;
  }
  if (field == nullptr) {
    return invalid_request("'{}' is not a field that this lesson lets you change; {}",
                           printable(option), unknown_name_message("field", option, options));
  }
  RunSpec spec;
  if (auto error = set_field(*field, text, spec)) return *error;
  if (auto error = check_range(*field, spec)) return *error;
  return FieldValueText{field, std::string(text)};
}

namespace {

/// The time as text, with the micro sign of the panels; the command line's tables are in ASCII.
std::string time_text(double seconds) {
  std::string text = seconds_text(seconds);
  if (text.ends_with(" us")) text.replace(text.size() - 2, 1, "µ");
  return text;
}

}  // namespace

std::string value_text(const Value& value, const std::string& unit) {
  constexpr double kMostWhole = 9e15;
  if (const auto* tile = std::get_if<TilePlace>(&value)) {
    return fmt::format("tile ({}, {})", tile->i, tile->j);
  }
  if (const bool* holds = std::get_if<bool>(&value)) return *holds ? "yes" : "no";
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  const double number = std::get<double>(value);
  if (unit == "bytes") return bytes_text(number);
  if (unit == "bytes on chip" && std::abs(number) < kMostWhole) {
    return capacity_text(static_cast<Index>(number));
  }
  if (unit == "bytes/s") return bytes_text(number) + "/s";
  if (unit == "FLOP/s") return flops_text(number) + "/s";
  if (unit == "s") return time_text(number);
  if (unit == "/s" && number >= 1.0) {
    const double exponent = std::floor(std::log10(number));
    return fmt::format("{:.4g} × 10^{:.0f} per second", number / std::pow(10.0, exponent),
                       exponent);
  }
  if (unit == "FLOP") return flops_text(number);
  if (unit == "Hz") return clock_text(number);
  constexpr double kMostWritten = 1e6;  // larger numbers get a prefix
  if (std::abs(number) >= kMostWritten) {
    const auto [scaled, prefix] = with_si_prefix(number, 999.95);
    return fmt::format("{:.4g} {}{}", scaled, prefix, unit);
  }
  constexpr double kLeastWhole = 1e3;  // larger ratios are written without a fraction
  const bool is_count = number == std::round(number) || std::abs(number) >= kLeastWhole;
  return is_count ? fmt::format("{}{}", std::llround(number), unit)
                  : fmt::format("{:.4g}{}", number, unit);
}

Result<ShownText> text_of(const Text& text, ValueSource& source) {
  ShownText shown;
  for (const Text::Piece& piece : text.pieces) {
    shown.words += piece.text;
    if (!piece.value) continue;
    const auto value = piece.value->evaluate(source);
    if (value) {
      shown.words += value_text(value.value(), piece.value->unit());
    } else if (value.error().kind == Error::Kind::unavailable) {
      shown.words += "(unavailable)";
      if (!shown.unavailable) shown.unavailable = value.error();
    } else {
      return value.error();
    }
  }
  return shown;
}

Error in_lesson(const Lesson& lesson, std::string_view field, Error error) {
  error.message = fmt::format("{}: {}: {}", lesson.path, field, error.message);
  return error;
}

Error in_step(const Lesson& lesson, std::size_t step, std::string_view key, Error error) {
  return in_lesson(lesson, fmt::format("steps[{}]: {}", step, key), std::move(error));
}

std::string reason_sentence(const Error& unavailable, Reader reader) {
  std::string sentence = words(unavailable, reader) + ".";
  sentence[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(sentence[0])));
  return sentence;
}

}  // namespace attnscope::lessons
