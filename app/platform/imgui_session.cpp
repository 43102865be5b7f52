#include "app/platform/imgui_session.h"

#define GL_GLEXT_PROTOTYPES
#include <GL/gl.h>
#include <GL/glext.h>
#include <imgui.h>
#include <imgui_impl_opengl3.h>

#include <algorithm>
#include <utility>

#include "reference/check.h"

namespace attnscope::app {

namespace {

void clear_to(ImU32 color) {
  const ImVec4 c = ImGui::ColorConvertU32ToFloat4(color);
  glClearColor(c.x, c.y, c.z, 1.0f);
  glClear(GL_COLOR_BUFFER_BIT);
}

}  // namespace

ImGuiSession::ImGuiSession() {
  IMGUI_CHECKVERSION();
  ImGui::CreateContext();
  ImGuiIO& io = ImGui::GetIO();
  io.IniFilename = nullptr;  // settings are stored in scenes, not in the current folder
  io.ConfigInputTextCursorBlink = false;
  ImGui_ImplOpenGL3_Init("#version 330 core");
}

ImGuiSession::~ImGuiSession() {
  ImGui_ImplOpenGL3_Shutdown();
  ImGui::DestroyContext();
}

void ImGuiSession::begin_frame(ThemeName name, float layout_scale, float font_scale,
                               std::vector<float> font_scales) {
  if (font_scales != font_scales_) {
    loaded_ = load_fonts(font_files_, font_scales);
    font_scales_ = std::move(font_scales);
#if IMGUI_VERSION_NUM < 19200
    ImGui_ImplOpenGL3_DestroyFontsTexture();
    ImGui_ImplOpenGL3_CreateFontsTexture();
#endif
  }
  if (name != theme_ || layout_scale != layout_scale_) {
    apply_to_imgui(app::theme(name), layout_scale);
  }
  const auto scale = std::ranges::find(font_scales_, font_scale);
  ATTNSCOPE_CHECK(scale != font_scales_.end(), ==, true);
  fonts_ = &loaded_[static_cast<std::size_t>(scale - font_scales_.begin())];
  theme_ = name;
  layout_scale_ = layout_scale;
  ImGui_ImplOpenGL3_NewFrame();
}

void ImGuiSession::render(int width, int height, std::span<const Surface> surfaces) {
  glViewport(0, 0, width, height);
  glDisable(GL_SCISSOR_TEST);
  clear_to(app::theme(theme_).background);

  // OpenGL counts rows from the bottom
  const ImVec2 pixels = ImGui::GetIO().DisplayFramebufferScale;
  glEnable(GL_SCISSOR_TEST);
  for (const Surface& surface : surfaces) {
    const auto x0 = static_cast<int>(surface.rect.min.x * pixels.x);
    const auto y0 = static_cast<int>(surface.rect.min.y * pixels.y);
    const auto x1 = static_cast<int>(surface.rect.max.x * pixels.x);
    const auto y1 = static_cast<int>(surface.rect.max.y * pixels.y);
    glScissor(x0, height - y1, x1 - x0, y1 - y0);
    clear_to(surface.color);
  }
  glDisable(GL_SCISSOR_TEST);
  ImGui_ImplOpenGL3_RenderDrawData(ImGui::GetDrawData());
}

}  // namespace attnscope::app
