#include "app/platform/ffmpeg.h"
#include "app/platform/gif_writer.h"
#include "app/render/picture_maker.h"
#include "app/render/run_pictures.h"

namespace attnscope::app {

namespace {

/// Operations per second: slow enough to read, and a frame lasts a whole number of hundredths of a
/// second, the time unit of GIF.
constexpr int kFramesPerSecond = 5;

/// The files that are being written.
struct Animation {
  std::optional<GifWriter> gif;
  std::unique_ptr<FfmpegWriter> mp4;

  void add(const Image& image) {
    if (gif) gif->add(image);
    if (mp4) mp4->add(image);
  }
};

Result<Animation> open_files(const Arguments& arguments, const Scene& scene) {
  Animation animation;
  if (!arguments.mp4.empty()) {
    if (auto error = check_writable("--mp4", arguments.mp4, scene)) return *error;
    ATTNSCOPE_TRY(animation.mp4, FfmpegWriter::open(arguments.mp4, arguments.width,
                                                    arguments.height, kFramesPerSecond));
  }
  if (!arguments.gif.empty()) {
    if (auto error = check_writable("--gif", arguments.gif, scene)) return *error;
    auto gif =
        GifWriter::open(arguments.gif, arguments.width, arguments.height, 100 / kFramesPerSecond);
    if (!gif) return gif.error();
    animation.gif.emplace(std::move(gif).value());
  }
  return animation;
}

}  // namespace

std::optional<Error> render_animation(const Arguments& arguments, Scene scene) {
  ATTNSCOPE_TRY(Animation animation, open_files(arguments, scene));
  const bool raced = scene.view.race.has_value();
  scene.view.step = 0;
  scene.view.race_tick = 0;
  App app(std::move(scene), {});
  if (auto error = settle(app)) return error;
  if (raced && !app.view.race) {
    return invalid_request(app.notice ? app.notice->text : "the race cannot be run");
  }
  const Index last =
      app.course() != nullptr ? app.course()->last_tick() : app.snapshot()->run->step_count - 1;
  if (*arguments.last_step > last) {
    return invalid_request("--step {}-{}: the last {} is {}", *arguments.step, *arguments.last_step,
                           raced ? "tick" : "operation", last);
  }

  ATTNSCOPE_TRY(const auto pictures, PictureMaker::create(arguments.width, arguments.height));
  for (Index step = *arguments.step; step <= *arguments.last_step; ++step) {
    app.commands.push(raced ? Command(SeekTick{step}) : SeekTo{step});
    if (auto error = settle(app)) return error;
    const bool is_first = step == *arguments.step;
    ATTNSCOPE_TRY(const Image image, is_first ? pictures->draw(app) : pictures->draw_moved(app));
    animation.add(image);
  }
  if (animation.gif) {
    if (auto error = animation.gif->finish()) return error;
  }
  return animation.mp4 ? animation.mp4->finish() : std::nullopt;
}

}  // namespace attnscope::app
