#include "app/screen/scene_dialog.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <random>
#include <utility>

#include "app/app.h"
#include "app/platform/keys.h"
#include "app/screen/field_box.h"
#include "sim/device/assets.h"

namespace attnscope::app {

namespace {
constexpr const char* kPopup = "scene dialog";
constexpr std::string_view kDefaultPath = "mine";
constexpr float kWidth = 460.0f;  // width of the texts

bool draw_button(const Frame& frame, std::string_view name, const char* label) {
  const bool clicked = ImGui::Button(label);
  return ui::visit_item(frame, name) || clicked;
}

/// Draws an entry of a list; choosing it keeps the dialog open. Scrolls to it when Tab reaches it.
bool draw_entry(const Frame& frame, const std::string& kind, const std::string& id,
                const std::string& label) {
  const std::string name = "dialog." + kind + "." + id;
  const bool clicked =
      ImGui::Selectable((label + "##" + name).c_str(), false, ImGuiSelectableFlags_DontClosePopups);
  if (frame.focus.comes_to(name)) ImGui::SetScrollHereY();
  return ui::visit_item(frame, name) || clicked;
}

}  // namespace

void SceneDialog::set_path(std::string_view path) {
  path_.fill(0);
  std::copy_n(path.begin(), std::min(path.size(), path_.size() - 1), path_.begin());
}

void SceneDialog::begin(const Frame& frame, bool saving) {
  saving_ = saving;
  waiting_ = false;
  answer_.reset();
  const Scene& scene = frame.app.scene;
  const bool is_own = !scene.path.empty() && !shipped_as(scene.path);
  if (saving) set_path(is_own ? scene.path : kDefaultPath);
  if (!saving) set_path("");
  frame.app.commands.push(ListFolder{});
  ImGui::OpenPopup(kPopup);
}

void SceneDialog::ask(const Frame& frame, const Command& command) {
  answer_.reset();
  waiting_ = true;
  frame.app.scene_answer.reset();
  frame.app.commands.push(command);
}

/// Shows why the path was not opened or saved, and what the user can do.
void SceneDialog::draw_answer(const Frame& frame) {
  const std::string path = path_.data();
  ImGui::PushTextWrapPos(frame.text_px(kWidth));
  if (answer_->file_exists) {
    ImGui::TextUnformatted(fmt::format("{} exists.", scene_file(path).string()).c_str());
  } else {
    ImGui::PushStyleColor(ImGuiCol_Text, frame.theme.error);
    ImGui::TextUnformatted(answer_->error.c_str());
    ImGui::PopStyleColor();
  }
  ImGui::PopTextWrapPos();
  frame.rects.add_item("dialog.error");
  const std::string nearest = answer_->nearest;
  if (answer_->file_exists && draw_button(frame, "dialog.replace", "Replace it")) {
    ask(frame, SaveScene{path, true});
  } else if (!nearest.empty() &&
             draw_button(frame, "dialog.nearest", ("Open " + nearest).c_str())) {
    set_path(nearest);
    ask(frame, OpenScene{nearest});
  }
}

void SceneDialog::draw_contents(const Frame& frame) {
  const FontScope font(frame.fonts.ui);
  ImGui::TextUnformatted(saving_ ? "Save this scene as"
                                 : "Open a scene, a recording, or Q, K and V (.npy)");
  ImGui::SetNextItemWidth(frame.text_px(kWidth));
  constexpr std::string_view kPath = "dialog.path";
  if (ImGui::IsWindowAppearing()) frame.focus.start_at(kPath);
  if (ImGui::IsWindowAppearing() || frame.focus.comes_to(kPath)) ImGui::SetKeyboardFocusHere();
  const bool failed = answer_ && !answer_->file_exists;
  if (failed) ImGui::PushStyleColor(ImGuiCol_FrameBg, frame.theme.error_surface);
  bool confirmed =
      ImGui::InputText("##path", path_.data(), path_.size(), ImGuiInputTextFlags_EnterReturnsTrue);
  if (failed) ImGui::PopStyleColor();
  ui::visit_item(frame, kPath);
  if (answer_) draw_answer(frame);
  confirmed |= draw_button(frame, "dialog.confirm", saving_ ? "Save" : "Open");
  ImGui::SameLine();
  if (draw_button(frame, "dialog.cancel", "Cancel")) ImGui::CloseCurrentPopup();
  if (confirmed) {
    ask(frame, saving_ ? Command(SaveScene{path_.data()}) : OpenScene{path_.data()});
  }
  draw_lists(frame);
}

void SceneDialog::draw_lists(const Frame& frame) {
  ImGui::SameLine();
  if (draw_button(frame, "dialog.refresh", "Refresh")) {
    frame.app.commands.push(ListFolder{frame.app.listed.folder.path});
  }
  ImGui::Separator();
  ImGui::BeginChild("files", {frame.text_px(kWidth), frame.text_px(330.0f)}, false,
                    ImGuiWindowFlags_NoNav);
  if (!saving_ && !frame.app.recent_files.empty()) {
    ImGui::TextDisabled("recent");
    for (const std::string& file : frame.app.recent_files) {
      if (draw_entry(frame, "recent", file, file)) ask(frame, OpenScene{file});
    }
  }
  draw_folder(frame);
  if (!saving_) {
    std::string group;
    for (const ShippedScene& scene : frame.app.listed.scenes) {
      if (scene.group != group) ImGui::TextDisabled("shipped: %s", scene.group.c_str());
      group = scene.group;
      if (draw_entry(frame, "scene", scene.name, scene.name)) ask(frame, OpenScene{scene.name});
      ui::tooltip(frame, scene.about);
    }
  }
  ImGui::EndChild();
}

/// Draws the folder's files, and entries that lead to other folders.
void SceneDialog::draw_folder(const Frame& frame) {
  namespace fs = std::filesystem;
  const FolderList& folder = frame.app.listed.folder;
  if (folder.path.empty()) return;
  const fs::path here(folder.path);
  ImGui::TextDisabled("%s", folder.path.c_str());
  if (here.has_relative_path() && draw_entry(frame, "folder", "..", "..")) {
    frame.app.commands.push(ListFolder{here.parent_path().string()});
  }
  for (const FolderEntry& entry : folder.entries) {
    const std::string path = (here / entry.name).string();
    if (entry.is_folder) {
      if (draw_entry(frame, "folder", entry.name, entry.name + "/")) {
        frame.app.commands.push(ListFolder{path});
      }
    } else if (draw_entry(frame, "file", entry.name, entry.name)) {
      set_path(path);
      if (!saving_) ask(frame, OpenScene{path});
    }
  }
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
      answer_ = frame.app.scene_answer;
      const bool done = answer_->error.empty() && !answer_->file_exists;
      if (done) ImGui::CloseCurrentPopup();
    }
    draw_contents(frame);
    ImGui::EndPopup();
  }
  ImGui::PopStyleVar();
}

