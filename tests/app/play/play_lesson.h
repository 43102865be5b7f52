/// Plays a lesson without a screen, and answers its questions.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "app/play/lesson_player.h"
#include "tests/support/wait_until.h"

namespace attnscope::test {

/// The shipped lessons, by name, in teaching order.
inline std::vector<std::string> shipped_lessons() {
  std::vector<std::string> names;
  for (const auto& lesson : lessons::list_shipped_lessons()) names.push_back(lesson.name);
  return names;
}

/// Updates the player until it has nothing to compute; returns every cue on the way.
inline app::LessonPlayer::Cue settle(app::LessonPlayer& player) {
  app::LessonPlayer::Cue all;
  EXPECT_TRUE(wait_until([&] {
    player.update();
    const app::LessonPlayer::Cue cue = player.take_cue();
    all.enters |= cue.enters;
    all.reveals |= cue.reveals;
    return player.settled();
  })) << "the player does not settle";
  return all;
}

inline app::LessonPlayer::Cue act(app::LessonPlayer& player, app::LessonPlayer::Action action) {
  player.act(action);
  return settle(player);
}

/// Opens a lesson, by name or path, at a step counted from 0.
inline void open(app::LessonPlayer& player, const std::string& lesson, std::size_t step) {
  player.open(lesson, step);
  settle(player);
  ASSERT_TRUE(player.is_open()) << player.take_error();
}

/// Types a number, as into the card's field.
inline void type(app::LessonPlayer& player, const std::string& text) {
  *fmt::format_to_n(player.draft.text.data(), player.draft.text.size() - 1, "{}", text).out = 0;
}

/// Enters the answer as a user would.
inline void enter(app::LessonPlayer& player, const lessons::Answer& answer) {
  if (const double* number = std::get_if<double>(&answer)) type(player, fmt::format("{}", *number));
  if (const auto* chosen = std::get_if<lessons::Chosen>(&answer)) {
    player.draft.option = chosen->option;
  }
  if (const auto* tile = std::get_if<lessons::TilePlace>(&answer)) player.draft.tile = *tile;
  if (const auto* curve = std::get_if<std::vector<double>>(&answer)) {
    player.draft.curve.assign(curve->begin(), curve->end());
  }
}

/// A wrong answer of the same kind: a number, or the last one of a curve, beyond the tolerance; the
/// next option; a neighbouring tile.
inline lessons::Answer wrong_answer(const lessons::Question& question,
                                    const lessons::Answer& right) {
  const auto beyond = [](double number, double within) {
    return number == 0.0 ? 1.0 : number * within * 2.0;
  };
  if (const auto* number = std::get_if<lessons::NumberQuestion>(&question.kind)) {
    return beyond(std::get<double>(right), number->within);
  }
  if (const auto* choice = std::get_if<lessons::ChoiceQuestion>(&question.kind)) {
    const std::size_t option = std::get<lessons::Chosen>(right).option;
    return lessons::Chosen{(option + 1) % choice->options.size()};
  }
  if (const auto* tile = std::get_if<lessons::TilePlace>(&right)) {
    return lessons::TilePlace{tile->i, tile->j > 0 ? tile->j - 1 : 1};
  }
  std::vector<double> curve = std::get<std::vector<double>>(right);
  curve.back() = beyond(curve.back(), std::get<lessons::CurveQuestion>(question.kind).within);
  return curve;
}

/// A question of a lesson with its computed answer.
struct AskedStep {
  std::size_t step = 0;
  lessons::Question question;
  lessons::Answer truth;
  std::optional<app::CurveAxis> axis;  ///< the axis of a question about a curve
};

/// Every question of the lesson, in order, with the answer that "Show me" gives.
inline std::vector<AskedStep> asked_steps(const std::string& lesson) {
  std::vector<AskedStep> asked;
  app::LessonPlayer player;
  open(player, lesson, 0);
  while (player.is_open()) {
    const std::size_t step = player.step();
    const auto& ask = player.current().ask;
    if (ask) act(player, app::LessonPlayer::Action::show_me);
    const app::Outcome* outcome = player.outcome();
    if (outcome == nullptr || (ask && !outcome->truth)) {
      ADD_FAILURE() << lesson << ", step " << step + 1 << ": "
                    << (outcome == nullptr ? player.problem() : outcome->unavailable);
      return {};
    }
    EXPECT_FALSE(outcome->verdict) << lesson << ", step " << step + 1;
    if (ask) asked.push_back({step, *ask, *outcome->truth, player.prepared()->axis});
    act(player, app::LessonPlayer::Action::next);
    if (player.step() == step) break;  // that was the last step
  }
  return asked;
}

}  // namespace attnscope::test
