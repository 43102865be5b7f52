/// `attnscope render`: pictures without a window.

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <memory>
#include <utility>

#include "app/arguments.h"
#include "app/panels/warps/warp_parts.h"
#include "app/play/playhead.h"
#include "app/render/picture_maker.h"
#include "app/scene/choice_rules.h"
#include "app/scene/scene.h"
#include "reference/npy.h"
#include "sim/device/assets.h"
#include "tests/gui/picture.h"
#include "tests/gui/process.h"

namespace attnscope::app {
namespace {

using testing::HasSubstr;
using testing::Not;

/// A picture of the scene; fails the test when the program does.
Picture render(const std::string& scene, Index step, const std::string& size,
               const std::vector<std::string>& more = {}) {
  const ScratchFolder folder;
  const std::string out = folder / "out.png";
  std::vector<std::string> words{ATTNSCOPE_PROGRAM,    "render", "--scene", scene,   "--step",
                                 std::to_string(step), "--size", size,      "--out", out};
  words.insert(words.end(), more.begin(), more.end());
  const Finished finished = run(words);
  EXPECT_EQ(finished.status, 0) << finished.errors;
  EXPECT_EQ(finished.errors, "");
  return read_picture(out);
}

/// The same picture, drawn in this process: many pictures then share the shipped recordings, whose
/// reading takes half of the time of a program that draws one.
Picture render_here(const std::string& scene_name, Index step) {
  const ScratchFolder folder;
  Arguments arguments;
  arguments.render = true;
  arguments.step = step;
  arguments.width = 1280;
  arguments.height = 720;
  arguments.out = folder / "out.png";
  Scene scene = load_scene(scene_name).value();
  (scene.view.race ? scene.view.race_tick : scene.view.step) = step;
  testing::internal::CaptureStderr();
  const int status = run_render(arguments, std::move(scene));
  const std::string errors = testing::internal::GetCapturedStderr();
  EXPECT_EQ(status, kDone) << errors;
  EXPECT_EQ(errors, "");
  return read_picture(arguments.out);
}

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(Render, APanelAloneHasTheWholePictureAndNoTabs) {
  const Picture alone = render("default", 20, "900x600", {"--panel", "memory"});
  EXPECT_EQ(alone.width, 900);
  EXPECT_GT(count_colors(alone), 100u);
  const ScratchFolder folder;
  for (const std::string panel :
       {"memory", "scores", "online_softmax", "explain", "ledger", "timeline", "charts"}) {
    const std::string out = folder / (panel + ".svg");
    const Finished finished = run({ATTNSCOPE_PROGRAM, "render", "--step", "20", "--size", "900x600",
                                   "--panel", panel, "--out", out});
    ASSERT_EQ(finished.status, 0) << finished.errors;
    const std::string svg = text_of(out);
    EXPECT_THAT(svg, HasSubstr("width=\"900\" height=\"600\""));
    EXPECT_THAT(svg, HasSubstr("<text "));
    EXPECT_THAT(svg, testing::EndsWith("</svg>\n"));
    for (const char* const tab : {"WARPS", "latest", "WHY ONLINE", "CUDA source", "whole pass",
                                  "SMs", "theorems", "copy CSV"}) {
      EXPECT_THAT(svg, Not(HasSubstr(fmt::format(">{}</text>", tab)))) << panel;
    }
  }
  EXPECT_THAT(text_of(folder / "memory.svg"), HasSubstr(">SRAM of one thread block</text>"));
  EXPECT_THAT(text_of(folder / "charts.svg"), HasSubstr(">BYTES AGAINST N</text>"));
}

TEST(Render, ThePictureHasTheSizeThatWasAskedFor) {
  for (const auto& [size, width, height] :
       {std::tuple{"1280x720", 1280, 720}, {"1600x900", 1600, 900}, {"3840x2160", 3840, 2160}}) {
    const Picture picture = render("default", 0, size);
    EXPECT_EQ(picture.width, width);
    EXPECT_EQ(picture.height, height);
    EXPECT_GT(count_colors(picture), 200u);
  }
}

TEST(Render, TheSameStepGivesTheSamePixels) {
  EXPECT_EQ(render("default", 50, "1280x720"), render("default", 50, "1280x720"));
}

TEST(Render, ThisProcessDrawsThePixelsOfTheProgram) {
  EXPECT_EQ(render_here("flash2-causal", 20), render("flash2-causal", 20, "1280x720"));
}

TEST(Render, AnotherStepGivesAnotherPicture) {
  const Picture before = render("default", 50, "1280x720");
  const Picture after = render("default", 51, "1280x720");
  EXPECT_GT(count_different(before, after, {{0, 0}, {1280, 720}}), 500);
}

/// Seeks the step and draws it.
Picture picture_at(PictureMaker& pictures, App& app, Index step) {
  app.commands.push(app.course() != nullptr ? Command(SeekTick{step}) : SeekTo{step});
  EXPECT_FALSE(settle(app));
  const auto image = pictures.draw(app);
  return image ? picture_of(image.value()) : Picture{};
}

/// The picture of a scene's last step.
struct LastPicture {
  std::string scene;
  Index step = 0;
  Picture picture;
};

/// Draws the first, middle and last step of every scene; the pictures of a scene share its
/// simulation, and all pictures share fonts and shaders.
void draw_every_scene(std::vector<LastPicture>& last_pictures) {
  const auto pictures = PictureMaker::create(1280, 720);
  ASSERT_TRUE(pictures.ok());
  for (const std::string& scene : list_assets("scenes")) {
    App app(load_scene(scene).value(), {});
    ASSERT_FALSE(settle(app)) << scene;
    const Index last =
        app.course() != nullptr ? app.course()->last_tick() : app.snapshot()->run->step_count - 1;
    Picture picture;
    for (const Index step : {Index{0}, last / 2, last}) {
      picture = picture_at(*pictures.value(), app, step);
      EXPECT_EQ(picture.width, 1280) << scene;
      EXPECT_GT(count_colors(picture), 200u) << scene << " at step " << step;
    }
    last_pictures.push_back({scene, last, std::move(picture)});
  }
}

TEST(Render, EverySceneIsDrawnAtItsFirstMiddleAndLastStep) {
  std::vector<LastPicture> last_pictures;
  draw_every_scene(last_pictures);
  EXPECT_EQ(last_pictures.size(), list_assets("scenes").size());
  for (const LastPicture& last : last_pictures) {
    EXPECT_EQ(render_here(last.scene, last.step), last.picture) << last.scene;
  }
}

TEST(Render, ThemesAndPresenterModeLookDifferent) {
  const Picture dark = render("default", 50, "1280x720");
  const Picture light = render("default", 50, "1280x720", {"--theme", "light"});
  const Picture contrast = render("default", 50, "1280x720", {"--theme", "contrast"});
  const Picture presenter = render("default", 50, "1280x720", {"--presenter"});
  const Rect all{{0, 0}, {1280, 720}};
  EXPECT_GT(count_different(dark, light, all), 500000);
  EXPECT_GT(count_different(dark, contrast, all), 500000);
  EXPECT_GT(count_different(dark, presenter, all), 50000);
}

TEST(Render, TheWarpsOfAThreadBlockHaveTheirColoursInEveryThemeAndInPresenterMode) {
  const auto red_green_blue = [](ImU32 color) {
    return (color & 0xFFU) << 16 | (color & 0xFF00U) | (color >> 16 & 0xFFU);
  };
  const Rect left_column{{0, 0}, {640, 720}};
  for (const std::vector<std::string>& more :
       {std::vector<std::string>{}, {"--theme", "light"}, {"--presenter"}}) {
    const Picture warps = render("warps", 12, "1280x720", more);
    const bool light = !more.empty() && more.back() == "light";
    const Theme& look = theme(light ? ThemeName::light : ThemeName::dark);
    for (Index warp = 0; warp < kPaperWarps; ++warp) {
      const std::uint32_t color = red_green_blue(warp_color(look, warp, kPaperWarps));
      EXPECT_GT(count_near(warps, left_column, color, 2), 800) << "warp " << warp;
    }
  }
}

TEST(Render, NothingRemainsOnTheScreenThatWouldMoveTheTransportBar) {
  // The bar's buttons are at the same pixels in every scene and step
  const Picture a = render("default", 3, "1600x900");
  const Picture b = render("standard-64", 40, "1600x900");
  EXPECT_EQ(count_different(a, b, {{0, 845}, {480, 895}}), 0);
}

struct BadCase {
  std::vector<std::string> words;
  std::string part;  ///< a part of the message
};

/// Expects one line on standard error, and status 2.
void expect_refused(const BadCase& bad) {
  std::vector<std::string> words{ATTNSCOPE_PROGRAM, "render"};
  words.insert(words.end(), bad.words.begin(), bad.words.end());
  const Finished finished = run(words);
  EXPECT_EQ(finished.status, 2) << finished.errors;
  EXPECT_THAT(finished.errors, HasSubstr(bad.part));
  EXPECT_EQ(std::count(finished.errors.begin(), finished.errors.end(), '\n'), 1) << finished.errors;
  EXPECT_EQ(finished.output, "");
}

TEST(Render, BadRequestsGetOneLineAndStatusTwo) {
  const ScratchFolder folder;
  const std::string out = folder / "out.png";
  Scene lost = load_scene("default").value();
  lost.view.query_row = 64;
  const std::string no_such_row = folder / "row.json";
  ASSERT_FALSE(save_scene(lost, no_such_row));
  lost.view.query_row = 0;
  lost.view.race = Race{rival_of(lost.view.choice, "standard")};
  lost.view.race_tick = 100000;
  const std::string no_such_tick = folder / "tick.json";
  ASSERT_FALSE(save_scene(lost, no_such_tick));
  lost.view.choice.pass = PassKind::backward;
  RunSpec without_pass = lost.view.choice;
  without_pass.algorithm = "split_kv";
  lost.view.race = Race{without_pass};
  const std::string no_such_race = folder / "race.json";
  ASSERT_FALSE(save_scene(lost, no_such_race));
  const std::vector<BadCase> cases{
      {{"--scene", "no-such-scene", "--out", out}, "attnscope-cli list scenes"},
      {{"--scene", "/no/such/file.json", "--out", out}, "no such file"},
      {{"--step", "100000", "--out", out}, "last operation"},
      {{"--step", "-1", "--out", out}, "--step"},
      {{"--scene", no_such_row, "--out", out}, "query_row is 64"},
      {{"--scene", no_such_tick, "--out", out}, "race: tick 100000: the last tick"},
      {{"--scene", no_such_race, "--out", out}, "split_kv cannot race"},
      {{"--size", "12x", "--out", out}, "--size"},
      {{"--size", "0x0", "--out", out}, "--size"},
      {{"--theme", "pink", "--out", out}, "--theme"},
      {{"--out", "/no/such/folder/out.png"}, "cannot be written: its folder does not exist"},
      {{"--out", folder.path()}, "cannot be written: it is a folder"},
      {{"--out", folder / std::string(300, 'x')}, "cannot be written: File name too long"},
      {{"--out", ""}, "cannot be written: the name is empty"},
      {{"--out", "-"}, "not a file"},
      {{}, "--out"},
      {{"--unknown", "--out", out}, "--unknown"},
  };
  for (const BadCase& bad : cases) expect_refused(bad);
}

TEST(Render, APictureNeverReplacesAFileThatItShows) {
  const ScratchFolder folder;
  const std::vector<Index> shape{1, 1, 8, 4};
  const std::vector<double> elements(8 * 4);
  for (const char* name : {"q.npy", "k.npy"}) {
    ASSERT_FALSE(write_npy(folder / name, shape, elements));
  }
  ASSERT_FALSE(save_scene(load_scene("default").value(), folder / "mine.json"));
  std::filesystem::copy_file(find_asset("gpus", "t4").value(), folder / "gpu.json");
  Scene own_gpu = load_scene("default").value();
  own_gpu.view.choice.gpu = folder / "gpu.json";
  ASSERT_FALSE(save_scene(own_gpu, folder / "own-gpu.json"));
  const std::string q = folder / "q.npy", k = folder / "k.npy";
  const std::vector<BadCase> cases{
      {{"--scene", folder / "mine.json", "--out", folder / "./mine.json"}, "which --scene reads"},
      {{"--scene", folder / "own-gpu.json", "--out", folder / "gpu.json"}, "which --gpu reads"},
      {{"--q", q, "--k", k, "--v", k, "--out", q}, "which --q reads"},
      {{"--q", q, "--k", k, "--v", k, "--out", k}, "which --k reads"}};
  for (const BadCase& bad : cases) expect_refused(bad);
  EXPECT_TRUE(read_npy(q).ok());
  EXPECT_TRUE(load_scene((folder / "own-gpu.json").string()).ok());
}

TEST(Render, AFullDiskIsAFailureWithItsReason) {
  const Finished finished = run({ATTNSCOPE_PROGRAM, "render", "--out", "/dev/full"});
  EXPECT_EQ(finished.status, 1);
  EXPECT_THAT(finished.errors, HasSubstr("cannot write /dev/full: No space left"));
}

TEST(Render, AMissingAssetsFolderIsOneLine) {
  const Finished finished =
      run({ATTNSCOPE_PROGRAM, "render", "--out", "/tmp/x.png"}, {"ATTNSCOPE_ASSETS=/no/such"});
  EXPECT_NE(finished.status, 0);
  EXPECT_THAT(finished.errors, HasSubstr("ATTNSCOPE_ASSETS"));
}

TEST(Window, WithoutADisplayTheProgramNamesRenderAndEndsWithOne) {
  const Finished finished = run({ATTNSCOPE_PROGRAM}, {"DISPLAY=", "WAYLAND_DISPLAY="});
  EXPECT_EQ(finished.status, 1);
  EXPECT_THAT(finished.errors, HasSubstr("attnscope render"));
  EXPECT_EQ(std::count(finished.errors.begin(), finished.errors.end(), '\n'), 1);
}

}  // namespace
}  // namespace attnscope::app
