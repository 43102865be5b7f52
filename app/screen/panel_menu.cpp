#include "app/screen/panel_menu.h"

#include <fmt/core.h>

#include "app/app.h"
#include "reference/field_rules.h"

namespace attnscope::app {

namespace {

/// Draws one line of the menu; returns whether it was chosen.
bool item(const Frame& frame, const std::string& name, const char* text, const char* key = "") {
  const bool chosen = ImGui::MenuItem(text, key);
  const bool by_key = ui::visit_item(frame, name);
  if (by_key) ImGui::CloseCurrentPopup();
  return chosen || by_key;
}

void draw_items(const Frame& frame, const Panel& panel, bool of_rival) {
  const FontScope font(frame.fonts.ui);
  ViewState& view = frame.app.view;
  // The rival's run is changed only in its own bar
  if (panel.draw_menu_items && !of_rival) {
    panel.draw_menu_items(view, frame.app.commands,
                          [&](const std::string& name, const std::string& label) {
                            return item(frame, name, label.c_str());
                          });
  }
  const bool is_large = view.enlarged == panel.slot;
  const char* const key = panel.slot == Slot::charts ? "C" : (is_large ? "Esc" : "");
  const bool may_enlarge = !view.race && !frame.app.shows_card();
  if (may_enlarge &&
      item(frame, "panel_menu.enlarge", is_large ? "Show all panels" : "Enlarge this panel", key)) {
    enlarge_or_back(view, panel.slot);
  }
  for (const char* const type : {"png", "svg"}) {
    const std::string path = fmt::format("attnscope-{}.{}", panel.name, type);
    const std::string label =
        std::string(type) == "svg" ? "Save as a vector graphic (SVG)…" : "Save a picture (PNG)…";
    if (item(frame, fmt::format("panel_menu.{}", type), label.c_str())) {
      frame.app.commands.push(
          AskToSave{PanelPicture{.slot = panel.slot, .of_rival = of_rival, .path = path}});
    }
  }
  // While a quiz asks what is broken, the command would reveal it
  if (!view.hides_break && item(frame, "panel_menu.command", "Copy the run as a command line")) {
    const RunSpec& run = of_rival ? view.race->rival : view.choice;
    frame.app.commands.push(
        CopyText{"attnscope-cli simulate" + options_text(run, FieldTarget::model),
                 "the run as a command line"});
  }
}

}  // namespace

void draw_panel_menu(const Frame& frame, const Panel& panel, const Rect& rect, bool of_rival) {
  const std::string popup = fmt::format("panel_menu.{}", panel.name);
  // Replaces a menu that is open elsewhere; a card or a menu above the panel takes the click
  constexpr ImGuiHoveredFlags kThePanel =
      ImGuiHoveredFlags_ChildWindows | ImGuiHoveredFlags_NoPopupHierarchy |
      ImGuiHoveredFlags_AllowWhenBlockedByPopup | ImGuiHoveredFlags_AllowWhenBlockedByActiveItem;
  const bool is_pointed = rect.contains(ImGui::GetMousePos()) &&
                          ImGui::IsMouseClicked(ImGuiMouseButton_Right) &&
                          ImGui::IsWindowHovered(kThePanel);
  if (is_pointed) ImGui::OpenPopup(popup.c_str());
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, {frame.px(10.0f), frame.px(8.0f)});
  if (ImGui::BeginPopup(popup.c_str(), ImGuiWindowFlags_NoNav)) {
    ui::close_popup_on_escape();
    draw_items(frame, panel, of_rival);
    ImGui::EndPopup();
  }
  ImGui::PopStyleVar();
}

}  // namespace attnscope::app
