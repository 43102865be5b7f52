#include "app/screen/field_box.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "app/app.h"
#include "app/draw/canvas.h"

namespace attnscope::app {

DropList::~DropList() {
  if (open_) {
    ImGui::EndPopup();
    ImGui::PopStyleVar();
  }
}

void DropList::begin(const Rect& box) {
  ImGui::SetNextWindowPos({box.min.x, box.max.y + frame_.px(3.0f)});
  const float below = ImGui::GetIO().DisplaySize.y - box.max.y - frame_.px(12.0f);
  const float highest = std::min(frame_.text_px(680.0f), std::max(below, frame_.text_px(90.0f)));
  ImGui::SetNextWindowSizeConstraints({box.width(), 0.0f}, {1e6f, highest});
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, {frame_.px(8.0f), frame_.px(8.0f)});
  open_ = ImGui::BeginPopup(("list." + field_).c_str(), ImGuiWindowFlags_NoMove);
  if (!open_) {
    ImGui::PopStyleVar();
    return;
  }
  frame_.focus.note_list();
  ui::close_popup_on_escape();
}

bool DropList::option(const std::string& text, bool selected, const std::string& name,
                      const std::string& help) const {
  const FontScope font(frame_.fonts.ui);
  const bool clicked = ImGui::Selectable(text.c_str(), selected);
  frame_.rects.add_item("option." + field_ + "." + name);
  if (!help.empty() && ImGui::IsItemHovered()) {
    // Beside the whole list, so that the other options stay visible
    const ImVec2 at = ImGui::GetWindowPos();
    const ImVec2 size = ImGui::GetWindowSize();
    ui::tooltip_beside(frame_, help, {at, {at.x + size.x, at.y + size.y}});
  }
  return clicked;
}

void DropList::draw_opener(const std::string& id, const Rect& rect) const {
  ImGui::SetCursorScreenPos(rect.min);
  const bool pressed = frame_.focus.visit(id, rect, frame_.theme);
  if (ImGui::InvisibleButton(id.c_str(), {rect.width(), rect.height()}) || pressed) {
    ImGui::OpenPopup(("list." + field_).c_str());
  }
  frame_.rects.add(id, rect);
}

void DropList::draw_surface(const Rect& box, bool hovered) const {
  ImDrawList* list = ImGui::GetWindowDrawList();
  const Theme& theme = frame_.theme;
  const auto& refused = frame_.app.refused;
  const bool wrong = refused && refused->field == field_;
  const ImU32 surface = wrong ? theme.error_surface : hovered ? theme.button_hovered : theme.field;
  list->AddRectFilled(box.min, box.max, surface, frame_.px(4.0f));
  if (wrong) list->AddRect(box.min, box.max, theme.error, frame_.px(4.0f), 0, frame_.px(1.5f));
}

void DropList::draw_arrow(const Rect& box) const {
  const float half = std::round(frame_.text_px(3.5f));
  const ImVec2 center{box.max.x - frame_.text_px(10.0f), std::round(box.center().y)};
  ImGui::GetWindowDrawList()->AddTriangleFilled(
      {center.x - half, center.y - half * 0.6f}, {center.x + half, center.y - half * 0.6f},
      {center.x, center.y + half * 0.8f}, frame_.theme.text_faint);
}

ComboBox::ComboBox(const Frame& frame, std::string field, const Rect& box,
                   const std::string& preview)
    : DropList(frame, std::move(field)) {
  draw_opener("field." + name(), box);
  draw_surface(box, ImGui::IsItemHovered());
  const FontRef& font = frame.fonts.ui;
  const float padding = frame.text_px(9.0f);
  const std::string shown =
      draw::fitted(font, preview, box.width() - padding - frame.text_px(18.0f));
  font.draw(ImGui::GetWindowDrawList(),
            {box.min.x + padding, std::round(box.center().y - font.size * 0.5f)}, frame.theme.text,
            shown);
  if (shown != preview) ui::tooltip(frame, preview);
  draw_arrow(box);
  begin(box);
}

/// Draws the value as text that can be edited.
void TextBox::edit(const Rect& box, float arrow_width, TextDraft& draft, const BoxText& text) {
  const Frame& frame = context();
  const FontRef& font = frame.fonts.ui;
  const FontScope scope(font);
  const std::string id = "field." + name();
  const float padding = frame.text_px(8.0f);
  const float width = box.width() - arrow_width;
  ImGui::SetCursorScreenPos(box.min);
  ImGui::SetNextItemWidth(width);
  ImGui::PushStyleVar(ImGuiStyleVar_FramePadding, {padding, (box.height() - font.size) * 0.5f});
  ImGui::PushStyleColor(ImGuiCol_FrameBg, 0);
  if (!draft.active) {
    ImGui::PushStyleColor(ImGuiCol_Text, 0);  // the preview is drawn there, cut with an ellipsis
    *fmt::format_to_n(draft.text.data(), draft.text.size() - 1, "{}", text.value).out = 0;
  }
  ImGuiInputTextFlags flags = ImGuiInputTextFlags_AutoSelectAll;
  if (text.only_numbers) flags |= ImGuiInputTextFlags_CharsDecimal;
  const bool entered = frame.focus.visit(id, box, frame.theme);
  if (entered || frame.focus.comes_to(id)) ImGui::SetKeyboardFocusHere();
  ImGui::InputText(("##" + id).c_str(), draft.text.data(), draft.text.size(), flags);
  const std::string shown = draw::fitted(font, text.preview, width - padding);
  if (!draft.active) {
    ImGui::PopStyleColor();
    font.draw(ImGui::GetWindowDrawList(),
              {box.min.x + padding, std::round(box.center().y - font.size * 0.5f)},
              frame.theme.text, shown);
    if (shown != text.preview) ui::tooltip(frame, text.preview);
  }
  const std::string typed = draft.text.data();
  if (ImGui::IsItemDeactivatedAfterEdit() && typed != text.value) typed_ = typed;
  draft.active = ImGui::IsItemActive();
  if (!draft.active) ui::tooltip(frame, text.help);
  ImGui::PopStyleColor();
  ImGui::PopStyleVar();
  frame.rects.add(id, box);
}

TextBox::TextBox(const Frame& frame, std::string field, const Rect& box, TextDraft& draft,
                 const BoxText& text)
    : DropList(frame, std::move(field)) {
  const float arrow_width = frame.text_px(20.0f);
  const Rect arrow{{box.max.x - arrow_width, box.min.y}, box.max};
  draw_surface(box, false);
  edit(box, arrow_width, draft, text);

  // The list
  draw_opener("field." + name() + ".list", arrow);
  if (ImGui::IsItemHovered()) {
    ImGui::GetWindowDrawList()->AddRectFilled(arrow.min, arrow.max, frame.theme.button_hovered,
                                              frame.px(4.0f));
  }
  draw_arrow(box);
  begin(box);
}

}  // namespace attnscope::app
