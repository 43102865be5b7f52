#include "app/windowed_app.h"

#include <time.h>

#include <chrono>

namespace attnscope::app {

double steady_now_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

namespace {

/// CPU seconds that the calling thread has used.
double thread_cpu_s() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

}  // namespace

WindowedApp::WindowedApp(Window& window, Scene scene)
    : window_(window),
      app_(std::move(scene), [] { Window::wake(); }),
      screen_(make_panels(), make_panels()) {
  window_.attach_imgui();
  cpu_began_s_ = thread_cpu_s();
}

WindowedApp::~WindowedApp() {
  window_.detach_imgui();
}

void WindowedApp::build_frame(const std::function<void()>& put_input) {
  const double began_s = steady_now_s();
  if (window_.take_close_request()) app_.commands.push(Quit{});
  if (auto files = window_.take_dropped_files(); !files.empty()) {
    app_.commands.push(OpenFiles{std::move(files)});
  }
  app_.update(began_s);
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
  ++frames_drawn_;
  const double cpu_s = thread_cpu_s();
  ui_time_ = {cpu_s - cpu_began_s_, steady_now_s() - began_s};
  cpu_began_s_ = cpu_s;
}

void WindowedApp::draw_frame(const std::function<void()>& put_input) {
  build_frame(put_input);
  session_.render(window_.width(), window_.height(), screen_.surfaces());
  if (const auto text = app_.take_clipboard()) ImGui::SetClipboardText(text->c_str());
  save_pictures();
  window_.present();
  cpu_began_s_ = thread_cpu_s();
}

void WindowedApp::save_pictures() {
  for (const SavePicture& picture : app_.take_pictures()) {
    const std::string path = picture.stem + ".png";
    Image part = cropped(window_.read_pixels(), static_cast<int>(picture.rect.x),
                         static_cast<int>(picture.rect.y), static_cast<int>(picture.rect.z),
                         static_cast<int>(picture.rect.w));
    app_.save_file(path, [path, part = std::move(part)] { return write_png(path, part); });
  }
}

}  // namespace attnscope::app
