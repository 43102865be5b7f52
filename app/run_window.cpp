#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <optional>

#include "app/app.h"
#include "app/field_bench.h"
#include "app/frame_times.h"
#include "app/platform/imgui_session.h"
#include "app/platform/window.h"
#include "app/program.h"
#include "app/screen/screen.h"

namespace attnscope::app {

namespace {

constexpr double kFrameSeconds = 1.0 / 60.0;
constexpr double kIdleSeconds = 0.1;
constexpr double kFieldFrameSeconds = 0.004;  // of --bench-fields: leaves the worker time
constexpr int kDefaultFrames = 300;           // of --bench
constexpr int kSettlingFrames = 5;            // of --dump-ui
constexpr int kFieldRuns = 3;                 // of --bench-fields
constexpr double kBenchSpeed = 16.0;          // nearly one operation a frame at 60 frames a second

/// Everything that lives as long as the window.
class WindowedApp {
 public:
  WindowedApp(Window& window, Scene scene, const Arguments& arguments)
      : window_(window),
        arguments_(arguments),
        app_(std::move(scene), [] { Window::wake(); }),
        screen_(make_panels(), make_panels()) {
    window_.attach_imgui();
    if (arguments_.bench) {
      window_.set_vsync(false);
      app_.view.playing = true;
      app_.view.speed = kBenchSpeed;
    }
    if (arguments_.bench_fields) {
      window_.set_vsync(false);
      app_.view.playing = false;
    }
    ui_began_s_ = thread_cpu_s();
  }
  ~WindowedApp() { window_.detach_imgui(); }
  WindowedApp(const WindowedApp&) = delete;
  WindowedApp& operator=(const WindowedApp&) = delete;

  /// Draws frames until the window is closed, or the arguments' work is done, and prints what they
  /// ask for; the exit status.
  int run(double start_s);

 private:
  void draw_frame(const std::function<void()>& put_input);
  void after_frame();
  void wait_for_next_frame(double frame_began_s);
  bool finished() const;
  int bench_fields();

