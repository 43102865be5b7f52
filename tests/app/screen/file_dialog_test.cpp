/// The dialog that opens files and saves scenes, and the list of scenes.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/app/screen/screen_session.h"
#include "tests/support/temp_dir.h"

namespace attnscope::app {
namespace {

using test::ScreenSession;
using test::TempDir;

/// Tests that run in a separate folder.
class FileDialog : public testing::Test {
 protected:
  FileDialog() { std::filesystem::current_path(dir_.path()); }
  ~FileDialog() override { std::filesystem::current_path(before_); }

  TempDir dir_;
  std::filesystem::path before_ = std::filesystem::current_path();
};

TEST_F(FileDialog, SavesUnderANameAndAsksBeforeItReplaces) {
  ScreenSession session;
  session.app().view.scene_dialog = true;
  session.settle();
  session.click("dialog.confirm");
  EXPECT_TRUE(std::filesystem::exists("mine.json"));
  EXPECT_FALSE(session.rects().find("dialog.path"));
  EXPECT_EQ(session.app().scene.title, "mine");

  std::ofstream("mine.json") << "precious";
  session.app().view.scene_dialog = true;
  session.settle();
  session.click("dialog.confirm");
  ASSERT_TRUE(session.rects().find("dialog.replace"));
  EXPECT_EQ(std::filesystem::file_size("mine.json"), 8u);
  session.click("dialog.replace");
  EXPECT_GT(std::filesystem::file_size("mine.json"), 100u);
  EXPECT_FALSE(session.rects().find("dialog.path"));
}

TEST_F(FileDialog, GoesToAFolderThatIsTypedAndRemembersIt) {
  std::filesystem::create_directory("inner");
  std::ofstream("inner/q.npy") << "";
  ScreenSession session;
  for (const bool again : {false, true}) {
    session.app().view.scene_dialog = false;
    session.settle();
    if (!again) {
      EXPECT_FALSE(session.rects().find("dialog.file.q.npy"));
      session.type("inner/");
      session.click("dialog.confirm");
    }
    EXPECT_TRUE(session.rects().find("dialog.file.q.npy"));
    EXPECT_FALSE(session.rects().find("dialog.error"));
    session.click("dialog.cancel");
  }
}

TEST_F(FileDialog, SavesPointsOfAChartAndAsksBeforeItReplaces) {
  ScreenSession session;
  session.click("charts.csv");
  ASSERT_TRUE(session.rects().find("dialog.path"));
  EXPECT_FALSE(session.rects().find("dialog.size")) << "only a picture has a size";
  EXPECT_TRUE(std::filesystem::is_empty(".")) << "nothing is saved before the name is confirmed";
  session.type("points.csv");
  session.click("dialog.confirm");
  ASSERT_TRUE(std::filesystem::exists("points.csv"));
  EXPECT_GT(std::filesystem::file_size("points.csv"), 100u);
  EXPECT_FALSE(session.rects().find("dialog.path"));

  std::ofstream("points.csv") << "precious";
  session.click("charts.csv");
  session.type("points.csv");
  session.click("dialog.confirm");
  ASSERT_TRUE(session.rects().find("dialog.replace"));
  EXPECT_EQ(std::filesystem::file_size("points.csv"), 8u);
  session.click("dialog.replace");
  EXPECT_GT(std::filesystem::file_size("points.csv"), 100u);
  EXPECT_FALSE(session.rects().find("dialog.path"));
}

TEST_F(FileDialog, SavesAPictureInAChosenSizeThemeAndFile) {
  ScreenSession session;
  const auto open_dialog = [&] {
    session.right_click(session.rects().find("panel.scores")->center());
    session.click("panel_menu.png");
    ASSERT_TRUE(session.rects().find("dialog.size"));
    session.type("scores.png");
  };
  open_dialog();
  session.click("dialog.size");
  session.type("800 by 600");
  session.click("dialog.confirm");
  EXPECT_TRUE(session.rects().find("dialog.error"));
  session.click("dialog.size");
  session.type("800x600");
  session.click("dialog.theme.light");
  session.click("dialog.confirm");
  EXPECT_FALSE(session.rects().find("dialog.path"));
  const auto pictures = session.app().take_pictures();
  ASSERT_EQ(pictures.size(), 1u);
  EXPECT_EQ(pictures[0].slot, Slot::scores);
  EXPECT_EQ(pictures[0].path, "scores.png");
  EXPECT_EQ(pictures[0].width, 800);
  EXPECT_EQ(pictures[0].height, 600);
  EXPECT_EQ(pictures[0].theme, ThemeName::light);
  EXPECT_EQ(session.app().view.theme, ThemeName::dark) << "of the screen";

  std::ofstream("scores.png") << "precious";
  open_dialog();
  session.click("dialog.confirm");
  ASSERT_TRUE(session.rects().find("dialog.replace"));
  EXPECT_TRUE(session.app().take_pictures().empty());
  session.click("dialog.replace");
  EXPECT_EQ(session.app().take_pictures().size(), 1u);

  // A folder that does not exist
  open_dialog();
  session.key(Key::escape);
  session.app().commands.push(SaveFile{PanelPicture{.path = "no/such/p.png"}});
  session.settle();
  EXPECT_TRUE(session.app().take_pictures().empty());
  ASSERT_TRUE(session.app().scene_answer);
  EXPECT_FALSE(session.app().scene_answer->error.empty());
}

TEST_F(FileDialog, OffersTheNearestFileToClick) {
  ScreenSession session;
  session.app().commands.push(SaveScene{"lecture"});
  session.app().commands.push(OpenScene{"flash1-64"});
  session.settle();
  session.app().view.scene_dialog = false;
  session.settle();
  session.type("lectrue.json");
  session.click("dialog.confirm");
  ASSERT_TRUE(session.rects().find("dialog.nearest"));
  session.click("dialog.nearest");
  EXPECT_EQ(session.app().scene.name, "lecture");
  EXPECT_FALSE(session.rects().find("dialog.path"));
}

TEST_F(FileDialog, BrowsesFoldersAndRecentFiles) {
  std::filesystem::create_directory("talk");
  ScreenSession session;
  session.app().commands.push(SaveScene{"talk/one"});
  session.settle();
  session.app().view.scene_dialog = false;
  session.settle();
  session.settle();  // until the folder is listed
  const std::string recent = "dialog.recent." + dir_.file("talk/one.json");
  EXPECT_TRUE(session.rects().find(recent)) << recent;
  session.click("dialog.folder.talk");
  ASSERT_TRUE(session.rects().find("dialog.file.one.json"));
  session.click("dialog.folder...");
  EXPECT_TRUE(session.rects().find("dialog.folder.talk"));
  session.click("dialog.folder.talk");
  session.click("dialog.file.one.json");
  EXPECT_EQ(session.app().scene.name, "one");
}

TEST_F(FileDialog, TheListOfScenesIsInLearningOrder) {
  ScreenSession session;
  session.click("field.scene");
  const auto first = session.rects().find("option.scene.standard-64");
  const auto later = session.rects().find("option.scene.flash2-backward");
  ASSERT_TRUE(first && later);
  EXPECT_LT(first->min.y, later->min.y);
}

TEST(UndoKeys, RedoHasTwoKeys) {
  ScreenSession session;
  const auto N = [&] { return session.app().view.choice.problem.N; };
  session.click("field.seq_len");
  session.type("128");
  session.key(Key::tab);
  ASSERT_EQ(N(), 128);
  session.click("panel.timeline");
  session.key(Key::z, /*with_shift=*/false, /*with_ctrl=*/true);
  EXPECT_EQ(N(), 64);
  session.key(Key::y, /*with_shift=*/false, /*with_ctrl=*/true);
  EXPECT_EQ(N(), 128);
  session.key(Key::z, /*with_shift=*/false, /*with_ctrl=*/true);
  session.key(Key::z, /*with_shift=*/true, /*with_ctrl=*/true);
  EXPECT_EQ(N(), 128);
}

}  // namespace
}  // namespace attnscope::app
