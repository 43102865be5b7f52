/// What the app remembers from one start to the next, in a real window.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <fstream>
#include <nlohmann/json.hpp>

#include "app/files/user_state.h"
#include "tests/gui/window_session.h"
#include "tests/support/wait_until.h"

namespace attnscope::app {
namespace {

using nlohmann::json;

/// Starts the app with the same state file each time.
class WindowState : public testing::Test {
 protected:
  Finished start(std::vector<std::string> options) {
    std::vector<std::string> words{ATTNSCOPE_PROGRAM, "--dump-ui", "--state", file_.string()};
    words.insert(words.end(), options.begin(), options.end());
    Finished finished = attnscope::app::run(words, {display_.setting()});
    EXPECT_EQ(finished.status, 0) << finished.errors;
    return finished;
  }
  json dump_of(std::vector<std::string> options = {}) {
    return json::parse(start(std::move(options)).output);
  }

  Display display_{1600, 900};
  ScratchFolder folder_;
  std::filesystem::path file_ = folder_ / "state.json";
};

TEST_F(WindowState, TheFirstStartOffersFourChoicesAndLaterOnesResume) {
  const json first = dump_of();
  EXPECT_TRUE(first["rects"].contains("welcome"));
  EXPECT_EQ(first["state"]["scene"], "default");
  EXPECT_TRUE(std::filesystem::exists(file_));

  dump_of({"--scene", "flash2-causal", "--theme", "light", "--size", "1280x720", "--step", "33"});
  const json later = dump_of();
  EXPECT_FALSE(later["rects"].contains("welcome"));
  EXPECT_EQ(later["state"]["scene"], "flash2-causal");
  EXPECT_EQ(later["state"]["step"], 33);
  EXPECT_EQ(later["state"]["theme"], "light");
  EXPECT_EQ(later["window"]["width"], 1280);
  EXPECT_EQ(later["window"]["height"], 720);
}

TEST_F(WindowState, IsWrittenWhileTheProgramRuns) {
  Process program({ATTNSCOPE_PROGRAM, "--state", file_.string(), "--scene", "flash2-causal",
                   "--theme", "light", "--step", "33"},
                  {display_.setting()});
  const auto is_written = [&] { return std::filesystem::exists(file_); };
  ASSERT_TRUE(test::wait_until(is_written, program.id()));
  program.send(SIGTERM);
  EXPECT_EQ(program.wait().signal, SIGTERM);
  const auto state = read_user_state(file_);
  ASSERT_TRUE(state && state.value() && state.value()->scene);
  EXPECT_EQ(state.value()->scene->name, "flash2-causal");
  EXPECT_EQ(state.value()->scene->view.step, 33);
  EXPECT_EQ(state.value()->theme, ThemeName::light);
}

TEST_F(WindowState, ArgumentsOverrideWhatIsRemembered) {
  dump_of({"--scene", "flash2-causal", "--theme", "light", "--size", "1280x720"});
  const json given = dump_of({"--scene", "flash1-64", "--theme", "contrast", "--size", "1600x900"});
  EXPECT_EQ(given["state"]["scene"], "flash1-64");
  EXPECT_EQ(given["state"]["theme"], "contrast");
  EXPECT_EQ(given["window"]["width"], 1600);
}

TEST_F(WindowState, ALessonResumesWhereItWasLeft) {
  EXPECT_EQ(dump_of({"--lesson", "merging-tiles", "--step", "3"})["state"]["lesson"]["step"], 3);
  EXPECT_TRUE(std::filesystem::exists(folder_ / "state.lessons.json"));
  EXPECT_EQ(dump_of({"--lesson", "merging-tiles"})["state"]["lesson"]["step"], 3);
}

TEST_F(WindowState, ARunOfALessonDoesNotResumeUnderTheNameOfTheScene) {
  dump_of({"--lesson", "standard-writes-s-and-p", "--step", "3"});
  const auto state = read_user_state(file_);
  ASSERT_TRUE(state && state.value() && state.value()->scene);
  EXPECT_EQ(state.value()->scene->title, "Your own choice");
  EXPECT_EQ(state.value()->scene->view.timeline_tab, TimelineTab::operations);
  EXPECT_EQ(state.value()->scene->view.ledger_scope, LedgerScope::so_far);
}

TEST_F(WindowState, ADamagedFileIsIgnoredWithAMessage) {
  std::ofstream(file_) << "{ damaged";
  const json dump = dump_of();
  EXPECT_EQ(dump["state"]["scene"], "default");
  EXPECT_FALSE(dump["rects"].contains("welcome"));
  EXPECT_THAT(dump["state"]["notice"].get<std::string>(), testing::HasSubstr("state.json"));
  EXPECT_TRUE(read_user_state(file_)) << "it is whole again";
}

TEST_F(WindowState, APictureNeitherReadsNorWritesIt) {
  dump_of({"--scene", "flash2-causal"});
  const std::string before = read_file(file_);
  const std::string out = folder_ / "a.png";
  const Finished done = attnscope::app::run(
      {ATTNSCOPE_PROGRAM, "render", "--step", "3", "--size", "1280x720", "--out", out},
      {"XDG_STATE_HOME=" + folder_.path().string()});
  EXPECT_EQ(done.status, 0) << done.errors;
  EXPECT_EQ(read_file(file_), before);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "attnscope"));
}

}  // namespace
}  // namespace attnscope::app