  Window& window_;
  const Arguments& arguments_;
  ImGuiSession session_;
  App app_;
  Screen screen_;
  double ui_began_s_ = 0.0;
  double ui_cpu_s_ = 0.0;  ///< CPU time of this thread in the last frame, without rasterising it
  int frames_drawn_ = 0;
  int settled_frames_ = 0;
};

void WindowedApp::draw_frame(const std::function<void()>& put_input) {
  app_.update(steady_now_s());
  if (arguments_.bench && !app_.view.playing) app_.commands.push(TogglePlay{});
  const auto width = static_cast<float>(window_.width());
  const auto height = static_cast<float>(window_.height());
  const float content_scale = window_.content_scale();
  const Scales desk = scales_for(width, height, content_scale, false);
  const Scales presenter = scales_for(width, height, content_scale, true);
  const Scales& scales = app_.view.presenter ? presenter : desk;
  session_.begin_frame(app_.view.theme, scales.layout, scales.font, {desk.font, presenter.font});
  window_.begin_frame();
  if (put_input) put_input();
  ImGui::NewFrame();
  screen_.draw(app_, session_.fonts(), scales, steady_now_s());
  ImGui::Render();
  ui_cpu_s_ = thread_cpu_s() - ui_began_s_;

  // Only the work before this line is measured while fields are changed
  if (!arguments_.bench_fields) {
    session_.render(window_.width(), window_.height(), screen_.surfaces());
    after_frame();
    window_.present();
  }
  ui_began_s_ = thread_cpu_s();
  ++frames_drawn_;
  settled_frames_ = app_.settled() && !screen_.busy() ? settled_frames_ + 1 : 0;
}

void WindowedApp::after_frame() {
  if (const auto text = app_.take_clipboard()) ImGui::SetClipboardText(text->c_str());
  for (const SavePicture& picture : app_.take_pictures()) {
    const std::string path = picture.stem + ".png";
    const Image part = cropped(window_.read_pixels(), static_cast<int>(picture.rect.x),
                               static_cast<int>(picture.rect.y), static_cast<int>(picture.rect.z),
                               static_cast<int>(picture.rect.w));
    const auto error = write_png(path, part);
    app_.show_notice(error ? words(*error, Reader::screen) : "saved " + path);
  }
}

void WindowedApp::wait_for_next_frame(double frame_began_s) {
  const bool moving = app_.view.playing || !app_.settled() || screen_.busy() ||
                      (arguments_.dump_ui && arguments_.frames == 0) || app_.notice.has_value();
  double wait_s = moving ? kFrameSeconds - (steady_now_s() - frame_began_s) : kIdleSeconds;
  if (arguments_.bench) wait_s = 0.0;
  if (arguments_.bench_fields) wait_s = kFieldFrameSeconds - (steady_now_s() - frame_began_s);
  window_.handle_events(std::max(wait_s, 0.0));
}

bool WindowedApp::finished() const {
  if (window_.should_close() || app_.wants_to_quit()) return true;
  if (arguments_.bench_fields) return false;
  const int bench_frames = arguments_.bench ? kDefaultFrames : 0;
  const int limit = arguments_.frames > 0 ? arguments_.frames : bench_frames;
  if (limit > 0) return frames_drawn_ >= limit;
  return arguments_.dump_ui && settled_frames_ >= kSettlingFrames;
}

/// Changes every field and prints what that costs; the exit status.
int WindowedApp::bench_fields() {
  const auto draw = [this](const std::function<void()>& put_input) -> std::optional<double> {
    if (finished()) return std::nullopt;
    const double began_s = steady_now_s();
    draw_frame(put_input);
    wait_for_next_frame(began_s);
    return ui_cpu_s_;
  };
  FieldBench bench(app_, screen_, draw);
  bench.run(kFieldRuns);
  fmt::print(
      "UI thread, CPU time of the slowest frame while a field is changed, without "
      "rasterising and presenting:\n{}",
      bench.report());
  for (const std::string& problem : bench.problems()) fmt::print(stderr, "{}\n", problem);
  return bench.problems().empty() ? kDone : kFailed;
}

int WindowedApp::run(double start_s) {
  if (arguments_.bench_fields) return bench_fields();
  FrameTimes times;
  FrameTimes ui_times;
  double first_frame_s = 0.0;
  double first_snapshot_s = 0.0;
  double previous_s = 0.0;
  while (!finished()) {
    const double began_s = steady_now_s();
    draw_frame({});
    const double now_s = steady_now_s();
    if (frames_drawn_ == 1) first_frame_s = now_s - start_s;
    if (first_snapshot_s == 0.0 && app_.snapshot()) first_snapshot_s = now_s - start_s;
    wait_for_next_frame(began_s);

    // From one frame's end to the next's
    if (first_snapshot_s > 0.0 && previous_s > 0.0) {
      times.add(now_s - previous_s);
      ui_times.add(ui_cpu_s_);
    }
    previous_s = now_s;
  }

  if (arguments_.bench) {
    fmt::print("frames at {}x{}: {}\n", window_.width(), window_.height(), times.summary());
    fmt::print("UI thread, CPU time of a frame without rasterising and presenting: {}\n",
               ui_times.slowest_summary());
    fmt::print("first frame after {:.3f} s, first picture of the problem after {:.3f} s\n",
               first_frame_s, first_snapshot_s);
  }
  if (arguments_.dump_ui) {
    fmt::print("{}\n", ui_as_json(app_, screen_.rects(), window_.width(), window_.height()));
  }
  return kDone;
}

}  // namespace

int run_window(const Arguments& arguments, Scene scene, double start_s) {
  auto opened = Window::open(arguments.width, arguments.height, "AttnScope");
  if (!opened) {
    return report(unavailable(opened.error().message +
                              "; without one, use: attnscope render --scene default --step 0 "
                              "--size 1600x900 --out picture.png"));
  }
  return WindowedApp(*opened.value(), std::move(scene), arguments).run(start_s);
}

}  // namespace attnscope::app
