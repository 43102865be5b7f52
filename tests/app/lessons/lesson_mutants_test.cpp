/// Mutants of the shipped lessons: the check must detect an answer in which one path is replaced by
/// another path of the same unit.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "app/documents/simulation_json.h"
#include "app/lessons/check_lesson.h"
#include "app/lessons/lesson_fields.h"
#include "app/lessons/run_documents.h"
#include "reference/json/json_document.h"
#include "sim/device/assets.h"

namespace attnscope::lessons {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

/// The selection of an element in the spelling of the lessons: by level, quantity and launch, by
/// query and column tile, otherwise by its position.
std::string selection_of(const ordered_json& element, std::size_t index) {
  if (element.is_object() && element.contains("level") && element.contains("quantity")) {
    return fmt::format("[level={},quantity={},launch={}]", element["level"].get<std::string>(),
                       element["quantity"].get<std::string>(), element.value("launch", ""));
  }
  if (element.is_object() && element.contains("query") && element.contains("j")) {
    return fmt::format("[query={},j={}]", element["query"].dump(), element["j"].dump());
  }
  return fmt::format("[{}]", index);
}

/// Adds the paths of all numbers below `at`.
void add_numbers(const ordered_json& at, const std::string& path, std::vector<std::string>& paths) {
  if (at.is_number()) paths.push_back(path);
  if (at.is_object()) {
    for (const auto& [key, value] : at.items()) {
      add_numbers(value, path.empty() ? key : path + "." + key, paths);
    }
  }
  for (std::size_t n = 0; at.is_array() && n < at.size(); ++n) {
    add_numbers(at[n], path + selection_of(at[n], n), paths);
  }
}

/// The numbers of the run that expressions may name, without its name: those of its simulation, its
/// GPU, its recording and its schedule.
std::vector<std::string> numbers_of(const RunSpec& spec) {
  std::vector<std::string> paths;
  const auto model = model_run(spec);
  auto answer = model ? count_run(model.value()) : Result<SimulationAnswer>(model.error());
  EXPECT_TRUE(answer.ok());
  if (!answer) return paths;
  predict_run(answer.value());
  add_numbers(simulation_json(answer.value()), "", paths);
  add_numbers(gpu_json(model.value().gpu), "gpu", paths);
  const GpuDescription& gpu = model.value().gpu;
  if (const auto found = find_measurement(answer.value().report, gpu, shipped_recordings())) {
    add_numbers(measured_json(*found, gpu).value(), "measured", paths);
  }
  for (const char* key : {"Tr", "Tc", "steps", "launches", "thread_blocks", "blocks_per_sm"}) {
    paths.push_back(std::string("schedule.") + key);
  }
  return paths;
}

/// The numbers of its accuracy study, or of its running softmax.
std::vector<std::string> values_of(const RunSpec& spec, const std::string& document) {
  std::vector<std::string> paths;
  const auto model = model_run(spec);
  if (!model) return paths;
  const bool is_online = document == "online_softmax";
  const auto values = is_online ? online_softmax_json(model.value()) : accuracy_of(model.value());
  if (values) add_numbers(values.value(), is_online ? document : "", paths);
  return paths;
}

bool has_values(const std::string& document) {
  return document == "orders" || document == "softmax" || document == "errors" ||
         document == "row" || document == "online_softmax";
}

std::string unit_of(const std::string& path) {
  const auto expression = Expression::parse(path);
  return expression ? expression.value().unit() : "not a path";
}

/// "[query=37," of a path into the running softmax; only other values of the same row replace it.
std::string row_of(const std::string& path) {
  const std::size_t at = path.find("[query=");
  return at == path.npos ? "" : path.substr(at, path.find(',', at) - at);
}

/// The numbers of all runs of a lesson, by unit.
class Alternatives {
 public:
  explicit Alternatives(const Lesson& lesson) : runs_(LessonRuns::create(lesson).value()) {
    for (const RunRecipe& run : lesson.runs) {
      for (const std::string& path : numbers_of(*runs_.find(run.name))) add(run.name, path);
    }
  }

  /// The paths that may replace this one.
  std::vector<std::string> to(const Path& path) {
    const std::string& document = path.parts.front().key;
    if (has_values(document) && seen_.insert(path.run + "." + document).second) {
      const bool is_online = document == "online_softmax";
      if (is_online || seen_.insert(path.run + " accuracy").second) {
        for (const std::string& value : values_of(*runs_.find(path.run), document)) {
          add(path.run, value);
        }
      }
    }
    std::vector<std::string> others;
    for (const std::string& other : by_unit_[unit_of(path.text)]) {
      const std::string row = row_of(other);
      const bool is_other_row = !row.empty() && row != row_of(path.text);
      if (other != path.text && !is_other_row) others.push_back(other);
    }
    return others;
  }

