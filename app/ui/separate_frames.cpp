#include "app/ui/separate_frames.h"

#include <imgui.h>

#include <cfloat>

namespace attnscope::app {

SeparateFrames::SeparateFrames()
    : screen_(ImGui::GetCurrentContext()), own_(ImGui::CreateContext(ImGui::GetIO().Fonts)) {
  const ImGuiIO& from = ImGui::GetIO();
  const ImGuiStyle style = ImGui::GetStyle();
  ImGui::SetCurrentContext(own_);
  ImGuiIO& io = ImGui::GetIO();
  io.IniFilename = nullptr;
  io.DisplaySize = from.DisplaySize;
  io.DisplayFramebufferScale = from.DisplayFramebufferScale;
  io.DeltaTime = from.DeltaTime;
  io.BackendFlags = from.BackendFlags;
  io.BackendRendererUserData = from.BackendRendererUserData;
  io.MousePos = {-FLT_MAX, -FLT_MAX};
  ImGui::GetStyle() = style;
}

SeparateFrames::~SeparateFrames() {
  ImGui::GetIO().BackendRendererUserData = nullptr;  // shared with the screen's context
  ImGui::SetCurrentContext(screen_);
  ImGui::DestroyContext(own_);
}

}  // namespace attnscope::app
