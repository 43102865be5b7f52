/// A lesson: runs, and steps that ask for a prediction about them before they show the answer.
/// Files of schema "attnscope.lesson/1", shipped in assets/lessons/. Lessons contain no answers:
/// each answer is an expression over the results of the lesson's runs (expression.h), which
/// lesson_runs.h computes and judge.h compares with a student's prediction.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "app/lessons/lesson_parts.h"

namespace attnscope::lessons {

struct Lesson {
  std::string name;  ///< the file's stem
  std::string path;  ///< the path that was opened, for messages
  std::string title;
  Index order = 0;         ///< position in the list of lessons
  std::uint64_t hash = 0;  ///< hash of the file's contents, regardless of layout
  std::vector<RunRecipe> runs;
  std::vector<Vary> vary;
  /// The fields that a student may change: those of `vary`, and the GPU with the names of
  /// assets/gpus, unless a run sets it.
  std::vector<Vary> choices;
  std::vector<Step> steps;

  const RunRecipe* find_run(std::string_view run) const;
  /// Whether the value that a student sets for the field changes this run: not if the run, or one
  /// that it starts from, sets the field itself.
  bool reaches(const RunField& field, std::string_view run) const;
  /// Whether that value changes what the step shows, says or asks.
  bool reaches(const RunField& field, const Step& step) const;
};

/// The largest number of steps of a lesson.
inline constexpr std::size_t kMostSteps = 10;

/// Names of the panels that a step may show (Panel::name in app/panels/parts/panel.h).
inline constexpr std::string_view kPanelNames[] = {"memory",         "warps",      "scores",
                                                   "online_softmax", "why_online", "explain",
                                                   "ledger",         "timeline",   "charts"};

/// Names of the parts of panels that a step may hide (PanelPart in app/scene/view_state.h).
inline constexpr std::string_view kPartNames[] = {
    "dram", "l2", "written", "time", "notes", "safe", "online", "formulas", "alpha", "unwritten"};

/// Parses a lesson; `name` names the file in messages. invalid_request with one line, which gives
/// the path of the field: malformed text, an unknown or missing field, a run, panel, tensor or
/// field of a run that does not exist, an expression that cannot be parsed.
Result<Lesson> parse_lesson(std::string_view text, std::string_view name);

/// Reads a shipped lesson by name, or a file by path. Errors as in parse_lesson() and find_asset().
Result<Lesson> load_lesson(std::string_view name_or_path);

/// The lesson of a file, or everything that is wrong with its fields.
struct ReadLesson {
  std::string path;
  Lesson lesson;                      ///< to be used only if there is no mistake
  std::vector<std::string> mistakes;  ///< "steps[2]: ask: ...", at least one of each wrong part
};
/// The same with all mistakes. Errors as in find_asset(), and for malformed text.
Result<ReadLesson> read_lesson(std::string_view name_or_path);

/// A lesson of assets/lessons, or why its file is not one.
struct ShippedLesson {
  std::string name;
  Result<Lesson> lesson;
};
/// All shipped lessons, in teaching order.
std::vector<ShippedLesson> list_shipped_lessons();

}  // namespace attnscope::lessons
