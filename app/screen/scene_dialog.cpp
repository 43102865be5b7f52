#include "app/screen/screen.h"

#include <algorithm>
#include <utility>

#include "app/app.h"
#include "app/platform/keys.h"
#include "app/screen/field_box.h"

namespace attnscope::app {

namespace {
constexpr const char* kPopup = "scene dialog";
constexpr std::string_view kDefaultPath = "scene.json";

bool draw_button(const Frame& frame, std::string_view name, const char* label) {
  const bool clicked = ImGui::Button(label);
  return ui::visit_item(frame, name) || clicked;
}

/// A scene of the list; scrolls to it when Tab comes to it.
bool draw_entry(const Frame& frame, const std::string& scene) {
  const std::string name = "dialog.scene." + scene;
  const bool clicked = ImGui::Selectable(scene.c_str());
  if (frame.focus.comes_to(name)) ImGui::SetScrollHereY();
  return ui::visit_item(frame, name) || clicked;
}

}  // namespace

void SceneDialog::begin(const Frame& frame, bool saving) {
  saving_ = saving;
  waiting_ = false;
  error_.clear();
  if (path_[0] == 0) std::copy(kDefaultPath.begin(), kDefaultPath.end(), path_.begin());
  frame.app.commands.push(ListScenes{});
  ImGui::OpenPopup(kPopup);
}

void SceneDialog::ask(const Frame& frame, const Command& command) {
  error_.clear();
  waiting_ = true;
  frame.app.scene_answer.reset();
  frame.app.commands.push(command);
}

void SceneDialog::draw_contents(const Frame& frame) {
  const FontScope font(frame.fonts.ui);
  ImGui::TextUnformatted(saving_ ? "Save this scene to" : "Open a scene: a path, or one of these");
  ImGui::SetNextItemWidth(frame.text_px(420.0f));
  constexpr std::string_view kPath = "dialog.path";
  if (ImGui::IsWindowAppearing()) frame.focus.start_at(kPath);
  if (ImGui::IsWindowAppearing() || frame.focus.comes_to(kPath)) ImGui::SetKeyboardFocusHere();
  if (!error_.empty()) ImGui::PushStyleColor(ImGuiCol_FrameBg, frame.theme.error_surface);
  bool confirmed =
      ImGui::InputText("##path", path_.data(), path_.size(), ImGuiInputTextFlags_EnterReturnsTrue);
  if (!error_.empty()) ImGui::PopStyleColor();
  ui::visit_item(frame, kPath);
  if (!error_.empty()) {
    ImGui::PushStyleColor(ImGuiCol_Text, frame.theme.error);
    ImGui::PushTextWrapPos(frame.text_px(420.0f));
    ImGui::TextUnformatted(error_.c_str());
    ImGui::PopTextWrapPos();
    ImGui::PopStyleColor();
    frame.rects.add_item("dialog.error");
  }
  confirmed |= draw_button(frame, "dialog.confirm", saving_ ? "Save" : "Open");
  ImGui::SameLine();
  if (draw_button(frame, "dialog.cancel", "Cancel")) ImGui::CloseCurrentPopup();
  if (confirmed) {
    ask(frame, saving_ ? Command(SaveScene{path_.data()}) : OpenScene{path_.data()});
  }
  if (!saving_) draw_lists(frame);
}

void SceneDialog::draw_lists(const Frame& frame) {
  ImGui::SameLine();
  if (draw_button(frame, "dialog.refresh", "Refresh")) frame.app.commands.push(ListScenes{});
  ImGui::Separator();
  ImGui::BeginChild("scenes", {frame.text_px(420.0f), frame.text_px(330.0f)}, false,
                    ImGuiWindowFlags_NoNav);
  ImGui::TextDisabled("shipped");
  for (const ShippedScene& scene : frame.app.listed.scenes) {
    if (draw_entry(frame, scene.name)) ask(frame, OpenScene{scene.name});
  }
  const std::vector<std::string>& own = frame.app.listed.own_scenes;
  if (!own.empty()) ImGui::TextDisabled("files of the current folder");
  for (const std::string& name : own) {
    if (draw_entry(frame, name)) ask(frame, OpenScene{name});
  }
  ImGui::EndChild();
}

void SceneDialog::draw(const Frame& frame) {
  if (ImGui::GetIO().KeyCtrl && key_pressed(Key::s)) begin(frame, true);
  if (ImGui::GetIO().KeyCtrl && key_pressed(Key::o)) begin(frame, false);

  if (const auto asked = std::exchange(frame.app.view.scene_dialog, std::nullopt))
    begin(frame, *asked);

  const ImVec2 display = ImGui::GetIO().DisplaySize;
  ImGui::SetNextWindowPos({display.x * 0.5f, display.y * 0.4f}, ImGuiCond_Always, {0.5f, 0.5f});
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, {frame.px(18.0f), frame.px(16.0f)});
  if (ImGui::BeginPopup(kPopup, ImGuiWindowFlags_NoNav)) {
    ui::close_popup_on_escape();
    // Close on success; show a failure where the path was typed
    if (waiting_ && frame.app.scene_answer) {
      waiting_ = false;
      error_ = frame.app.scene_answer->error;
      if (error_.empty()) ImGui::CloseCurrentPopup();
    }
    draw_contents(frame);
    ImGui::EndPopup();
  }
  ImGui::PopStyleVar();
}

void draw_scene_field(const Frame& frame, const Rect& box) {
  App& app = frame.app;
  const bool unchanged = app.shown_choice() == app.scene.view.choice;
  const std::string preview = unchanged ? app.scene.title : "Your own choice";
  const ComboBox combo(frame, "scene", box, preview);
  if (!combo.open()) return;
  for (const ShippedScene& scene : app.listed.scenes) {
    if (combo.option(scene.title, unchanged && scene.title == app.scene.title, scene.name)) {
      app.commands.push(OpenScene{scene.name});
    }
  }
  ImGui::Separator();
  if (combo.option("Open a file…", false, "open", "Ctrl+O")) app.view.scene_dialog = false;
  if (combo.option("Save as…", false, "save", "Ctrl+S")) app.view.scene_dialog = true;
}

}  // namespace attnscope::app
