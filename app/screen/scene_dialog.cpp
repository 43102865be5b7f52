#include "app/screen/scene_dialog.h"

#include <algorithm>
#include <string_view>

#include "app/app.h"
#include "app/platform/keys.h"
#include "app/ui/widgets.h"
#include "sim/device/assets.h"

namespace attnscope::app {

namespace {
constexpr const char* kPopup = "scene dialog";
constexpr std::string_view kDefaultPath = "scene.json";
}  // namespace

void SceneDialog::begin(bool saving) {
  saving_ = saving;
  if (path_[0] == 0) std::copy(kDefaultPath.begin(), kDefaultPath.end(), path_.begin());
  ImGui::OpenPopup(kPopup);
}

void SceneDialog::draw_contents(const Frame& frame) {
  const FontScope font(frame.fonts.ui);
  ImGui::TextUnformatted(saving_ ? "Save this scene to" : "Open a scene: a path, or one of these");
  ImGui::SetNextItemWidth(frame.text_px(380.0f));
  if (ImGui::IsWindowAppearing()) ImGui::SetKeyboardFocusHere();
  const bool entered =
      ImGui::InputText("##path", path_.data(), path_.size(), ImGuiInputTextFlags_EnterReturnsTrue);
  ui::named_item(frame.rects, "dialog.path");
  const bool clicked = ImGui::Button(saving_ ? "Save" : "Open");
  ui::named_item(frame.rects, "dialog.confirm");
  ImGui::SameLine();
  if (ImGui::Button("Cancel")) ImGui::CloseCurrentPopup();
  if (entered || clicked) {
    if (saving_) frame.app.commands.push(SaveScene{path_.data()});
    if (!saving_) frame.app.commands.push(OpenScene{path_.data()});
    ImGui::CloseCurrentPopup();
  }
  if (!saving_) {
    ImGui::Separator();
    for (const std::string& name : list_assets("scenes")) {
      if (ImGui::Selectable(name.c_str())) frame.app.commands.push(OpenScene{name});
    }
  }
}

void SceneDialog::draw(const Frame& frame) {
  if (ImGui::GetIO().KeyCtrl && key_pressed(Key::s)) begin(true);
  if (ImGui::GetIO().KeyCtrl && key_pressed(Key::o)) begin(false);

  const ImVec2 display = ImGui::GetIO().DisplaySize;
  ImGui::SetNextWindowPos({display.x * 0.5f, display.y * 0.4f}, ImGuiCond_Always, {0.5f, 0.5f});
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, {frame.px(18.0f), frame.px(16.0f)});
  if (ImGui::BeginPopup(kPopup)) {
    ui::close_popup_on_escape();
    draw_contents(frame);
    ImGui::EndPopup();
  }
  ImGui::PopStyleVar();
}

}  // namespace attnscope::app
