/// Small lessons for tests.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

#include "app/lessons/lesson.h"

namespace attnscope::lessons {

/// A lesson on two small runs, fa1 and fa2, with this list of steps.
inline std::string lesson_text(std::string_view steps) {
  return fmt::format(R"({{"schema": "attnscope.lesson/1", "title": "Test", "runs": {{
    "fa1": {{"set": {{"algorithm": "flash1", "seq-len": 64, "head-dim": 16, "block-rows": 16,
                     "block-cols": 16}}}},
    "fa2": {{"from": "fa1", "set": {{"algorithm": "flash2"}}}}}},
    "steps": {}}})",
                     steps);
}

/// A lesson on these runs with one step, which asks this question.
inline std::string lesson_asking(std::string_view ask) {
  return lesson_text(fmt::format(R"([{{"say": "Predict.", "ask": {}}}])", ask));
}

inline Result<Lesson> parsed(const std::string& text) {
  return parse_lesson(text, "test.json");
}

}  // namespace attnscope::lessons
