#include "app/panels/parts/headings.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <string>
#include <vector>

#include "app/draw/canvas.h"
#include "app/draw/tooltip.h"
#include "app/draw/wordings.h"
#include "sim/snapshot/snapshot.h"

namespace attnscope::app {

Rect draw_panel_header(const PanelContext& context, std::string_view title,
                       std::string_view subtitle, std::string_view note) {
  const Theme& theme = context.theme;
  const float scale = context.scale;
  const float padding = 14.0f * scale;
  ImDrawList* list = ImGui::GetWindowDrawList();

  // Title, subtitle and note share the title's baseline
  const float y = context.rect.min.y + 10.0f * scale;
  const float title_size = context.fonts.title.size;
  const auto y_for = [&](const FontRef& font) { return y + (title_size - font.size) * 0.8f; };

  float x = context.rect.min.x + padding;
  context.fonts.title.draw(list, {x, y}, theme.text_dim, title);
  x += context.fonts.title.measure(title).x;
  if (!subtitle.empty()) {
    x += 10.0f * scale;
    context.fonts.title.draw(list, {x, y}, theme.text_dim, subtitle);
    x += context.fonts.title.measure(subtitle).x;
  }

  // Leave out the note if it would overlap the title
  const FontRef& small = context.fonts.small;
  const float note_x = context.rect.max.x - padding - small.measure(note).x;
  if (note_x > x + 12.0f * scale) small.draw(list, {note_x, y_for(small)}, theme.text_faint, note);

  const float header_height = 10.0f * scale + title_size + 8.0f * scale;
  return Rect{{context.rect.min.x + padding, context.rect.min.y + header_height},
              {context.rect.max.x - padding, context.rect.max.y - 10.0f * scale}};
}

namespace {

float padding_of_button(const PanelContext& context) {
  return context.px(6.0f);
}

}  // namespace

float text_button_width(const PanelContext& context, std::string_view label) {
  return context.fonts.small.measure(label).x + 2.0f * padding_of_button(context);
}

TextButton draw_text_button(const PanelContext& context, std::string_view name,
                            std::string_view label, ImVec2 upper_right, bool lit) {
  if (context.alone) return {upper_right.x, false};
  const FontRef& font = context.fonts.small;
  const Theme& theme = context.theme;
  const float padding = padding_of_button(context);
  const ImVec2 size{text_button_width(context, label), font.size + context.px(6.0f)};
  const Rect rect{{upper_right.x - size.x, upper_right.y - context.px(3.0f)},
                  {upper_right.x, upper_right.y - context.px(3.0f) + size.y}};
  ImGui::SetCursorScreenPos(rect.min);
  const std::string id = fmt::format("##{}", name);
  const bool by_key = context.pressed_by_key(name, rect);
  const bool pressed = ImGui::InvisibleButton(id.c_str(), size) || by_key;
  const bool over = ImGui::IsItemHovered();
  context.named_rects.add(name, rect);
  if (lit || over) {
    draw::fill(context, rect, lit ? theme.button : with_alpha(theme.button, 0.5f),
               context.px(4.0f));
  }
  draw::text(context, font, {rect.min.x + padding, upper_right.y},
             lit || over ? theme.text : theme.text_faint, label);
  return {rect.min.x, pressed};
}

TextTabs draw_text_tabs(const PanelContext& context, std::string_view panel,
                        const std::vector<std::string_view>& labels, std::ptrdiff_t chosen,
                        ImVec2 upper_right) {
  if (context.alone) return {{}, upper_right.x};
  const float gap = 3.0f * context.scale;
  ImVec2 at = upper_right;
  for (const std::string_view label : labels) at.x -= text_button_width(context, label) + gap;
  TextTabs tabs{{}, at.x};
  // From left to right, the order in which Tab visits them
  for (std::size_t k = 0; k < labels.size(); ++k) {
    at.x += gap + text_button_width(context, labels[k]);
    const bool lit = static_cast<std::ptrdiff_t>(k) == chosen;
    const TextButton button =
        draw_text_button(context, fmt::format("{}.tab.{}", panel, labels[k]), labels[k], at, lit);
    if (button.pressed) tabs.pressed = k;
  }
  return tabs;
}

namespace {

TitleTabs draw_title_tabs(const PanelContext& context, std::string_view panel,
                          const std::vector<std::string>& titles, int chosen,
                          std::string_view note) {
  if (context.alone)
    return {chosen, draw_panel_header(context, titles[static_cast<std::size_t>(chosen)], {}, note)};
  const Rect rest = draw_panel_header(context, {}, {}, {});
  const FontRef& font = context.fonts.title;
  const Theme& theme = context.theme;
  const float y = context.rect.min.y + context.px(10.0f);
  float x = rest.min.x;
  int index = 0;
  int now = chosen;
  for (const std::string& title : titles) {
    const float width = font.measure(title).x;
    const Rect rect{{x, y - context.px(4.0f)}, {x + width, y + font.size + context.px(5.0f)}};
    const std::string name = fmt::format("{}.tab.{}", panel, title);
    ImGui::SetCursorScreenPos(rect.min);
    const bool by_key = context.pressed_by_key(name, rect);
    if (ImGui::InvisibleButton(name.c_str(), {rect.width(), rect.height()}) || by_key) now = index;
    const bool lit = index == chosen;
    const bool over = ImGui::IsItemHovered();
    context.named_rects.add(name, rect);
    draw::text(context, font, {x, y}, lit || over ? theme.text_dim : theme.text_faint, title);
    if (lit) {
      context.list->AddLine({x, y + font.size + context.px(3.0f)},
                            {x + width, y + font.size + context.px(3.0f)}, theme.accent,
                            context.px(2.0f));
    }
    x += width + context.px(18.0f);
    ++index;
  }

  // Leave out the end of the note, clause by clause, if it would overlap the titles
  const FontRef& small = context.fonts.small;
  while (small.measure(note).x > rest.max.x - x && note.find(", ") != note.npos) {
    note = note.substr(0, note.rfind(", "));
  }
  draw::text_if_fits(context, small, {rest.max.x, y + (font.size - small.size) * 0.8f},
                     theme.text_faint, note, rest.max.x - x, draw::Align::right);
  return {now, rest};
}

}  // namespace

Rect draw_memory_tabs(const PanelContext& context, ViewState& view, std::string_view note) {
  std::vector<std::string> titles;
  for (const std::string_view name : enum_names(MemoryTab{})) {
    std::string& title = titles.emplace_back(name);
    std::ranges::transform(title, title.begin(),
                           [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  }
  const TitleTabs tabs =
      draw_title_tabs(context, "memory", titles, static_cast<int>(view.memory_tab), note);
  view.memory_tab = static_cast<MemoryTab>(tabs.chosen);
  return tabs.rest;
}

Rect draw_softmax_tabs(const PanelContext& context, ViewState& view, std::string_view title,
                       std::string_view note) {
  const TitleTabs tabs =
      draw_title_tabs(context, "online_softmax", {std::string(title), "WHY ONLINE"},
                      static_cast<int>(view.softmax_tab), note);
  view.softmax_tab = static_cast<SoftmaxTab>(tabs.chosen);
  return tabs.rest;
}

std::string_view softmax_title(const Snapshot& snapshot) {
  const bool whole_rows = snapshot.run->algorithm->softmax == SoftmaxForm::whole_rows;
  if (snapshot.in_backward()) return whole_rows ? "GRADIENTS" : "RECOMPUTATION";
  return whole_rows ? "SOFTMAX" : "ONLINE SOFTMAX";
}

TitleTabs draw_tabbed_header(const PanelContext& context, std::string_view panel,
                             std::string_view title, std::string_view subtitle,
                             std::initializer_list<std::string_view> labels, int chosen) {
  const float padding = 14.0f * context.scale;
  const FontRef& font = context.fonts.title;
  ImVec2 at{
      context.rect.max.x - padding + 6.0f * context.scale,
      context.rect.min.y + 10.0f * context.scale + (font.size - context.fonts.small.size) * 0.8f};
  const auto [pressed, left] = draw_text_tabs(context, panel, labels, chosen, at);
  const int now = pressed ? static_cast<int>(*pressed) : chosen;
  at.x = left;

  // Title and subtitle in the room that the tabs leave
  const float room = at.x - context.rect.min.x - padding;
  const std::string title_shown = draw::fitted(font, title, room);
  const std::string subtitle_shown =
      draw::widest_that_fits(font, draw::wordings_of(subtitle, ": "),
                             room - font.measure(title).x - 10.0f * context.scale);
  const Rect rest = draw_panel_header(context, title_shown, subtitle_shown, {});
  if (subtitle_shown != subtitle) {
    draw::explain_shortened(context.fonts.small, subtitle, {context.rect.min, {at.x, rest.min.y}});
  }
  return {now, rest};
}

void Panel::draw(const Snapshot& snapshot, ViewState& view, const PanelContext& context) const {
  if (snapshot.run != nullptr && snapshot.run->algorithm != nullptr) {
    return draw_run(snapshot, view, context);
  }
  const Rect rest = draw_panel_header(context, title, {}, {});
  if (snapshot.error) {
    draw::wrapped_text(context, context.fonts.ui, rest.min, context.theme.error,
                       words(*snapshot.error, Reader::screen), rest.width(), 4);
  } else {
    draw::text(context, context.fonts.ui, rest.min, context.theme.text_faint,
               "Nothing to show yet");
  }
}

}  // namespace attnscope::app