 private:
  void add(const std::string& run, const std::string& path) {
    const std::string whole = run + "." + path;
    by_unit_[unit_of(whole)].push_back(whole);
  }

  LessonRuns runs_;
  std::map<std::string, std::vector<std::string>> by_unit_;
  std::set<std::string> seen_;
};

/// The expressions of the question's answer, or of its conditions, in its JSON.
std::vector<json*> answers_in(json& ask) {
  if (ask.contains("answer")) return {&ask["answer"]};
  std::vector<json*> conditions;
  for (json& option : ask["options"]) conditions.push_back(&option["when"]);
  return conditions;
}

/// The outcome of a mutant, at the points of its lesson.
enum class Fate : std::uint8_t {
  same,  ///< its answer is right everywhere, or there is none
  found,
  unnoticed,
};

/// One question and its mutants.
class Mutation {
 public:
  Mutation(const Lesson& lesson, std::size_t step, LessonRuns& runs)
      : lesson_(lesson),
        question_(*lesson.steps[step].ask),
        points_(points_of(lesson)),
        runs_(runs) {
    for (const Changes& point : points_) {
      EXPECT_FALSE(runs_.change(point));
      truths_.push_back(truth_of(question_, runs_));
    }
  }

  Fate fate_of(const json& ask) {
    const Question mutant = read_question(JsonObject(ask, "ask"), lesson_.runs);
    bool changes = false;
    for (std::size_t n = 0; n < points_.size(); ++n) {
      EXPECT_FALSE(runs_.change(points_[n]));
      if (!truths_[n]) continue;
      const auto answer = truth_of(mutant, runs_);
      const bool is_ambiguous =
          !answer && is_choice() && answer.error().message.find("right") != std::string::npos;
      if (is_ambiguous) return Fate::found;
      if (!answer) continue;  // not a path of this run
      if (is_right(question_, answer.value(), truths_[n].value())) continue;
      changes = true;
      if (!check_question(mutant, runs_, "ask").empty()) return Fate::found;
    }
    return changes ? Fate::unnoticed : Fate::same;
  }

 private:
  bool is_choice() const { return std::holds_alternative<ChoiceQuestion>(question_.kind); }

  const Lesson& lesson_;
  const Question& question_;
  std::vector<Changes> points_;
  LessonRuns& runs_;
  std::vector<Result<Answer>> truths_;
};

/// Questions whose answers have no path: positions of tiles.
const std::set<std::string>& without_paths() {
  static const std::set<std::string> questions = {"flash1-loops:2", "swap-the-loops:2"};
  return questions;
}

class Mutants : public testing::TestWithParam<std::string> {};

TEST_P(Mutants, AnAnswerWithAnotherPathIsFoundByTheCheck) {
  const Lesson lesson = load_lesson(GetParam()).value();
  const json document = read_json_file(find_asset("lessons", GetParam()).value()).value();
  LessonRuns runs = LessonRuns::create(lesson).value();
  Alternatives alternatives(lesson);
  for (std::size_t n = 0; n < lesson.steps.size(); ++n) {
    if (!lesson.steps[n].ask) continue;
    const std::string step = fmt::format("{}:{}", GetParam(), n + 1);
    Mutation mutation(lesson, n, runs);
    std::size_t tried = 0, found = 0;
    json ask = document["steps"][n]["ask"];
    for (json* const text : answers_in(ask)) {
      const std::string before = text->get<std::string>();
      const Expression expression = Expression::parse(before).value();
      for (const Path& path : expression.paths()) {
        for (const std::string& other : alternatives.to(path)) {
          *text = std::string(before).replace(path.begin, path.text.size(), other);
          const Fate fate = mutation.fate_of(ask);
          ++tried;
          found += fate == Fate::found ? 1 : 0;
          EXPECT_TRUE(fate != Fate::unnoticed)
              << fmt::format("{}: {} -> {}", step, path.text, other);
        }
      }
      *text = before;
    }
    RecordProperty(step, fmt::format("{} of {} found", found, tried));
    EXPECT_EQ(found == 0, without_paths().contains(step)) << step;
  }
}

INSTANTIATE_TEST_SUITE_P(All, Mutants, testing::ValuesIn(list_assets("lessons")));

}  // namespace
}  // namespace attnscope::lessons
