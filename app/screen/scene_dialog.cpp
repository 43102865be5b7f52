#include "app/screen/scene_dialog.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <random>
#include <tuple>
#include <utility>

#include "app/app.h"
#include "app/arguments.h"
#include "app/platform/keys.h"
#include "app/screen/field_box.h"
#include "sim/device/assets.h"

namespace attnscope::app {

namespace {
constexpr const char* kSceneDialogPopup = "scene dialog";
constexpr std::string_view kDefaultPath = "mine";
constexpr float kWidth = 460.0f;  // width of the text

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

void SceneDialog::begin(const Frame& frame, Purpose purpose, std::string_view path) {
  purpose_ = purpose;
  waiting_ = false;
  answer_.reset();
  set_path(path);
  const bool opens = purpose == Purpose::open;  // then it shows the last folder again
  const std::string folder = std::filesystem::path(path).parent_path().string();
  frame.app.commands.push(ListFolder{opens ? frame.app.listed.folder.path : folder});
  ImGui::OpenPopup(kSceneDialogPopup);
}

void SceneDialog::begin_scene(const Frame& frame, bool saving) {
  const Scene& scene = frame.app.scene;
  const bool is_own = !scene.path.empty() && !shipped_as(scene.path);
  if (!saving) return begin(frame, Purpose::open, "");
  begin(frame, Purpose::save_scene, is_own ? scene.path : kDefaultPath);
}

/// A picture's size and theme are initially those of the screen.
void SceneDialog::begin_file(const Frame& frame, FileToSave file) {
  file_ = std::move(file);
  if (auto* const picture = std::get_if<PanelPicture>(&file_)) {
    const ImVec2 display = ImGui::GetIO().DisplaySize;
    picture->theme = frame.app.view.theme;
    size_.fill(0);
    fmt::format_to_n(size_.data(), size_.size() - 1, "{:.0f}x{:.0f}", display.x, display.y);
  }
  begin(frame, Purpose::save_file, std::visit([](const auto& each) { return each.path; }, file_));
}

void SceneDialog::confirm(const Frame& frame, bool replaces) {
  const std::string path = path_.data();
  std::error_code error;
  if (purpose_ == Purpose::open && std::filesystem::is_directory(path, error)) {
    answer_.reset();
    frame.app.commands.push(ListFolder{path});
    return;
  }
  if (purpose_ == Purpose::open) return ask(frame, OpenScene{path});
  if (purpose_ == Purpose::save_scene) return ask(frame, SaveScene{path, replaces});
  std::visit([&](auto& each) { each.path = path; }, file_);
  if (auto* const picture = std::get_if<PanelPicture>(&file_)) {
    const auto size = parse_size(size_.data(), kLeastPanelWidth, kLeastPanelHeight);
    if (!size) {
      answer_ = SceneAnswer{fmt::format("'{}': not a size; use WIDTHxHEIGHT, at least {}x{}",
                                        size_.data(), kLeastPanelWidth, kLeastPanelHeight)};
      return;
    }
    std::tie(picture->width, picture->height) = *size;
  }
  ask(frame, SaveFile{file_, replaces});
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
    const std::string file = purpose_ == Purpose::save_scene ? scene_file(path).string() : path;
    ImGui::TextUnformatted(fmt::format("{} exists.", file).c_str());
  } else {
    ImGui::PushStyleColor(ImGuiCol_Text, frame.theme.error);
    ImGui::TextUnformatted(answer_->error.c_str());
    ImGui::PopStyleColor();
  }
  ImGui::PopTextWrapPos();
  frame.rects.add_item("dialog.error");
  const std::string nearest = answer_->nearest;
  if (answer_->file_exists && draw_button(frame, "dialog.replace", "Replace it")) {
    confirm(frame, true);
  } else if (!nearest.empty() &&
             draw_button(frame, "dialog.nearest", ("Open " + nearest).c_str())) {
    set_path(nearest);
    ask(frame, OpenScene{nearest});
  }
}

/// The size and the theme of a picture.
void SceneDialog::draw_look(const Frame& frame) {
  auto* const picture = std::get_if<PanelPicture>(&file_);
  if (purpose_ != Purpose::save_file || picture == nullptr) return;
  ImGui::SetNextItemWidth(frame.text_px(120.0f));
  constexpr std::string_view kSize = "dialog.size";
  if (frame.focus.comes_to(kSize)) ImGui::SetKeyboardFocusHere();
  ImGui::InputText("pixels", size_.data(), size_.size(), ImGuiInputTextFlags_AutoSelectAll);
  ui::visit_item(frame, kSize);
  for (std::size_t k = 0; k < enum_names(ThemeName{}).size(); ++k) {
    const auto theme = static_cast<ThemeName>(k);
    const std::string name(to_string(theme));
    ImGui::SameLine();
    bool chosen = ImGui::RadioButton(name.c_str(), picture->theme == theme);
    chosen |= ui::visit_item(frame, "dialog.theme." + name);
    if (chosen) picture->theme = theme;
  }
}

void SceneDialog::draw_contents(const Frame& frame) {
  const FontScope font(frame.fonts.ui);
  constexpr const char* kTitles[] = {"Open a scene, a recording, or Q, K and V (.npy)",
                                     "Save this scene as", "Save as"};
  ImGui::TextUnformatted(kTitles[static_cast<std::size_t>(purpose_)]);
  ImGui::SetNextItemWidth(frame.text_px(kWidth));
  constexpr std::string_view kPath = "dialog.path";
  if (ImGui::IsWindowAppearing()) frame.focus.start_at(kPath);
  if (ImGui::IsWindowAppearing() || frame.focus.comes_to(kPath)) ImGui::SetKeyboardFocusHere();
  const bool failed = answer_ && !answer_->file_exists;
  if (failed) ImGui::PushStyleColor(ImGuiCol_FrameBg, frame.theme.error_surface);
  bool confirmed =
      ImGui::InputText("##path", path_.data(), path_.size(),
                       ImGuiInputTextFlags_EnterReturnsTrue | ImGuiInputTextFlags_AutoSelectAll);
  if (failed) ImGui::PopStyleColor();
  ui::visit_item(frame, kPath);
  draw_look(frame);
  if (answer_) draw_answer(frame);
  confirmed |= draw_button(frame, "dialog.confirm", saves() ? "Save" : "Open");
  ImGui::SameLine();
  if (draw_button(frame, "dialog.cancel", "Cancel")) ImGui::CloseCurrentPopup();
  if (confirmed) confirm(frame, false);
  draw_lists(frame);
}

void SceneDialog::draw_lists(const Frame& frame) {
  ImGui::SameLine();
  if (draw_button(frame, "dialog.refresh", "Refresh")) {
    frame.app.commands.push(ListFolder{frame.app.listed.folder.path});
  }
  ImGui::Separator();
  const float room = ImGui::GetIO().DisplaySize.y - frame.text_px(230.0f);
  ImGui::BeginChild("files", {frame.text_px(kWidth), std::min(frame.text_px(330.0f), room)}, false,
                    ImGuiWindowFlags_NoNav);
  if (!saves() && !frame.app.recent_files.empty()) {
    ImGui::TextDisabled("recent");
    for (const std::string& file : frame.app.recent_files) {
      if (draw_entry(frame, "recent", file, file)) ask(frame, OpenScene{file});
    }
  }
  draw_folder(frame);
  if (!saves()) {
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
    const fs::path path = here / entry.name;
    if (entry.is_folder) {
      if (draw_entry(frame, "folder", entry.name, entry.name + "/")) {
        frame.app.commands.push(ListFolder{path.string()});
        const fs::path name = fs::path(path_.data()).filename();
        if (saves()) set_path((path / name).string());
      }
    } else if (draw_entry(frame, "file", entry.name, entry.name)) {
      set_path(path.string());
      if (!saves()) ask(frame, OpenScene{path.string()});
    }
  }
}

void SceneDialog::draw(const Frame& frame) {
  if (ImGui::GetIO().KeyCtrl && key_pressed(Key::s)) begin_scene(frame, true);
  if (ImGui::GetIO().KeyCtrl && key_pressed(Key::o)) begin_scene(frame, false);

  if (const auto asked = std::exchange(frame.app.view.scene_dialog, std::nullopt)) {
    begin_scene(frame, *asked);
  }
  if (auto asked = std::exchange(frame.app.asked_to_save, std::nullopt)) {
    begin_file(frame, std::move(*asked));
  }

  const ImVec2 display = ImGui::GetIO().DisplaySize;
  ImGui::SetNextWindowPos({display.x * 0.5f, display.y * 0.4f}, ImGuiCond_Always, {0.5f, 0.5f});
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, {frame.px(18.0f), frame.px(16.0f)});
  if (ImGui::BeginPopup(kSceneDialogPopup, ImGuiWindowFlags_NoNav)) {
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
  if (combo.option("Watch FlashAttention in two minutes", false, "watch")) {
    app.view.start_walk = Walk::watch;
  }
  if (combo.option("Tour of the panels", false, "tour")) app.view.start_walk = Walk::panels;
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
