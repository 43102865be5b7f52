#include "app/platform/imgui_session.h"

#define GL_GLEXT_PROTOTYPES
#include <GL/gl.h>
#include <GL/glext.h>
#include <imgui.h>
#include <imgui_impl_opengl3.h>

#include "app/platform/font_loader.h"

namespace attnscope::app {

ImGuiSession::ImGuiSession() {
  IMGUI_CHECKVERSION();
  ImGui::CreateContext();
  ImGuiIO& io = ImGui::GetIO();
  io.IniFilename = nullptr;  // what is remembered is in scenes, not in a file beside the user
  io.ConfigInputTextCursorBlink = false;
  ImGui_ImplOpenGL3_Init("#version 330 core");
}

ImGuiSession::~ImGuiSession() {
  ImGui_ImplOpenGL3_Shutdown();
  ImGui::DestroyContext();
}

void ImGuiSession::set_looks(ThemeName name, float layout_scale, float font_scale) {
  if (font_scale != font_scale_) {
    fonts_ = load_fonts(font_scale);
#if IMGUI_VERSION_NUM < 19200
    ImGui_ImplOpenGL3_DestroyFontsTexture();
    ImGui_ImplOpenGL3_CreateFontsTexture();
#endif
  }
  if (name != theme_ || layout_scale != layout_scale_) {
    apply_to_imgui(app::theme(name), layout_scale);
  }
  theme_ = name;
  layout_scale_ = layout_scale;
  font_scale_ = font_scale;
}

void ImGuiSession::begin_frame() {
  ImGui_ImplOpenGL3_NewFrame();
}

void ImGuiSession::render(int width, int height) {
  ImGui::Render();
  const ImVec4 background = ImGui::ColorConvertU32ToFloat4(app::theme(theme_).background);
  glViewport(0, 0, width, height);
  glClearColor(background.x, background.y, background.z, 1.0f);
  glClear(GL_COLOR_BUFFER_BIT);
  ImGui_ImplOpenGL3_RenderDrawData(ImGui::GetDrawData());
}

}  // namespace attnscope::app
