#include "app/files/user_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "app/arguments.h"
#include "tests/support/temp_dir.h"

namespace attnscope::app {
namespace {

using test::TempDir;
using testing::HasSubstr;

TEST(UserState, ComesBackAsItWasWritten) {
  const TempDir dir;
  Scene scene = load_scene("flash2-causal").value();
  scene.view.step = 17;
  scene.view.choice.problem.N = 96;
  scene.view.ledger_scope = LedgerScope::whole_pass;
  const UserState state{WindowRect{30, -40, 1280, 720},
                        ThemeName::light,
                        scene,
                        {"/home/me/q.npy", "/home/me/mine.json"}};
  const auto file = dir.path() / "a" / "b" / "state.json";
  ASSERT_FALSE(write_user_state(file, user_state_text(state)));
  const auto read = read_user_state(file);
  ASSERT_TRUE(read) << read.error().message;
  ASSERT_TRUE(read.value());
  const UserState& back = *read.value();
  EXPECT_EQ(back.window, state.window);
  EXPECT_EQ(back.theme, ThemeName::light);
  EXPECT_EQ(back.recent, state.recent);
  ASSERT_TRUE(back.scene);
  EXPECT_EQ(back.scene->name, "flash2-causal");
  EXPECT_EQ(back.scene->title, scene.title);
  EXPECT_EQ(back.scene->view.choice, scene.view.choice);
  EXPECT_EQ(back.scene->view.step, 17);
  EXPECT_EQ(back.scene->view.ledger_scope, LedgerScope::whole_pass);
}

TEST(UserState, IsMissingBeforeTheFirstStart) {
  const TempDir dir;
  for (const std::string& file : {dir.file("none.json"), std::string()}) {
    const auto read = read_user_state(file);
    ASSERT_TRUE(read);
    EXPECT_FALSE(read.value());
  }
}

TEST(UserState, ADamagedFileIsAnErrorOfOneLine) {
  const TempDir dir;
  const std::string file = dir.file("state.json");
  const std::string head = R"({"schema": "attnscope.state/1", )";
  for (const std::string& text :
       {std::string("{"), std::string("[]"), std::string(R"({"schema": "attnscope.scene/1"})"),
        std::string(R"({"schema": "attnscope.state/2"})"), head + R"("theme": "pink"})",
        head + R"("theme": 3})", head + R"("recent": [3]})", head + R"("recent": {}})",
        head + R"("window": {"width": -5, "height": 9, "x": 0, "y": 0}})", head + R"("window": 5})",
        head + R"("scene": {}})", head + R"("scene_file": "a", "scene": {}})"}) {
    std::ofstream(file) << text;
    const auto read = read_user_state(file);
    ASSERT_FALSE(read) << text;
    EXPECT_THAT(read.error().message, HasSubstr("state.json")) << text;
    EXPECT_EQ(read.error().message.find('\n'), std::string::npos);
  }
}

TEST(UserState, IsInTheFolderOfTheDesktopStandard) {
  ::setenv("XDG_STATE_HOME", "/somewhere", 1);
  EXPECT_EQ(user_state_file(), "/somewhere/attnscope/state.json");
  ::setenv("XDG_STATE_HOME", "relative", 1);
  ::setenv("HOME", "/home/me", 1);
  EXPECT_EQ(user_state_file(), "/home/me/.local/state/attnscope/state.json");
  ::unsetenv("XDG_STATE_HOME");
  ::setenv("HOME", "", 1);
  EXPECT_EQ(user_state_file(), "");
}

TEST(UserState, KeepsTheTenNewestFilesOnce) {
  std::vector<std::string> recent;
  for (int k = 0; k < 12; ++k) remember(recent, "/a/" + std::to_string(k));
  EXPECT_EQ(recent.size(), 10u);
  EXPECT_EQ(recent.front(), "/a/11");
  remember(recent, "/a/b/../5");
  EXPECT_EQ(recent.size(), 10u);
  EXPECT_EQ(recent.front(), "/a/5");
  EXPECT_EQ(std::ranges::count(recent, "/a/5"), 1);
}

Arguments parsed(std::vector<const char*> words) {
  words.insert(words.begin(), "attnscope");
  const auto arguments =
      parse_arguments(static_cast<int>(words.size()), const_cast<char**>(words.data()));
  EXPECT_TRUE(arguments);
  return arguments ? arguments.value() : Arguments{};
}

TEST(UserState, IsNotReadByPicturesAndByTests) {
  ::setenv("XDG_STATE_HOME", "/somewhere", 1);
  EXPECT_EQ(parsed({}).state, "/somewhere/attnscope/state.json");
  EXPECT_EQ(parsed({"render", "--out", "a.png"}).state, "");
  EXPECT_EQ(parsed({"--dump-ui"}).state, "");
  EXPECT_EQ(parsed({"--frames", "3"}).state, "");
  EXPECT_EQ(parsed({"--log-frames"}).state, "");
  EXPECT_EQ(parsed({"--state", "none"}).state, "");
  EXPECT_EQ(parsed({"--state", "/a/b.json", "--dump-ui"}).state, "/a/b.json");
  ::unsetenv("XDG_STATE_HOME");
}

TEST(UserState, ArgumentsAreKnownToBeGiven) {
  EXPECT_FALSE(parsed({}).scene_given);
  EXPECT_TRUE(parsed({"--scene", "default"}).scene_given);
  EXPECT_TRUE(parsed({"--q", "q.npy"}).scene_given);
  EXPECT_FALSE(parsed({}).size_given);
  EXPECT_TRUE(parsed({"--size", "1600x900"}).size_given);
}

}  // namespace
}  // namespace attnscope::app
