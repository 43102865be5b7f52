/// The desktop app: reads the arguments, then runs in a window or draws a picture.
#include <cstdio>

#include "app/arguments.h"
#include "app/lessons/lesson.h"
#include "app/report/interruption.h"

namespace attnscope::app {

namespace {

/// The error if the requested lesson cannot be read or lacks the requested step; else nothing.
std::optional<Error> check_lesson(const Arguments& arguments) {
  if (arguments.lesson.empty()) return std::nullopt;
  ATTNSCOPE_TRY(const auto lesson, lessons::load_lesson(arguments.lesson));
  const std::size_t count = lesson.steps.size();
  if (!arguments.lesson_step || *arguments.lesson_step < count) return std::nullopt;
  return invalid_request("--step {}: the lesson '{}' has {} steps", *arguments.lesson_step + 1,
                         lesson.name, count);
}

int run_program(int argc, char** argv) {
  const auto arguments = parse_arguments(argc, argv);
  if (!arguments) return report(arguments.error());
  if (!arguments.value().answer.empty()) {
    std::fputs(arguments.value().answer.c_str(), stdout);
    return std::fflush(stdout) == 0 ? kDone : kFailed;
  }

  if (const auto error = check_lesson(arguments.value())) return report(*error);

  // The arguments override the state of the last session
  auto read = read_user_state(arguments.value().state);
  const std::string problem = read ? "" : words(read.error(), Reader::file);
  const std::optional<UserState> remembered = read ? read.value() : UserState{};
  const bool is_asked = arguments.value().scene_given || !arguments.value().lesson.empty();
  const bool goes_on = remembered && remembered->scene && !is_asked;
  auto scene = goes_on ? *remembered->scene : load_scene(arguments.value().scene);
  if (!scene) return report(scene.error());
  if (arguments.value().files.any()) {
    scene = scene_of_files(std::move(scene.value()), arguments.value().files);
    if (!scene) return report(scene.error());
  }
  ViewState& view = scene.value().view;
  if (remembered && remembered->theme) view.theme = *remembered->theme;
  if (arguments.value().theme) view.theme = *arguments.value().theme;
  if (arguments.value().step) (view.race ? view.race_tick : view.step) = *arguments.value().step;
  view.presenter = arguments.value().presenter.value_or(view.presenter);

  if (arguments.value().render) return run_render(arguments.value(), std::move(scene.value()));
  return run_window(arguments.value(), std::move(scene.value()), remembered, problem);
}

}  // namespace

}  // namespace attnscope::app

int main(int argc, char** argv) {
  attnscope::end_on_signals();
  return attnscope::exit_status_of([&] { return attnscope::app::run_program(argc, argv); },
                                   attnscope::app::report);
}
