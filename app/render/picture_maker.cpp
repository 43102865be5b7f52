#include "app/render/picture_maker.h"

#include <chrono>
#include <thread>

#include "app/platform/svg.h"

namespace attnscope::app {

namespace {

/// Widgets that size themselves by their contents need a few frames: to measure the contents, to
/// apply the size, and for other widgets that depend on it.
constexpr int kSettlingFrames = 4;

}  // namespace

std::optional<Error> settle(App& app) {
  const auto waiting_for_gpu = [&] {
    return app.gpu().status().state == GpuRunner::State::opening;
  };
  do {
    app.update(0.0);
    if (app.first_error()) return *app.first_error();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  } while (!app.settled() || waiting_for_gpu());
  app.update(0.0);
  return std::nullopt;
}

Result<std::unique_ptr<PictureMaker>> PictureMaker::create(int width, int height) {
  auto surface = OffscreenContext::create(width, height);
  if (!surface) return surface.error();
  return std::unique_ptr<PictureMaker>(new PictureMaker(std::move(surface).value(), width, height));
}

Result<Image> PictureMaker::draw(App& app, std::optional<Slot> panel) {
  if (const auto error = draw_frames(app, kSettlingFrames, panel, nullptr)) return *error;
  return surface_->read_pixels();
}

Result<Image> PictureMaker::draw_moved(App& app) {
  if (const auto error = draw_frames(app, 1, {}, nullptr)) return *error;
  return surface_->read_pixels();
}

Result<std::string> PictureMaker::draw_svg(App& app, Slot panel) {
  TextRecorder recorder;
  if (const auto error = draw_frames(app, kSettlingFrames, panel, &recorder)) return *error;
  return svg_of(*ImGui::GetDrawData(), surfaces_, recorder.texts());
}

std::optional<Error> PictureMaker::draw_frames(App& app, int least, std::optional<Slot> panel,
                                               TextRecorder* recorder) {
  for (int frame = 0; frame < least || screen_.busy(); ++frame) {
    app.notice.reset();
    if (recorder != nullptr) recorder->clear();
    const Scales scales = scales_for(static_cast<float>(width_), static_cast<float>(height_), 1.0f,
                                     app.view.presenter);
    session_.begin_frame(app.view.theme, scales.layout, scales.font, {scales.font});
    surface_->begin_frame();
    std::optional<PlainEdges> plain;
    if (recorder != nullptr) plain.emplace();
    ImGui::NewFrame();
    if (panel) {
      surfaces_ = screen_.draw_alone(app, session_.fonts(), scales, 0.0, app.view.theme, *panel);
    } else {
      screen_.draw(app, session_.fonts(), scales, 0.0);
      surfaces_ = screen_.surfaces();
    }
    ImGui::Render();
    session_.render(width_, height_, surfaces_);
    if (const auto error = settle(app)) return error;
  }
  return std::nullopt;
}

}  // namespace attnscope::app