void draw_scene_field(const Frame& frame, const Rect& box) {
  App& app = frame.app;
  const bool unchanged = app.shown_choice() == app.scene.view.choice;
  const LessonPlayer& player = app.lesson_player;
  const std::string preview = app.quiz.is_open() ? "Quiz: one operation is missing"
                              : player.is_open() ? "Lesson: " + player.lesson().title
                              : unchanged        ? app.scene.title
                                                 : "Your own choice";
  const ComboBox combo(frame, "scene", box, preview);
  if (!combo.open()) return;
  if (combo.option("Open a file…", false, "open", "Ctrl+O")) app.view.scene_dialog = false;
  if (combo.option("Save as…", false, "save", "Ctrl+S")) app.view.scene_dialog = true;
  if (combo.option("Lessons…", false, "lessons", "L")) app.lesson_player.list_requested = true;
  if (combo.option("Quiz: which operation is missing?", false, "quiz")) {
    app.start_quiz(std::random_device{}());
  }
  std::string group;
  for (const ShippedScene& scene : app.listed.scenes) {
    if (scene.group != group) {
      const FontScope font(frame.fonts.small);
      ImGui::TextDisabled("%s", scene.group.c_str());
    }
    group = scene.group;
    const bool is_shown = unchanged && scene.title == app.scene.title;
    if (combo.option(scene.title, is_shown, scene.name, scene.about)) {
      app.commands.push(OpenScene{scene.name});
    }
  }
}

}  // namespace attnscope::app
