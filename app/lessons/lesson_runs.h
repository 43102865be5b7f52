/// The runs of a lesson with the fields that a student changed, and all values that expressions
/// need from them. Values are computed when first needed, which can take seconds: keep one object
/// per lesson, and use it on one thread at a time; in the app, not on the drawing thread.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/lessons/lesson.h"
#include "app/lessons/run_values.h"

namespace attnscope::lessons {

/// Values of fields that a student chose. They replace those of the runs that do not start from
/// another run.
using Changes = std::vector<FieldValueText>;

class LessonRuns : public ValueSource {
 public:
  /// The runs of the lesson with these changes. invalid_request for a scene that does not exist, or
  /// a run that cannot be understood: the message names it.
  static Result<LessonRuns> create(const Lesson& lesson, Changes changes = {});

  /// Replaces the changes of the runs; keeps the values that are still needed.
  std::optional<Error> change(Changes changes);
  const Changes& changes() const { return changes_; }

  /// Replaces the runs that were measured in this session, for paths into "measured".
  void set_session(SessionRuns session);

  /// The run of this name; null if there is none.
  const RunSpec* find(std::string_view run) const;

  /// As RunValues::measurement_of().
  Result<std::optional<Recording>> measurement_of(const Path& path);

  Result<Value> value(const Path& path) override;
  Result<Index> visit(const std::string& run, Index n) override;
  Result<Index> launch(const std::string& run, Index n) override;
  Result<TilePlace> tile(const std::string& run, Index step) override;
  Result<Index> first_difference(const std::string& a, const std::string& b) override;

 private:
  LessonRuns() = default;
  Result<RunValues*> values_of(const std::string& run);

  std::vector<RunRecipe> recipes_;
  Changes changes_;
  SessionRuns session_;
  std::map<std::string, RunSpec, std::less<>> specs_;
  std::vector<std::unique_ptr<RunValues>> values_;  ///< the values of every run requested so far
};

/// The changes with which a lesson begins: it models this machine's GPU (a name of assets/gpus) if
/// it leaves the GPU open and `runs`, the lesson's own, model another one.
Changes first_changes(const Lesson& lesson, const LessonRuns& runs,
                      const std::optional<std::string>& gpu_at_hand);

/// The field of `lesson.choices` with this option, set to the text, which need not be one of its
/// listed values. invalid_request for a field that the lesson does not let a student change, or
/// text that the field does not accept.
Result<FieldValueText> parse_change(const Lesson& lesson, std::string_view option,
                                    std::string_view text);

/// Text with its values filled in.
struct ShownText {
  std::string words;  ///< "4.4 GB instead of 0.2 GB"; "(unavailable)" for a value that is missing
  std::optional<Error> unavailable = {};  ///< why the first missing value is missing, if one is
};

/// Errors as in Expression::evaluate(), except for values that are unavailable.
Result<ShownText> text_of(const Text& text, ValueSource& source);

/// The error with the lesson's file and the field: "FILE: steps[2]: ask: MESSAGE".
Error in_lesson(const Lesson& lesson, std::string_view field, Error error);
/// The same for a part of a step.
Error in_step(const Lesson& lesson, std::size_t step, std::string_view key, Error error);

/// "Not calibrated for NVIDIA T4: the GPU is not calibrated."
std::string reason_sentence(const Error& unavailable, Reader reader);

/// A value with its unit: "285.2 MB", "3.5", "yes", "tile (1, 2)".
std::string value_text(const Value& value, const std::string& unit);

}  // namespace attnscope::lessons
