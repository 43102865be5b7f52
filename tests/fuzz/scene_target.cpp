/// Scenes: a valid one is written again and read back.
#include <fmt/format.h>

#include <filesystem>

#include "app/scene/scene.h"
#include "tests/fuzz/fuzz_target.h"

namespace attnscope::fuzz {

void run_scene(std::string_view input) {
  // A written scene has absolute paths, so the input's paths must become absolute as well
  static const std::string name = (std::filesystem::current_path() / "input.json").string();
  const auto first = app::parse_scene(input, name);
  if (!first) return require_good_message(first.error());
  const std::string text = app::scene_text(first.value());
  const auto second = app::parse_scene(text, name);
  require(second.ok(),
          second ? "" : fmt::format("cannot read what was written: {}", second.error().message));
  require(second.value().view.choice == first.value().view.choice, "the run changed");
  require(app::scene_text(second.value()) == text, "reading and writing again changes the file");
}

}  // namespace attnscope::fuzz
