// Saves a scene, as Ctrl+S does, and a picture, in the same way as the app.
//   attnscope_save_program SCENE.json PICTURE.png
#include <fmt/core.h>

#include "app/platform/png.h"
#include "app/report/interruption.h"
#include "app/scene/scene.h"

namespace attnscope::app {
namespace {

constexpr int kSide = 16;  // pixels

int refuse(const Error& error) {
  fmt::print(stderr, "error: {}\n", error.message);
  return 1;
}

int run(int argc, char** argv) {
  if (argc != 3) return refuse(invalid_request("takes SCENE.json PICTURE.png"));
  auto scene = load_scene("default");
  if (!scene) return refuse(scene.error());
  if (const auto error = save_scene(scene.value(), argv[1])) return refuse(*error);
  const Image image{kSide, kSide, std::vector<std::uint8_t>(3 * kSide * kSide, 200)};
  if (const auto error = write_png(argv[2], image)) return refuse(*error);
  return 0;
}

}  // namespace
}  // namespace attnscope::app

int main(int argc, char** argv) {
  attnscope::end_on_signals();
  return attnscope::app::run(argc, argv);
}
