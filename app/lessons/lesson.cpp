#include "app/lessons/lesson.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "app/lessons/lesson_fields.h"
#include "reference/fnv1a.h"
#include "reference/json/json_document.h"
#include "reference/message_text.h"
#include "sim/device/assets.h"
#include "sim/ops/tile_op.h"

namespace attnscope::lessons {

using nlohmann::json;

namespace {

constexpr std::string_view kSchema = "attnscope.lesson";
constexpr int kVersion = 1;

std::vector<RunRecipe> read_runs(const JsonObject& root) {
  const JsonObject runs = root.object("runs");
  std::vector<RunRecipe> recipes;
  // A JSON object has no order: a run follows the one that it is derived from
  const auto is_read = [&](const std::string& name) {
    return std::ranges::find(recipes, name, &RunRecipe::name) != recipes.end();
  };
  for (bool found = true; found;) {
    found = false;
    for (const auto& [name, unused] : runs.value().items()) {
      const JsonObject object = runs.object(name);
      const std::string from = object.string_or("from", "");
      if (is_read(name) || (!from.empty() && !is_read(from))) continue;
      recipes.push_back(read_run(object, name));
      found = true;
    }
  }
  for (const auto& [name, unused] : runs.value().items()) {
    if (is_read(name)) continue;
    throw JsonFieldError("{}: from: '{}' is not a run of this lesson, or is derived from this one",
                         runs.path_of(name), printable(runs.object(name).string("from")));
  }
  if (recipes.empty()) throw JsonFieldError("runs: no run is given; a lesson needs at least one");
  return recipes;
}

std::vector<Vary> read_vary(const JsonObject& root) {
  std::vector<Vary> all;
  if (!root.has("vary")) return all;
  const JsonObject vary = root.object("vary");
  for (const auto& [option, unused] : vary.value().items()) {
    const RunField& field = field_of_option(option, vary.path_of(option));
    all.push_back({&field, read_values(vary, option, field, 1)});
  }
  return all;
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

/// What a step may highlight: tensors, and lines of the ledger.
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
  check_keys(object,
             {"run", "reveal", "beside", "panels", "highlight", "hide", "step", "query_row"});
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
  if (object.has("step")) show.step = read_expression(object, "step", runs);
  if (object.has("query_row")) show.query_row = object.integer("query_row");
  return show;
}

Step read_step(const JsonObject& object, const std::vector<RunRecipe>& runs) {
  check_keys(object, {"say", "then", "show", "ask"});
  Step step{.say = read_text(object, "say", runs)};
  if (object.has("then")) step.then = read_text(object, "then", runs);
  if (object.has("show")) step.show = read_show(object.object("show"), runs);
  if (object.has("ask")) step.ask = read_question(object.object("ask"), runs);
  if (!step.show.reveal.empty() && !step.ask) {
    throw JsonFieldError("{}: reveal: this step has no question; name the run in 'run'",
                         object.path_of("show"));
  }
  return step;
}

Lesson read_lesson(const JsonObject& root) {
  check_keys(root, {"schema", "title", "order", "runs", "vary", "steps"});
  Lesson lesson{.title = root.string("title"), .order = root.integer_or("order", 0)};
  lesson.runs = read_runs(root);
  lesson.vary = read_vary(root);
  const json& steps = root.array("steps");
  if (steps.empty() || steps.size() > kMostSteps) {
    throw JsonFieldError("steps: {} steps; a lesson has 1 to {}", steps.size(), kMostSteps);
  }
  for (std::size_t n = 0; n < steps.size(); ++n) {
    lesson.steps.push_back(
        read_step(JsonObject(steps[n], fmt::format("steps[{}]", n)), lesson.runs));
  }
  return lesson;
}

}  // namespace

const RunRecipe* Lesson::find_run(std::string_view run) const {
  const auto found = std::ranges::find(runs, run, &RunRecipe::name);
  return found == runs.end() ? nullptr : &*found;
}

namespace {

Result<Lesson> lesson_from(const json& document, const std::string& name) {
  if (auto error = check_schema(document, kSchema, kVersion, name)) return *error;
  try {
    Lesson lesson = read_lesson(JsonObject(document, ""));
    lesson.name = std::filesystem::path(name).stem().string();
    lesson.path = name;
    Fnv1a hash;
    hash.add(json_dump(document));
    lesson.hash = hash.value();
    return lesson;
  } catch (const JsonFieldError& error) {
    return invalid_request("{}: {}", name, error.what());
  }
}

}  // namespace

Result<Lesson> parse_lesson(std::string_view text, std::string_view name) {
  ATTNSCOPE_TRY(const json document, parse_json(text, name));
  return lesson_from(document, std::string(name));
}

Result<Lesson> load_lesson(std::string_view name_or_path) {
  ATTNSCOPE_TRY(const auto path, find_asset("lessons", name_or_path));
  ATTNSCOPE_TRY(const json document, read_json_file(path));
  return lesson_from(document, path.string());
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
