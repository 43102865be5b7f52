#include <fmt/core.h>

#include <filesystem>

#include "app/lessons/check_lesson.h"
#include "app/render/picture_maker.h"
#include "app/render/run_pictures.h"
#include "reference/message_text.h"

namespace attnscope::app {

namespace fs = std::filesystem;

namespace {

/// Creates the folder for the pictures.
std::optional<Error> make_folder(const std::string& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (!error && fs::is_directory(path, error)) return std::nullopt;
  return invalid_request(
      "--out '{}': not a folder that pictures can be written to{}; give a "
      "folder",
      printable(path), error ? ": " + error.message() : "");
}

/// Waits until the step is shown; an error if it cannot be.
std::optional<Error> settle_step(App& app) {
  if (auto error = settle(app)) return error;
  const LessonPlayer& player = app.lesson_player;
  if (!player.is_open()) return failed(app.notice ? app.notice->text : "the lesson is not open");
  if (player.phase() == LessonPlayer::Phase::failed) return failed(player.problem());
  return std::nullopt;
}

std::optional<Error> draw_into(const fs::path& path, PictureMaker& pictures, App& app) {
  ATTNSCOPE_TRY(const Image image, pictures.draw(app));
  return write_png(path, image);
}

}  // namespace

std::optional<Error> render_lesson(const Arguments& arguments, Scene scene) {
  ATTNSCOPE_TRY(const auto lesson, lessons::load_lesson(arguments.lesson));
  const std::size_t first = arguments.lesson_step.value_or(0);
  const std::size_t end = arguments.lesson_step ? first + 1 : lesson.steps.size();
  if (auto error = lessons::first_mistake(lesson, first, end)) return error;
  if (auto error = make_folder(arguments.out)) return error;
  ATTNSCOPE_TRY(const auto pictures, PictureMaker::create(arguments.width, arguments.height));
  App app(std::move(scene), {});
  if (auto error = settle(app)) return error;

  app.lesson_player.open(arguments.lesson, first);
  for (std::size_t step = first; step < end; ++step) {
    if (step > first) app.lesson_player.act(LessonPlayer::Action::next);
    if (auto error = settle_step(app)) return error;
    const fs::path stem = fs::path(arguments.out) / fmt::format("{}-{}", lesson.name, step + 1);
    if (app.lesson_player.hides_answer()) {
      if (auto error = draw_into(stem.string() + "-asked.png", *pictures, app)) return error;
      app.lesson_player.act(LessonPlayer::Action::show_me);
      if (auto error = settle_step(app)) return error;
    }
    if (auto error = draw_into(stem.string() + "-shown.png", *pictures, app)) return error;
  }
  return std::nullopt;
}

}  // namespace attnscope::app
