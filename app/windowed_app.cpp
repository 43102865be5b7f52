#include "app/windowed_app.h"

#include <time.h>

#include <chrono>
#include <optional>
#include <utility>

#include "app/panels/panels.h"
#include "app/platform/framebuffer.h"
#include "app/platform/svg.h"
#include "app/ui/separate_frames.h"
#include "reference/files/file_writer.h"

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

Scales WindowedApp::scales(bool presenter) const {
  return scales_for(static_cast<float>(window_.width()), static_cast<float>(window_.height()),
                    window_.content_scale(), presenter);
}

bool WindowedApp::build_frame(const std::function<void()>& put_input) {
  const double began_s = steady_now_s();
  if (window_.take_close_request()) app_.commands.push(Quit{});
  if (auto files = window_.take_dropped_files(); !files.empty()) {
    app_.commands.push(OpenFiles{std::move(files)});
  }
  app_.update(began_s);
  const Scales shown = scales(app_.view.presenter);
  session_.begin_frame(app_.view.theme, shown.layout, shown.font,
                       {scales(false).font, scales(true).font});
  window_.begin_frame();
  if (put_input) put_input();
  ImGui::NewFrame();
  screen_.draw(app_, session_.fonts(), shown, steady_now_s());
  ImGui::Render();
  const bool is_new = session_.note_picture(window_.width(), window_.height(), screen_.surfaces());
  ++frames_drawn_;
  const double cpu_s = thread_cpu_s();
  ui_time_ = {cpu_s - cpu_began_s_, steady_now_s() - began_s};
  cpu_began_s_ = cpu_s;
  return is_new;
}

bool WindowedApp::draw_frame(Redraw redraw) {
  const bool is_new = build_frame();
  if (window_.take_redraw_request() || is_new || redraw == Redraw::always) {
    session_.render(window_.width(), window_.height(), screen_.surfaces());
    window_.present();
  }
  if (const auto text = app_.take_clipboard()) ImGui::SetClipboardText(text->c_str());
  save_pictures();
  cpu_began_s_ = thread_cpu_s();
  return is_new;
}

void WindowedApp::save_pictures() {
  for (const PanelPicture& picture : app_.take_pictures()) save_picture(picture);
}

void WindowedApp::save_picture(const PanelPicture& picture) {
  const std::string& path = picture.path;
  const Framebuffer pixels(picture.width, picture.height);
  if (!pixels.is_complete()) {
    return app_.save_file(path, [picture]() -> std::optional<Error> {
      return failed("{}: the OpenGL driver cannot draw {} x {} pixels", picture.path, picture.width,
                    picture.height);
    });
  }
  const SeparateFrames frames;
  const auto width = static_cast<float>(picture.width);
  const auto height = static_cast<float>(picture.height);
  ImGui::GetIO().DisplaySize = {width, height};
  ImGui::GetIO().DisplayFramebufferScale = {1.0f, 1.0f};
  const Scales of_picture = scales_for(width, height, 1.0f, app_.view.presenter);
  const bool is_svg = is_svg_file(path);
  std::optional<PlainEdges> plain;
  TextRecorder recorder;
  std::vector<Surface> surfaces;
  // Twice: widgets that size themselves by their contents need a frame to measure them
  for (int frame = 0; frame < 2; ++frame) {
    recorder.clear();
    session_.begin_frame(picture.theme, of_picture.layout, of_picture.font,
                         {scales(false).font, scales(true).font, of_picture.font});
    if (is_svg) plain.emplace();
    ImGui::NewFrame();
    surfaces = screen_.draw_alone(app_, session_.fonts(), of_picture, steady_now_s(), picture.theme,
                                  picture.slot, picture.of_rival);
    ImGui::Render();
  }
  if (is_svg) {
    const std::string svg = svg_of(*ImGui::GetDrawData(), surfaces, recorder.texts());
    return app_.save_file(path, [path, svg] { return write_file(path, svg); });
  }
  session_.render(picture.width, picture.height, surfaces);
  app_.save_file(path, [path, image = pixels.read_pixels()] { return write_png(path, image); });
}

}  // namespace attnscope::app
