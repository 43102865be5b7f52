/// The app in a real window: it is played, stepped back, clicked and typed into, and pixels are
/// checked.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <initializer_list>
#include <nlohmann/json.hpp>

#include "app/scene/scene.h"
#include "app/ui/theme.h"
#include "tests/app/screen/screen_session.h"
#include "tests/gui/window_session.h"

namespace attnscope::app {
namespace {

Rect whole_screen() {
  return {{0, 0}, {kWindowWidth, kWindowHeight}};
}

std::uint32_t hex_of(ImU32 color) {
  return ((color & 0xFF) << 16) | (color & 0xFF00) | ((color >> 16) & 0xFF);
}

/// The position of `name` after clicks on the openers have opened it, as found on a screen of the
/// same size without a window.
Rect rect_behind(std::initializer_list<std::string> openers, const std::string& name,
                 const std::string& scene = "default") {
  test::ScreenSession screen(scene);
  screen.resize(kWindowWidth, kWindowHeight);
  screen.settle();
  for (const std::string& opener : openers) screen.click(opener);
  return screen.rects().find(name).value();
}

TEST(Window, TheDefaultSceneShowsTheTensorsInTheirColours) {
  WindowSession window(kWindowWidth, kWindowHeight);
  const Picture shot = window.screenshot();
  ASSERT_EQ(shot.width, kWindowWidth);
  const Rect memory = window.rect_of("panel.memory");
  const Theme& dark = theme(ThemeName::dark);
  EXPECT_GT(count_near(shot, memory, hex_of(tensor_color(dark, "Q")), 3), 50);
  EXPECT_GT(count_near(shot, whole_screen(), hex_of(dark.card), 0),
            kWindowWidth * kWindowHeight / 5);
  EXPECT_EQ(window.final_state()["step"], 0);
}

TEST(Window, SteppingBackRestoresTheIdenticalPicture) {
  WindowSession window(kWindowWidth, kWindowHeight);
  const Picture before = window.screenshot();
  window.key("Right");
  const Picture one_further = window.screenshot();
  window.key("shift+Right");
  window.key("shift+Left");
  window.key("Home");
  window.key("Right");
  const Picture again = window.screenshot();
  EXPECT_GT(count_different(before, one_further, whole_screen()), 500);
  EXPECT_EQ(count_different(before, again, whole_screen()), 0);
  EXPECT_EQ(window.final_state()["step"], 0);
}

TEST(Window, SpacePlaysAndPauses) {
  WindowSession window(kWindowWidth, kWindowHeight);
  const Picture before = window.screenshot();
  const Rect scrub = window.rect_of("transport.scrub");
  window.key("space");
  while (count_different(before, window.capture(), scrub) <= 20) {
  }
  window.key("space");
  const Picture paused = window.screenshot();
  const Picture still_paused = window.screenshot();
  EXPECT_GT(count_different(before, paused, scrub), 20);
  EXPECT_EQ(count_different(paused, still_paused, whole_screen()), 0);
  const auto state = window.final_state();
  EXPECT_FALSE(state["playing"]);
  EXPECT_GT(state["step"], 0);
  EXPECT_EQ(state["step"], state["shown_step"]);
}

TEST(Window, AHiddenWindowHasItsPictureWhenItIsShownAgain) {
  WindowSession window(kWindowWidth, kWindowHeight);
  const Picture before = window.screenshot();
  window.send("search --name AttnScope windowunmap");
  EXPECT_FALSE(has_colors(window.capture()));
  window.send("search --name AttnScope windowmap");
  EXPECT_EQ(count_different(before, window.screenshot(), whole_screen()), 0);
}

TEST(Window, TheScrubBarSeeksByMouse) {
  WindowSession window(kWindowWidth, kWindowHeight);
  window.drag_to("transport.scrub", 0.75f);
  const auto state = window.final_state();
  const auto count = state["step_count"].get<double>();
  EXPECT_NEAR(state["step"].get<double>(), 0.75 * count, 0.02 * count);
  EXPECT_EQ(state["step"], state["shown_step"]);
}

TEST(Window, NChangesByKeyboard) {
  WindowSession window(kWindowWidth, kWindowHeight);
  window.click("field.seq_len");
  window.key("ctrl+a");
  window.type("100");
  window.key("Return");
  const auto state = window.final_state();
  EXPECT_EQ(state["problem"]["seq_len"], 100);
  EXPECT_EQ(state["problem"]["kv_len"], 100);
  EXPECT_GT(state["step_count"], 176);
  EXPECT_FALSE(state.contains("refused"));
}

TEST(Window, NChangesByMouse) {
  const Rect option = rect_behind({"field.seq_len.list"}, "option.seq_len.128");
  WindowSession window(kWindowWidth, kWindowHeight);
  window.click("field.seq_len.list");
  window.click_at(option);
  const auto state = window.final_state();
  EXPECT_EQ(state["problem"]["seq_len"], 128);
  EXPECT_EQ(state["problem"]["kv_len"], 128);
}

TEST(Window, AnotherSceneIsOpenedByMouse) {
  const Rect option = rect_behind({"field.scene"}, "option.scene.flash1-64");
  WindowSession window(kWindowWidth, kWindowHeight);
  window.click("field.scene");
  window.click_at(option);
  const auto state = window.final_state();
  EXPECT_EQ(state["scene"], "flash1-64");
  EXPECT_EQ(state["algorithm"], "flash1");
}

TEST(Window, AChartIsChosenByMouseAndEnlargedByKey) {
  WindowSession window(kWindowWidth, kWindowHeight);
  window.click("charts.tab.theorems");
  window.key("c");
  const auto dump = window.final_dump();
  EXPECT_EQ(dump["state"]["chart"], "theorems-seq_len");
  EXPECT_EQ(dump["state"]["enlarged"], "charts");
  EXPECT_GT(rect_in(dump, "panel.charts").width(), 0.95f * kWindowWidth);
}

TEST(Window, ARightClickEnlargesAPanelAndEscapeShowsAllAgain) {
  WindowSession window(kWindowWidth, kWindowHeight);
  window.click_at(window.rect_of("panel.ledger"), 3);
  window.key("Tab");
  window.key("Return");  // the first item of the menu
  EXPECT_EQ(window.final_state()["enlarged"], "ledger");

  WindowSession again(kWindowWidth, kWindowHeight);
  again.click_at(again.rect_of("panel.scores"), 3);
  again.key("Tab");
  again.key("Return");
  again.key("Escape");
  const auto dump = again.final_dump();
  EXPECT_EQ(dump["state"]["enlarged"], "none");
  EXPECT_LT(rect_in(dump, "panel.scores").width(), 0.5f * kWindowWidth);
}

TEST(Window, TheBackwardPassIsChosenByMouseAndSteppedThrough) {
  const Rect option = rect_behind({"field.pass"}, "option.pass.backward");
  WindowSession window(kWindowWidth, kWindowHeight);
  window.click("field.pass");
  window.click_at(option);
  window.key("End");
  const auto state = window.final_state();
  EXPECT_EQ(state["pass"], "backward");
  EXPECT_GT(state["step_count"], 176);
  EXPECT_EQ(state["shown_step"].get<int>(), state["step_count"].get<int>() - 1);
}

TEST(Window, ARaceIsOpenedAndPlayedToItsEnd) {
  const Rect option = rect_behind({"field.scene"}, "option.scene.race-standard");
  WindowSession window(kWindowWidth, kWindowHeight);
  window.click("field.scene");
  window.click_at(option);
  window.key("Right");
  window.key("End");
  const auto dump = window.final_dump();
  const auto& state = dump["state"];
  ASSERT_TRUE(state.contains("race"));
  EXPECT_EQ(state["race"]["against"], "standard");
  EXPECT_EQ(state["race"]["tick"], state["race"]["last_tick"]);
  EXPECT_EQ(state["shown_step"].get<int>(), state["step_count"].get<int>() - 1);

  // Two models side by side: a race shows no recorded number and no gap
  for (const auto& [name, rect] : dump["rects"].items()) {
    for (const char* panel : {"ledger.", "timeline.", "charts."}) {
      EXPECT_FALSE(name.starts_with(panel)) << name;
    }
  }
}

TEST(Window, ATileThatDoesNotFitIsShownInRedAndNothingIsLost) {
  WindowSession window(kWindowWidth, kWindowHeight);
  const Picture before = window.screenshot();
  window.click("field.Bc");
  window.key("ctrl+a");
  window.type("9000");
  window.key("Return");
  const Picture refused = window.screenshot();
  const Theme& dark = theme(ThemeName::dark);
  EXPECT_GT(count_near(refused, window.rect_of("field.Bc"), hex_of(dark.error_surface), 2), 100);
  EXPECT_EQ(count_different(before, refused, window.rect_of("panel.memory")), 0);
  const auto state = window.final_state();
  EXPECT_EQ(state["tiling"]["Bc"], 16);
  EXPECT_EQ(state["refused"]["field"], "Bc");
  EXPECT_THAT(state["refused"]["nearest"].get<std::string>(), testing::StartsWith("Bc = "));
}

TEST(Window, CtrlCInItsTerminalEndsItWithOneLine) {
  WindowSession window(kWindowWidth, kWindowHeight);
  window.key("space");
  const Finished finished = window.interrupt();
  EXPECT_EQ(finished.signal, SIGINT);
  EXPECT_EQ(finished.errors, "interrupted: no output file is incomplete\n");
}

TEST(Window, SplitsAreTypedBehindTheBarAndTooManyAreAnsweredByTheMostThereAre) {
  const Rect splits = rect_behind({"field.more"}, "field.splits", "split-kv");
  WindowSession window(kWindowWidth, kWindowHeight, {.scene = "split-kv"});
  window.click("field.more");
  window.click_at(splits);
  window.key("ctrl+a");
  window.type("4");
  window.key("Return");
  window.click_at(splits);
  window.key("ctrl+a");
  window.type("99");
  window.key("Return");
  const auto state = window.final_state();
  EXPECT_EQ(state["splits"], 4);
  EXPECT_EQ(state["refused"]["field"], "splits");
  EXPECT_EQ(state["refused"]["nearest"], "splits = 16");
}

TEST(Window, ASwitchOfTheKernelIsChosenBehindTheBar) {
  const Rect swizzle = rect_behind({"field.more"}, "field.switches.swizzle");
  const Rect off =
      rect_behind({"field.more", "field.switches.swizzle"}, "option.switches.swizzle.off");
  WindowSession window(kWindowWidth, kWindowHeight);
  window.click("field.more");
  window.click_at(swizzle);
  window.click_at(off);
  EXPECT_EQ(window.final_state()["switches"], "swizzle=off");
}

TEST(Window, AMissingFileIsReportedWhereItsNameWasTyped) {
  const Rect q = rect_behind({"field.more"}, "field.q");
  WindowSession window(kWindowWidth, kWindowHeight);
  window.click("field.more");
  window.click_at(q);
  window.key("ctrl+a");
  window.type("/no/such/q.npy");
  window.key("Return");
  const auto state = window.final_state();
  EXPECT_EQ(state["refused"]["field"], "q");
  EXPECT_THAT(state["refused"]["message"].get<std::string>(), testing::HasSubstr("no such file"));
  EXPECT_EQ(state["refused"]["nearest"], "Q = generated");
  EXPECT_FALSE(state["inputs"].contains("q"));
}

TEST(Window, GGoesToATypedTile) {
  WindowSession window(kWindowWidth, kWindowHeight);
  window.key("g");
  window.type("9, 9");
  window.key("Return");
  window.key("ctrl+a");
  window.type("2, 1");
  window.key("Return");
  window.key("Right");  // the entry is closed
  const auto state = window.final_state();
  EXPECT_GT(state["step"], 2 * 44);
  EXPECT_LT(state["step"], 3 * 44);
}

TEST(Window, AClickOnATileOfKGoesToItsNextLoad) {
  WindowSession window(kWindowWidth, kWindowHeight);
  const Rect K = window.rect_of("memory.tensor.K");
  const float quarter = K.height() / 4.0f;
  window.click_at({{K.min.x, K.min.y + 2.0f * quarter}, {K.max.x, K.max.y - quarter}});
  const auto dump = window.final_dump();
  EXPECT_GT(dump["state"]["step"], 4);
  EXPECT_EQ(dump["state"]["step"], dump["state"]["shown_step"]);
  EXPECT_TRUE(dump["rects"].contains("memory.pointed.K"));
  EXPECT_TRUE(dump["rects"].contains("timeline.pointed"));
}

TEST(Window, CtrlZTakesAChoiceBackAndCtrlShiftZMakesItAgain) {
  WindowSession window(kWindowWidth, kWindowHeight);
  window.click("field.seq_len");
  window.key("ctrl+a");
  window.type("100");
  window.key("Return");
  window.key("ctrl+z");
  window.key("ctrl+z");  // there is nothing more to undo
  window.key("ctrl+shift+z");
  window.key("ctrl+z");
  window.key("ctrl+y");
  const auto state = window.final_state();
  EXPECT_EQ(state["problem"]["seq_len"], 100);
  EXPECT_EQ(state["notice"], "redone: N = 100");
}

TEST(Window, EscapeDismissesAMessage) {
  WindowSession window(kWindowWidth, kWindowHeight);
  window.click("field.Bc");
  window.key("ctrl+a");
  window.type("9000");
  window.key("Return");
  window.key("Escape");
  const auto state = window.final_state();
  EXPECT_FALSE(state.contains("refused"));
  EXPECT_EQ(state["tiling"]["Bc"], 16);
}

TEST(Window, TabMovesTheFocusAndEnterPressesIt) {
  WindowSession window(kWindowWidth, kWindowHeight);
  window.click("field.seq_len");
  window.key("ctrl+a");
  window.type("128");
  window.key("Tab");  // to its list
  window.key("Tab");  // to d
  window.key("ctrl+a");
  window.type("32");
  window.key("Tab");  // to its list
  window.key("shift+Tab");
  window.key("shift+Tab");  // to the list of N
  window.key("Return");
  window.key("Down");
  window.key("Escape");
  const auto state = window.final_state();
  EXPECT_EQ(state["problem"]["seq_len"], 128);
  EXPECT_EQ(state["problem"]["head_dim"], 32);
  EXPECT_EQ(state["step"], 0);
}

TEST(Window, ASceneThatCannotBeOpenedIsReportedInTheDialog) {
  WindowSession window(kWindowWidth, kWindowHeight);
  window.key("ctrl+o");
  window.key("ctrl+a");
  window.type("/no/such/scene.json");
  window.key("Return");
  const auto dump = window.final_dump();
  EXPECT_TRUE(dump["rects"].contains("dialog.error"));
  EXPECT_EQ(dump["state"]["scene"], "default");
}

TEST(Window, ASceneThatPointsAtARowThatIsNotThereChangesNothing) {
  const ScratchFolder folder;
  Scene lost = load_scene("flash1-64").value();
  lost.view.query_row = 1000;
  ASSERT_FALSE(save_scene(lost, folder / "lost.json"));
  WindowSession window(kWindowWidth, kWindowHeight);
  window.key("ctrl+o");
  window.key("ctrl+a");
  window.type(folder / "lost.json");
  window.key("Return");
  const auto dump = window.final_dump();
  EXPECT_TRUE(dump["rects"].contains("dialog.error"));
  EXPECT_EQ(dump["state"]["scene"], "default");
}

TEST(Window, KeysChangeTheLooks) {
  WindowSession window(kWindowWidth, kWindowHeight);
  window.key("F1");
  const Picture help = window.screenshot();
  window.key("Escape");
  const Picture without = window.screenshot();
  EXPECT_GT(count_different(help, without, whole_screen()), 20000);
  window.key("t");
  window.key("f");
  window.key("plus");
  const auto state = window.final_state();
  EXPECT_EQ(state["theme"], "light");
  EXPECT_EQ(state["presenter"], true);
  EXPECT_EQ(state["show_keys"], false);
  EXPECT_EQ(state["speed"], 2.0);
}

}  // namespace
}  // namespace attnscope::app
