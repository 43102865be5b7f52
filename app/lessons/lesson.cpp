#include "app/lessons/lesson.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>

#include "app/lessons/lesson_fields.h"
#include "reference/field_rules.h"
#include "reference/fnv1a.h"
#include "reference/json/json_document.h"
#include "reference/message_text.h"
#include "sim/device/assets.h"
#include "sim/ops/tile_op.h"

namespace attnscope::lessons {

using nlohmann::json;

namespace {

constexpr std::string_view kLessonSchema = "attnscope.lesson";
constexpr int kVersion = 1;

/// Reads one part after another, and collects their mistakes.
class Mistakes {
 public:
  template <typename Read>
  void collect(const Read& read) {
    try {
      read();
    } catch (const JsonFieldError& error) {
      lines_.emplace_back(error.what());
    }
  }
  std::vector<std::string> take() { return std::move(lines_); }

 private:
  std::vector<std::string> lines_;
};

/// A run that cannot be read keeps its name, so that steps may refer to it.
std::vector<RunRecipe> read_runs(const JsonObject& root, Mistakes& mistakes) {
  const JsonObject runs = root.object("runs");
  std::vector<RunRecipe> recipes;
  // A JSON object has no order: a run follows the one that it is derived from
  const auto is_read = [&](const std::string& name) {
    return std::ranges::find(recipes, name, &RunRecipe::name) != recipes.end();
  };
  for (bool found = true; found;) {
    found = false;
    for (const auto& item : runs.value().items()) {
      const std::string& name = item.key();
      if (is_read(name)) continue;
      RunRecipe recipe{.name = name};
      bool is_next = true;
      mistakes.collect([&] {
        const JsonObject object = runs.object(name);
        const std::string from = object.string_or("from", "");
        is_next = from.empty() || is_read(from);
        if (is_next) recipe = read_run(object, name);
      });
      if (!is_next) continue;
      recipes.push_back(std::move(recipe));
      found = true;
    }
  }
  for (const auto& item : runs.value().items()) {
    const std::string& name = item.key();
    if (is_read(name)) continue;
    mistakes.collect([&] {
      throw JsonFieldError(
          "{}: from: '{}' is not a run of this lesson, or is derived from this one",
          runs.path_of(name), printable(runs.object(name).string("from")));
    });
    recipes.push_back({.name = name});
  }
  if (recipes.empty()) throw JsonFieldError("runs: no run is given; a lesson needs at least one");
  return recipes;
}

std::vector<Vary> read_vary(const JsonObject& root, Mistakes& mistakes) {
  std::vector<Vary> all;
  if (!root.has("vary")) return all;
  const JsonObject vary = root.object("vary");
  for (const auto& item : vary.value().items()) {
    mistakes.collect([&] {
      const RunField& field = field_of_option(item.key(), vary.path_of(item.key()));
      all.push_back({&field, read_values(vary, item.key(), field, 1)});
    });
  }
  return all;
}

std::vector<Vary> choices_of(const Lesson& lesson) {
  std::vector<Vary> choices = lesson.vary;
  const RunField& gpu = run_field("gpu");
  const auto sets_gpu = [&](const RunRecipe& run) {
    return std::ranges::find(run.set, &gpu, &FieldValueText::field) != run.set.end();
  };
  const bool is_fixed = std::ranges::find(choices, &gpu, &Vary::field) != choices.end() ||
                        std::ranges::any_of(lesson.runs, sets_gpu);
  if (!is_fixed) choices.push_back({&gpu, list_assets("gpus")});
  return choices;
}

std::vector<std::string> read_names(const JsonObject& object, const char* key,
                                    std::string_view kind, const std::vector<std::string>& known) {
  std::vector<std::string> names;
  if (!object.has(key)) return names;
  for (const json& each : object.array(key)) {
    const std::string name = each.is_string() ? each.get<std::string>() : each.dump();
    if (std::ranges::find(known, name) == known.end()) {
      throw JsonFieldError("{}: {}", object.path_of(key), unknown_name_message(kind, name, known));
    }
    names.push_back(name);
  }
  return names;
}

/// The things that a step may highlight: tensors, and lines of the ledger.
std::vector<std::string> highlight_names() {
  std::vector<std::string> names;
  for (const Tensor tensor : kTensors) names.emplace_back(to_string(tensor));
  const std::vector<std::string> tensors = names;
  for (const char* direction : {"read", "written"}) {
    for (const std::string& tensor : tensors) names.push_back(tensor + " " + direction);
    for (const char* level : {"requested ", "DRAM "})
      names.push_back(std::string(level) + direction);
  }
  names.emplace_back("peak memory");
  return names;
}

Show read_show(const JsonObject& object, const std::vector<RunRecipe>& runs) {
  check_keys(object, {"run", "reveal", "beside", "panels", "highlight", "hide", "start", "step",
                      "query_row"});
  std::vector<std::string> run_names;
  for (const RunRecipe& run : runs) run_names.push_back(run.name);
  Show show{.run = object.string_or("run", ""),
            .reveal = object.string_or("reveal", ""),
            .beside = object.string_or("beside", "")};
  for (const auto& [key, run] :
       {std::pair("run", show.run), {"reveal", show.reveal}, {"beside", show.beside}}) {
    if (run.empty() || std::ranges::find(run_names, run) != run_names.end()) continue;
    throw JsonFieldError("{}: {}", object.path_of(key),
                         unknown_name_message("run", run, run_names));
  }
  show.panels =
      read_names(object, "panels", "panel", {std::begin(kPanelNames), std::end(kPanelNames)});
  show.highlights = read_names(object, "highlight", "tensor", highlight_names());
  show.hidden = read_names(object, "hide", "part", {std::begin(kPartNames), std::end(kPartNames)});
  if (object.has("start")) show.start = read_expression(object, "start", runs);
  if (object.has("step")) show.step = read_expression(object, "step", runs);
  if (object.has("query_row")) show.query_row = object.integer("query_row");
  return show;
}

Step read_step(const JsonObject& object, const std::vector<RunRecipe>& runs, Mistakes& mistakes) {
  Step step;
  mistakes.collect([&] { check_keys(object, {"say", "then", "show", "ask"}); });
  mistakes.collect([&] { step.say = read_text(object, "say", runs); });
  mistakes.collect([&] {
    if (object.has("then")) step.then = read_text(object, "then", runs);
  });
  mistakes.collect([&] {
    if (object.has("show")) step.show = read_show(object.object("show"), runs);
    if (!step.show.reveal.empty() && !object.has("ask")) {
      throw JsonFieldError("{}: reveal: this step has no question; name the run in 'run'",
                           object.path_of("show"));
    }
  });
  mistakes.collect([&] {
    if (object.has("ask")) step.ask = read_question(object.object("ask"), runs);
  });
  return step;
}

std::vector<Step> read_steps(const JsonObject& root, const std::vector<RunRecipe>& runs,
                             Mistakes& mistakes) {
  const json& list = root.array("steps");
  if (list.empty() || list.size() > kMostSteps) {
    throw JsonFieldError("steps: {} steps; a lesson has 1 to {}", list.size(), kMostSteps);
  }
  std::vector<Step> steps;
  for (std::size_t n = 0; n < list.size(); ++n) {
    mistakes.collect([&] {
      steps.push_back(read_step(JsonObject(list[n], fmt::format("steps[{}]", n)), runs, mistakes));
    });
  }
  return steps;
}

Lesson read_fields(const JsonObject& root, Mistakes& mistakes) {
  Lesson lesson;
  mistakes.collect([&] {
    check_keys(root, {"schema", "title", "order", "runs", "vary", "steps"});
  });
  mistakes.collect([&] { lesson.title = root.string("title"); });
  mistakes.collect([&] { lesson.order = root.integer_or("order", 0); });
  mistakes.collect([&] { lesson.runs = read_runs(root, mistakes); });
  mistakes.collect([&] { lesson.vary = read_vary(root, mistakes); });
  lesson.choices = choices_of(lesson);
  // Without any run, every name of a run would be reported as another mistake
  const bool has_runs = !lesson.runs.empty();
  mistakes.collect([&] {
    if (has_runs) lesson.steps = read_steps(root, lesson.runs, mistakes);
  });
  return lesson;
}

}  // namespace

const RunRecipe* Lesson::find_run(std::string_view run) const {
  const auto found = std::ranges::find(runs, run, &RunRecipe::name);
  return found == runs.end() ? nullptr : &*found;
}

bool Lesson::reaches(const RunField& field, std::string_view run) const {
  const RunRecipe* recipe = find_run(run);
  while (recipe != nullptr && !recipe->from.empty()) {
    if (std::ranges::find(recipe->set, &field, &FieldValueText::field) != recipe->set.end()) {
      return false;
    }
    recipe = find_run(recipe->from);
  }
  return recipe != nullptr;
}

namespace {

/// The runs that the step shows, or whose values it needs for its texts or its question.
std::vector<std::string> runs_of(const Step& step) {
  std::vector<std::string> runs;
  const auto add = [&](const Expression& expression) {
    std::ranges::copy(expression.runs(), std::back_inserter(runs));
  };
  for (const std::string* shown : {&step.show.run, &step.show.reveal, &step.show.beside}) {
    if (!shown->empty()) runs.push_back(*shown);
  }
  for (const Text* text : {&step.say, &step.then}) {
    for (const Text::Piece& piece : text->pieces) {
      if (piece.value) add(*piece.value);
    }
  }
  if (!step.ask) return runs;
  if (const auto* choice = std::get_if<ChoiceQuestion>(&step.ask->kind)) {
    for (const auto& option : choice->options) add(option.when);
  }
  if (const auto* number = std::get_if<NumberQuestion>(&step.ask->kind)) add(number->answer);
  if (const auto* tile = std::get_if<TileQuestion>(&step.ask->kind)) add(tile->answer);
  if (const auto* curve = std::get_if<CurveQuestion>(&step.ask->kind)) add(curve->answer);
  return runs;
}

}  // namespace

bool Lesson::reaches(const RunField& field, const Step& step) const {
  if (step.show.run.empty()) return true;  // the step keeps the previous step's run
  return std::ranges::any_of(runs_of(step),
                             [&](const std::string& run) { return reaches(field, run); });
}

namespace {

Result<ReadLesson> read_document(const json& document, const std::string& path) {
  if (auto error = check_schema(document, kLessonSchema, kVersion, path)) return *error;
  Mistakes mistakes;
  ReadLesson read{.path = path};
  mistakes.collect([&] { read.lesson = read_fields(JsonObject(document, ""), mistakes); });
  read.mistakes = mistakes.take();
  read.lesson.name = std::filesystem::path(path).stem().string();
  read.lesson.path = path;
  Fnv1a hash;
  hash.add(json_dump(document));
  read.lesson.hash = hash.value();
  return read;
}

/// The lesson, or its first mistake.
Result<Lesson> faultless(ReadLesson read) {
  if (read.mistakes.empty()) return std::move(read.lesson);
  const std::size_t others = read.mistakes.size() - 1;
  return invalid_request(
      "{}: {}{}", read.path, read.mistakes.front(),
      others == 0 ? "" : fmt::format("; and {} more, see attnscope-cli lesson check", others));
}

}  // namespace

Result<Lesson> parse_lesson(std::string_view text, std::string_view name) {
  ATTNSCOPE_TRY(const json document, parse_json(text, name));
  ATTNSCOPE_TRY(ReadLesson read, read_document(document, std::string(name)));
  return faultless(std::move(read));
}

Result<ReadLesson> read_lesson(std::string_view name_or_path) {
  ATTNSCOPE_TRY(const auto path, find_asset("lessons", name_or_path));
  ATTNSCOPE_TRY(const json document, read_json_file(path));
  return read_document(document, path.string());
}

Result<Lesson> load_lesson(std::string_view name_or_path) {
  ATTNSCOPE_TRY(ReadLesson read, read_lesson(name_or_path));
  return faultless(std::move(read));
}

std::vector<ShippedLesson> list_shipped_lessons() {
  std::vector<ShippedLesson> all;
  for (const std::string& name : list_assets("lessons")) all.push_back({name, load_lesson(name)});
  const auto order = [](const ShippedLesson& each) {
    return each.lesson ? each.lesson.value().order : std::numeric_limits<Index>::max();
  };
  std::ranges::stable_sort(all, {}, order);
  return all;
}

}  // namespace attnscope::lessons
