#include "app/screen/guide_reader.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "app/app.h"
#include "app/screen/keys_overlay.h"

namespace attnscope::app {

namespace {

constexpr const char* kGuidePopup = "guide";

/// The keys as a page, which is drawn like the others.
GuidePage keys_page() {
  MarkdownTable table{{parse_spans("key"), parse_spans("what it does")}, {}};
  for (const auto& [key, help] : key_help()) {
    table.rows.push_back({{{key, TextStyle::bold, {}}}, {{help, TextStyle::plain, {}}}});
  }
  return {std::string(kKeysPage), "Keys", {Heading{1, parse_spans("Keys"), "keys"}, table}};
}

bool draw_entry(const Frame& frame, const GuidePage& page, bool is_open) {
  const bool clicked =
      ImGui::Selectable(page.title.c_str(), is_open, ImGuiSelectableFlags_DontClosePopups);
  return ui::visit_item(frame, "guide.page." + page.name) || clicked;
}

}  // namespace

void GuideReader::open(const GuidePlace& place) {
  if (!place_.page.empty() && !(place_ == place)) before_.push_back(place_);
  place_ = place;
  arrives_ = true;
}

void GuideReader::follow(const Frame& frame, const std::string& link) {
  const GuidePlace place = place_of_link(link, place_.page);
  if (frame.app.listed.guide.find(place.page) != nullptr) return open(place);
  // Copy links to source files and web addresses, because the app opens no other programs
  frame.app.commands.push(CopyText{link, link});
}

void GuideReader::draw_open_page(const Frame& frame, const GuidePage& keys) {
  const GuidePage* page =
      place_.page == kKeysPage ? &keys : frame.app.listed.guide.find(place_.page);
  if (page == nullptr) return ImGui::TextDisabled("This page is missing.");
  const std::string anchor = arrives_ ? place_.anchor : std::string();
  if (arrives_ && anchor.empty()) ImGui::SetScrollY(0.0f);
  arrives_ = false;
  const float width = ImGui::GetContentRegionAvail().x - frame.px(14.0f);
  const std::string clicked = view_.draw(frame, *page, width, anchor);
  if (!clicked.empty()) follow(frame, clicked);
}

void GuideReader::draw_contents(const Frame& frame, const GuidePage& keys) {
  const FontScope font(frame.fonts.ui);
  const ImVec2 display = ImGui::GetIO().DisplaySize;
  const float list_width = frame.text_px(270.0f);
  const float height = display.y * 0.84f - frame.px(32.0f);

  // The pages
  ImGui::BeginChild("pages", {list_width, height}, false, ImGuiWindowFlags_NoNav);
  ImGui::BeginDisabled(before_.empty());
  const bool back = ImGui::Button("Back");
  if ((ui::visit_item(frame, "guide.back") || back) && !before_.empty()) {
    place_ = before_.back();
    before_.pop_back();
    arrives_ = true;
  }
  ImGui::EndDisabled();
  ImGui::SameLine();
  const bool close = ImGui::Button("Close");
  if (ui::visit_item(frame, "guide.close") || close) ImGui::CloseCurrentPopup();
  ImGui::Spacing();
  if (draw_entry(frame, keys, place_.page == kKeysPage)) open({keys.name, {}});
  for (const GuidePage& page : frame.app.listed.guide.pages) {
    if (draw_entry(frame, page, place_.page == page.name)) open({page.name, {}});
  }
  ImGui::EndChild();

  // The open page
  ImGui::SameLine(0.0f, frame.px(24.0f));
  ImGui::BeginChild("page", {0.0f, height}, false, ImGuiWindowFlags_NoNav);
  draw_open_page(frame, keys);
  ImGui::EndChild();
  frame.rects.add_item("guide.text");
}

void GuideReader::draw(const Frame& frame) {
  if (const auto asked = std::exchange(frame.app.view.guide_page, std::nullopt)) {
    if (!asked->empty() || place_.page.empty()) open({asked->empty() ? "screen" : *asked, {}});
    ImGui::OpenPopup(kGuidePopup);
  }
  if (!ImGui::IsPopupOpen(kGuidePopup)) return;
  const ImVec2 display = ImGui::GetIO().DisplaySize;
  ImGui::SetNextWindowPos({display.x * 0.5f, display.y * 0.5f}, ImGuiCond_Always, {0.5f, 0.5f});
  ImGui::SetNextWindowSize(
      {std::min(display.x * 0.94f, frame.text_px(1240.0f)), display.y * 0.84f});
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, {frame.px(20.0f), frame.px(16.0f)});
  const bool is_open = ImGui::BeginPopup(kGuidePopup, ImGuiWindowFlags_NoNav);
  ImGui::PopStyleVar();
  if (!is_open) return;
  ui::close_popup_on_escape();
  const ImVec2 at = ImGui::GetWindowPos();
  const ImVec2 size = ImGui::GetWindowSize();
  frame.rects.add("guide", {at, {at.x + size.x, at.y + size.y}});
  draw_contents(frame, keys_page());
  ImGui::EndPopup();
}

Rect help_button(const Frame& frame, const Rect& bar, float right) {
  const float height = frame.text_px(15.0f) + frame.px(12.0f);
  const float y = std::round(bar.center().y - height * 0.5f);
  return {{right - std::round(height * 1.1f), y}, {right, y + height}};
}

}  // namespace attnscope::app
