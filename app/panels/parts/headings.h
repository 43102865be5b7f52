/// The headings, tabs and buttons that panels share.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <vector>

#include "app/panels/parts/panel.h"

namespace attnscope::app {

// Headings, some with choices at their right end: "pseudo-code | CUDA source".

/// Draws a panel's heading: title and subtitle on the left, a note on the right (each may be
/// empty). Returns the rest of the rectangle below it, without the card's padding.
Rect draw_panel_header(const PanelContext& context, std::string_view title,
                       std::string_view subtitle, std::string_view note);

/// The heading of a panel with choices at its right end, the chosen one highlighted; the subtitle
/// is cut before them. Returns the current choice and the room below. Named rectangles:
/// "PANEL.tab.LABEL".
struct TitleTabs {
  int chosen = 0;
  Rect rest;
};
TitleTabs draw_tabbed_header(const PanelContext& context, std::string_view panel,
                             std::string_view title, std::string_view subtitle,
                             std::initializer_list<std::string_view> labels, int chosen);

// The heading of a panel that shares its slot: the slot's titles, the displayed one highlighted,
// and a note on the right if there is room. Both return the room below. Named rectangles: as above.

/// For the slot `memory`: the titles are the names of MemoryTab.
Rect draw_memory_tabs(const PanelContext& context, ViewState& view, std::string_view note);

/// Draws the tabs of the slot `online_softmax`: the followed row, under its title, and WHY ONLINE.
Rect draw_softmax_tabs(const PanelContext& context, ViewState& view, std::string_view title,
                       std::string_view note);
/// The title of the followed row's panel: "ONLINE SOFTMAX", "RECOMPUTATION", ...
std::string_view softmax_title(const Snapshot& snapshot);

/// A line of text that acts as a button, with its right edge at `upper_right`. Returns its left
/// edge and whether it was pressed.
struct TextButton {
  float left = 0.0f;
  bool pressed = false;
};
float text_button_width(const PanelContext& context, std::string_view label);
TextButton draw_text_button(const PanelContext& context, std::string_view name,
                            std::string_view label, ImVec2 upper_right, bool lit);

/// Tabs side by side, the last one with its right edge at `upper_right`. Returns the index of the
/// one pressed, and the left edge of the tabs. Named rectangles: "PANEL.tab.LABEL".
struct TextTabs {
  std::optional<std::size_t> pressed;
  float left = 0.0f;
};
TextTabs draw_text_tabs(const PanelContext& context, std::string_view panel,
                        const std::vector<std::string_view>& labels, std::ptrdiff_t chosen,
                        ImVec2 upper_right);

}  // namespace attnscope::app
