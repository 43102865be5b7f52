// The cost of the app's frames in a real window: `make bench` runs it.
//   attnscope_ui_bench [OPTIONS OF attnscope]            plays the scene as fast as it can
//   attnscope_ui_bench --fields [OPTIONS OF attnscope]   changes every field in turn
//   attnscope_ui_bench --fields --wall [...]             measures wall time, not CPU time: for a
//                                                        machine with idle cores
//   attnscope_ui_bench --lessons [OPTIONS OF attnscope]  draws every step of every lesson, or of
//                                                        the one that --lesson names, before
//                                                        and after its answer
#include <fmt/core.h>
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <string_view>

#include "app/arguments.h"
#include "app/lessons/lesson.h"
#include "app/windowed_app.h"
#include "tests/bench/field_bench.h"
#include "tests/bench/frame_times.h"

namespace attnscope::app {
namespace {

constexpr int kFrames = 300;
constexpr double kSpeed = 16.0;  // nearly one operation per frame at 60 frames per second
constexpr double kMostFieldFrameSeconds = 0.008;  // of the UI thread, while a field is changed
constexpr int kFieldRuns = 3;
constexpr double kFieldFrameSeconds = 0.004;  // leaves time for the worker

void play(Window& window, WindowedApp& windowed, double start_s) {
  App& app = windowed.app();
  app.view.playing = true;
  app.view.speed = kSpeed;
  FrameTimes times;
  FrameTimes ui_times;
  FrameTimes wall_times;
  double first_frame_s = 0.0;
  double first_snapshot_s = 0.0;
  double previous_s = 0.0;
  while (!windowed.closed() && windowed.frames_drawn() < kFrames) {
    if (!app.view.playing) app.commands.push(TogglePlay{});
    windowed.draw_frame(Redraw::always);
    const double now_s = steady_now_s();
    if (windowed.frames_drawn() == 1) first_frame_s = now_s - start_s;
    if (first_snapshot_s == 0.0 && app.snapshot()) first_snapshot_s = now_s - start_s;
    window.handle_events(0.0);

    // A frame's time is from the end of the previous frame to its own end
    if (first_snapshot_s > 0.0 && previous_s > 0.0) {
      times.add(now_s - previous_s);
      ui_times.add(windowed.ui_time().cpu_s);
      wall_times.add(windowed.ui_time().wall_s);
    }
    previous_s = now_s;
  }
  fmt::print("frames at {}x{}: {}\n", window.width(), window.height(), times.summary());
  fmt::print("UI thread, CPU time of a frame without rasterising and presenting: {}\n",
             ui_times.slowest_summary());
  fmt::print("the same by the wall clock: {}\n", wall_times.slowest_summary());
  fmt::print("first frame after {:.3f} s, first picture of the problem after {:.3f} s\n",
             first_frame_s, first_snapshot_s);
}

/// Whether every field behaved as in the script, and no frame took too long.
bool change_fields(Window& window, WindowedApp& windowed, bool by_wall_clock) {
  windowed.app().view.playing = false;
  const auto draw = [&](const std::function<void()>& put_input) -> std::optional<double> {
    if (windowed.closed()) return std::nullopt;
    const double began_s = steady_now_s();
    windowed.build_frame(put_input);
    window.handle_events(std::max(kFieldFrameSeconds - (steady_now_s() - began_s), 0.0));
    return by_wall_clock ? windowed.ui_time().wall_s : windowed.ui_time().cpu_s;
  };
  FieldBench bench(windowed.app(), windowed.screen(), draw);
  bench.run(kFieldRuns);
  fmt::print(
      "UI thread, {} time of the slowest frame while a field is changed, without "
      "rasterising and presenting:\n{}",
      by_wall_clock ? "wall" : "CPU", bench.report());
  const bool in_time = bench.slowest_s() <= kMostFieldFrameSeconds;
  fmt::print("limit: {:.2f} ms, {}\n", kMostFieldFrameSeconds * 1e3, in_time ? "met" : "exceeded");
  for (const std::string& problem : bench.problems()) fmt::print(stderr, "{}\n", problem);
  return in_time && bench.problems().empty();
}

/// CPU seconds that all threads of this process have used.
double process_cpu_s() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

/// Draws frames of every step of the lessons, before and after its answer, while the playhead
/// plays.
class LessonBench {
 public:
  LessonBench(Window& window, WindowedApp& windowed) : window_(window), windowed_(windowed) {}

