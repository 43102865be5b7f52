/// The list of lessons (key L), with the user's progress in each.
#include <fmt/format.h>

#include "app/app.h"
#include "app/platform/keys.h"
#include "app/screen/lesson_view.h"

namespace attnscope::app {

namespace {

constexpr const char* kPopup = "lesson list";

/// "4 of 5 right, at step 3 of 6".
std::string progress_words(const ListedLesson& lesson) {
  if (!lesson.step) return fmt::format("{} questions", lesson.questions);
  return fmt::format("{} of {} right, at step {} of {}", lesson.right, lesson.questions,
                     *lesson.step + 1, lesson.steps);
}

}  // namespace

void LessonList::draw_contents(const Frame& frame) const {
  const FontScope font(frame.fonts.ui);
  App& app = frame.app;
  ImGui::TextUnformatted("LESSONS");
  ImGui::Separator();
  if (app.listed.lessons.empty()) ImGui::TextDisabled("reading…");
  std::size_t number = 0;
  for (const ListedLesson& lesson : app.listed.lessons) {
    const std::string name = "lessons." + lesson.name;
    const std::string text = fmt::format("{:2}.  {}##{}", ++number, lesson.title, name);
    bool chosen = ImGui::Selectable(text.c_str(), false, ImGuiSelectableFlags_DontClosePopups,
                                    {frame.text_px(470.0f), 0.0f});
    chosen = ui::visit_item(frame, name) || chosen;
    ImGui::SameLine(frame.text_px(490.0f));
    const std::string progress = progress_words(lesson);
    ImGui::TextDisabled("%s", progress.c_str());
    if (!chosen) continue;
    app.lesson_player.open(lesson.name);
    ImGui::CloseCurrentPopup();
  }
  const ImVec2 at = ImGui::GetWindowPos();
  const ImVec2 size = ImGui::GetWindowSize();
  frame.rects.add("lessons", {at, {at.x + size.x, at.y + size.y}});
}

void LessonList::draw(const Frame& frame) {
  LessonPlayer& player = frame.app.lesson_player;
  const ImGuiIO& io = ImGui::GetIO();
  const bool typing = io.WantTextInput || ImGui::IsPopupOpen("", ImGuiPopupFlags_AnyPopup);
  const bool by_key = !typing && !io.KeyCtrl && !io.KeyAlt && key_pressed(Key::l);
  if (std::exchange(player.list_requested, false) || by_key) {
    frame.app.list_lessons();
    ImGui::OpenPopup(kPopup);
  }
  const ImVec2 display = io.DisplaySize;
  ImGui::SetNextWindowPos({display.x * 0.5f, display.y * 0.45f}, ImGuiCond_Always, {0.5f, 0.5f});
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, {frame.px(18.0f), frame.px(16.0f)});
  if (ImGui::BeginPopup(kPopup, ImGuiWindowFlags_NoNav)) {
    ui::close_popup_on_escape();
    draw_contents(frame);
    ImGui::EndPopup();
  }
  ImGui::PopStyleVar();
}

}  // namespace attnscope::app
