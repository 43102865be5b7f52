#include "app/platform/opaque_fills.h"

#include <GL/gl.h>
#include <gtest/gtest.h>
#include <imgui.h>
#include <imgui_impl_opengl3.h>

#include <vector>

#include "app/platform/imgui_session.h"
#include "app/platform/offscreen.h"

namespace attnscope::app {
namespace {

constexpr int kWidth = 320;
constexpr int kHeight = 240;

/// Shapes with and without soft edges, of all opacities, that cover one another and text.
void draw_shapes() {
  ImDrawList& list = *ImGui::GetBackgroundDrawList();
  list.AddRectFilled({0.0f, 0.0f}, {320.0f, 240.0f}, IM_COL32(20, 30, 40, 255));
  list.AddText({30.0f, 40.0f}, IM_COL32_WHITE, "covered by a box");
  list.AddRectFilled({20.5f, 30.0f}, {200.0f, 160.25f}, IM_COL32(200, 90, 10, 255), 8.0f);
  list.AddText({30.0f, 60.0f}, IM_COL32_WHITE, "on the box");
  list.AddRectFilled({100.0f, 20.0f}, {300.0f, 120.0f}, IM_COL32(0, 90, 200, 128));
  list.PushClipRect({150.0f, 100.0f}, {250.0f, 200.0f});
  for (int k = 0; k < 40; ++k) {
    const float x = 130.0f + 4.0f * static_cast<float>(k);
    list.AddRectFilled({x, 90.0f}, {x + 4.0f, 230.0f}, IM_COL32(6 * k, 255 - 6 * k, 77, 255));
  }
  list.PopClipRect();
  list.AddLine({5.0f, 200.0f}, {310.0f, 10.0f}, IM_COL32(255, 255, 0, 255), 3.0f);
}

TEST(OpaqueFills, DrawsThePictureOfTheBackend) {
  auto created = OffscreenContext::create(kWidth, kHeight);
  if (!created) GTEST_SKIP() << created.error().message;
  OffscreenContext& context = *created.value();
  ImGuiSession session;
  session.begin_frame(ThemeName::dark, 1.0f, 1.0f, {1.0f});
  context.begin_frame();
  ImGui::NewFrame();
  draw_shapes();
  ImGui::Render();
  ImDrawData& frame = *ImGui::GetDrawData();
  const auto picture = [&](auto render) {
    glViewport(0, 0, kWidth, kHeight);
    glClearColor(0.0f, 0.0f, 0.0f, 1.0f);
    glClear(GL_COLOR_BUFFER_BIT);
    render();
    return context.read_pixels().rgb;
  };
  const auto of_backend = picture([&] { ImGui_ImplOpenGL3_RenderDrawData(&frame); });
  const int commands = frame.CmdLists[0]->CmdBuffer.Size;
  OpaqueFills fills;
  for (int time = 0; time < 2; ++time) {
    int runs = 0;
    EXPECT_EQ(picture([&] { runs = fills.render(frame); }), of_backend);
    EXPECT_GE(runs, 3) << "the background, the box and the cells";
    EXPECT_EQ(frame.CmdLists[0]->CmdBuffer.Size, commands) << "the frame keeps its commands";
  }
}

}  // namespace
}  // namespace attnscope::app
