/// Scenes and pictures that a user saves in a real window.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "app/ui/theme.h"
#include "tests/gui/window_session.h"

namespace attnscope::app {
namespace {

TEST(Window, ASceneIsSavedAndOpenedAgain) {
  const ScratchFolder folder;
  const std::string path = folder / "mine.json";
  WindowSession window(kWindowWidth, kWindowHeight);
  window.key("shift+Right");
  window.key("ctrl+s");
  window.key("ctrl+a");
  window.type(path);
  window.key("Return");
  window.key("Home");
  window.key("ctrl+o");
  window.key("ctrl+a");
  window.type(path);
  window.key("Return");
  const auto state = window.final_state();
  EXPECT_TRUE(std::filesystem::exists(path));
  EXPECT_EQ(state["scene"], "mine");
  EXPECT_GT(state["step"], 0);
}

TEST(Window, APictureOfAPanelIsSavedInAChosenSizeThemeAndFile) {
  const ScratchFolder folder;
  const std::string path = folder / "scores.png";
  WindowSession window(kWindowWidth, kWindowHeight);
  window.click_at(window.rect_of("panel.scores"), 3);
  window.key("Tab");
  window.key("Tab");
  window.key("Return");  // the second item of the menu
  window.key("ctrl+a");
  window.type(path);
  window.key("Tab");
  window.key("ctrl+a");
  window.type("640x400");
  for (const char* const key : {"Tab", "Tab", "Return", "Tab", "Tab", "Return"}) window.key(key);
  const auto state = window.final_state();
  EXPECT_EQ(state["theme"], "dark") << "of the screen";
  ASSERT_TRUE(std::filesystem::exists(path));
  const Picture picture = read_picture(path);
  EXPECT_EQ(picture.width, 640);
  EXPECT_EQ(picture.height, 400);
  const ImU32 card = theme(ThemeName::light).card;
  const std::uint32_t light = ((card & 0xFF) << 16) | (card & 0xFF00) | ((card >> 16) & 0xFF);
  EXPECT_GT(count_near(picture, {{0.0f, 0.0f}, {640.0f, 400.0f}}, light, 2), 20000);
}

}  // namespace
}  // namespace attnscope::app