  /// Whether the median frame of every step took at most a sixtieth of a second.
  bool run(const std::vector<std::string>& lessons) {
    for (const std::string& lesson : lessons) play(lesson);
    if (!slowest_.empty()) fmt::print("slowest: {}\n", slowest_);
    const bool in_time = !slowest_.empty() && slowest_s_ <= kMostFrameSeconds;
    fmt::print("limit of the median: {:.1f} ms, {}\n", kMostFrameSeconds * 1e3,
               in_time ? "met" : "exceeded");
    return in_time;
  }

 private:
  static constexpr int kFramesOfAStep = 60;
  static constexpr double kMostFrameSeconds = 1.0 / 60.0;

  void play(const std::string& lesson) {
    LessonPlayer& player = windowed_.app().lesson_player;
    player.open(lesson, 0);
    settle();
    while (player.is_open() && !windowed_.closed()) {
      const std::string step = fmt::format("{} step {}", lesson, player.step() + 1);
      if (player.hides_answer()) {
        time(step + " asked");
        player.act(LessonPlayer::Action::show_me);
        settle();
      }
      time(step + " shown");
      if (player.step() + 1 == player.lesson().steps.size()) break;
      player.act(LessonPlayer::Action::next);
      settle();
    }
  }

  /// Draws until no computation is left.
  void settle() {
    do {
      windowed_.draw_frame(Redraw::always);
      window_.handle_events(0.001);
    } while (!windowed_.closed() && !windowed_.settled());
  }

  void time(const std::string& what) {
    windowed_.app().view.playing = true;
    FrameTimes times;
    FrameTimes cpu_times;
    for (int frame = 0; frame < kFramesOfAStep && !windowed_.closed(); ++frame) {
      const double began_s = steady_now_s();
      const double cpu_began_s = process_cpu_s();
      windowed_.draw_frame(Redraw::always);
      window_.handle_events(0.0);
      times.add(steady_now_s() - began_s);
      cpu_times.add(process_cpu_s() - cpu_began_s);
    }
    windowed_.app().view.playing = false;
    const std::string line = fmt::format("{}: {}, CPU time of all threads {:.2f} ms", what,
                                         times.summary(), cpu_times.quantile_s(0.5) * 1e3);
    fmt::print("{}\n", line);
    std::fflush(stdout);
    if (times.quantile_s(0.5) <= slowest_s_) return;
    slowest_s_ = times.quantile_s(0.5);
    slowest_ = line;
  }

  Window& window_;
  WindowedApp& windowed_;
  double slowest_s_ = 0.0;
  std::string slowest_;
};

int refuse(const Error& error) {
  fmt::print(stderr, "attnscope_ui_bench: {}\n", words(error, Reader::command_line));
  return 1;
}

int run(int argc, char** argv) {
  const double start_s = steady_now_s();
  const auto take = [&](std::string_view flag) {
    if (argc < 2 || argv[1] != flag) return false;
    argv[1] = argv[0];
    ++argv;
    --argc;
    return true;
  };
  const bool fields = take("--fields");
  const bool by_wall_clock = fields && take("--wall");
  const bool plays_lessons = !fields && take("--lessons");
  const auto arguments = parse_arguments(argc, argv);
  if (!arguments) return refuse(arguments.error());
  auto scene = load_scene(arguments.value().scene);
  if (!scene) return refuse(scene.error());
  auto opened = Window::open(arguments.value().width, arguments.value().height, "AttnScope");
  if (!opened) return refuse(opened.error());
  Window& window = *opened.value();
  WindowedApp windowed(window, std::move(scene).value());
  window.set_vsync(false);
  if (fields) return change_fields(window, windowed, by_wall_clock) ? 0 : 1;
  if (plays_lessons) {
    const std::string& only = arguments.value().lesson;
    std::vector<std::string> names;
    for (const auto& shipped : lessons::list_shipped_lessons()) names.push_back(shipped.name);
    if (!only.empty()) names = {only};
    return LessonBench(window, windowed).run(names) ? 0 : 1;
  }
  play(window, windowed, start_s);
  return 0;
}

}  // namespace
}  // namespace attnscope::app

int main(int argc, char** argv) {
  return attnscope::app::run(argc, argv);
}
