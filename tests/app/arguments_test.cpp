#include "app/arguments.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "kernels/recording/build_info.h"
#include "sim/device/assets.h"
#include "tests/support/documents.h"

namespace attnscope::app {
namespace {

Result<Arguments> parse(std::vector<std::string> words) {
  words.insert(words.begin(), "attnscope");
  std::vector<char*> argv;
  argv.reserve(words.size());
  for (std::string& word : words) argv.push_back(word.data());
  return parse_arguments(static_cast<int>(argv.size()), argv.data());
}

TEST(Arguments, WithoutAnyTheDefaultSceneOpensInAWindow) {
  const Result<Arguments> arguments = parse({});
  ASSERT_TRUE(arguments.ok());
  EXPECT_FALSE(arguments.value().render);
  EXPECT_EQ(arguments.value().scene, "default");
  EXPECT_EQ(arguments.value().width, 1600);
  EXPECT_EQ(arguments.value().height, 900);
}

TEST(Arguments, AreThoseThatTheDocumentsShow) {
  const std::filesystem::path root = ATTNSCOPE_SOURCE_DIR;
  int shown = 0;
  for (const std::string& document : test::documents_with_commands(root)) {
    for (const auto& command : test::commands_of(root / document, "attnscope")) {
      std::istringstream stream(command.words);
      const auto arguments = parse({std::istream_iterator<std::string>(stream), {}});
      ASSERT_TRUE(arguments.ok()) << document << ": " << arguments.error().message;
      const auto scene = find_asset("scenes", arguments.value().scene);
      EXPECT_TRUE(scene.ok()) << document << ": " << arguments.value().scene;
      ++shown;
    }
  }
  EXPECT_GE(shown, 4);
}

TEST(Arguments, RenderTakesASceneAStepASizeAndAFile) {
  const Result<Arguments> arguments =
      parse({"render", "--scene", "flash1-64", "--step", "12", "--size", "1280x720", "--out",
             "x.png", "--theme", "light", "--presenter"});
  ASSERT_TRUE(arguments.ok()) << arguments.error().message;
  EXPECT_TRUE(arguments.value().render);
  EXPECT_EQ(arguments.value().scene, "flash1-64");
  EXPECT_EQ(arguments.value().step, 12);
  EXPECT_EQ(arguments.value().width, 1280);
  EXPECT_EQ(arguments.value().height, 720);
  EXPECT_EQ(arguments.value().theme, ThemeName::light);
  EXPECT_EQ(arguments.value().presenter, true);
  EXPECT_EQ(arguments.value().out, "x.png");
}

TEST(Arguments, AWindowCanReportItsFramesAndItsWidgets) {
  const Result<Arguments> arguments = parse({"--log-frames", "--dump-ui", "--frames", "9"});
  ASSERT_TRUE(arguments.ok()) << arguments.error().message;
  EXPECT_TRUE(arguments.value().log_frames);
  EXPECT_TRUE(arguments.value().dump_ui);
  EXPECT_EQ(arguments.value().frames, 9);
  EXPECT_FALSE(parse({"--dump-ui"}).value().log_frames);
}

TEST(Arguments, ALessonTakesAStepCountedFrom1AndAnAnswersFile) {
  const Arguments lesson =
      parse({"--lesson", "swap-the-loops", "--step", "3", "--answers", "a.jsonl"}).value();
  EXPECT_EQ(lesson.lesson, "swap-the-loops");
  EXPECT_EQ(lesson.lesson_step, 2U);
  EXPECT_EQ(lesson.step, std::nullopt);
  EXPECT_EQ(lesson.answers, "a.jsonl");
}

TEST(Arguments, AnAnimationTakesARangeOfOperations) {
  const Arguments animation =
      parse({"render", "--step", "10-40", "--gif", "x.gif", "--mp4", "x.mp4"}).value();
  EXPECT_EQ(animation.step, 10);
  EXPECT_EQ(animation.last_step, 40);
  EXPECT_EQ(animation.gif, "x.gif");
  EXPECT_EQ(animation.mp4, "x.mp4");
}

TEST(Arguments, PresenterModeDefaultsToTheScenes) {
  EXPECT_EQ(parse({}).value().presenter, std::nullopt);
  EXPECT_EQ(parse({"--presenter"}).value().presenter, true);
  EXPECT_EQ(parse({"--no-presenter"}).value().presenter, false);
  EXPECT_EQ(parse({"render", "--out", "x.png", "--no-presenter"}).value().presenter, false);
}

TEST(Arguments, AnInvalidArgumentIsReportedInOneLine) {
  const std::vector<std::vector<std::string>> wrong{
      {"--no-such-option"},
      {"--size", "1600"},
      {"--size", "0x900"},
      {"--size", "320x320"},
      {"--size", "99999x900"},
      {"--size", "1600x900x2"},
      {"--theme", "pink"},
      {"render", "--out", "x.png", "--panel", "nothing"},
      {"render", "--out", "x.svg"},
      {"render", "--out", "x.SVG"},
      {"render", "--out", "x", "--lesson", "merging-tiles", "--panel", "scores"},
      {"render", "--out", "x", "--lesson", "merging-tiles", "--run-on-gpu"},
      {"render", "--gif", "x.gif", "--step", "0-4", "--run-on-gpu"},
      {"--step", "-1"},
      {"--step", "x"},
      {"--size", ""},
      {"--theme", ""},
      {"--step", ""},
      {"--step", "1.5"},
      {"--step", "7", "--step", "8"},
      {"render", "--out", "x.png", "--presenter", "--presenter"},
      {"--presenter", "--no-presenter"},
      {"render", "--out", "x.png", "--size", ""},
      {"--frames", "-3"},
      {"render"},
      {"render", "--out", "-"},
      {"render", "--out", "--size"},
      {"draw"},
      {"--lesson", "x", "--step", "0"},
      {"--lesson", "x", "--scene", "default"},
      {"render", "--gif", "x.gif"},
      {"render", "--gif", "x.gif", "--step", "7-3"},
      {"render", "--gif", "x.gif", "--step", "0-3", "--out", "x.png"},
  };
  for (const auto& words : wrong) {
    const Result<Arguments> arguments = parse(words);
    ASSERT_FALSE(arguments.ok()) << words.front();
    EXPECT_EQ(arguments.error().kind, Error::Kind::invalid_request);
    EXPECT_EQ(arguments.error().message.find('\n'), std::string::npos);
    EXPECT_FALSE(arguments.error().message.empty());
  }
}

TEST(Arguments, TheVersionIsALineThatNamesTheCommit) {
  const std::string line = parse({"--version"}).value().answer;
  EXPECT_THAT(line, testing::StartsWith("attnscope " + build_info().version + " ("));
  EXPECT_THAT(line, testing::EndsWith(build_info().commit + ")\n"));
}

TEST(Arguments, HelpIsAText) {
  EXPECT_THAT(parse({"--help"}).value().answer, testing::HasSubstr("render"));
  EXPECT_THAT(parse({"--help"}).value().answer,
              testing::HasSubstr("[B, H, N, d], [H, N, d] or [N, d]"));
  EXPECT_THAT(parse({"render", "--help"}).value().answer, testing::HasSubstr("--out"));
}

}  // namespace
}  // namespace attnscope::app
