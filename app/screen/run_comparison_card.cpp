#include "app/screen/run_comparison_card.h"

#include <fmt/core.h>

#include <cmath>

#include "app/app.h"
#include "app/draw/format.h"
#include "app/draw/tooltip.h"

namespace attnscope::app {

namespace {

std::string cost_text(std::optional<double> value, CostRatio::Unit unit) {
  if (!value) return "–";
  switch (unit) {
    case CostRatio::Unit::bytes:
      return draw::format_bytes(*value);
    case CostRatio::Unit::flops:
      return draw::format_si(*value, "FLOP");
    case CostRatio::Unit::seconds:
      return draw::format_seconds(*value);
  }
  return {};
}

/// Draws a row: a label and three cells.
void draw_row(const Frame& frame, std::string_view label, const std::string& a,
              const std::string& b, const std::string& ratio) {
  ImGui::TableNextRow();
  const auto put = [](std::string_view text) {
    ImGui::TableNextColumn();
    ImGui::TextUnformatted(text.data(), text.data() + text.size());
  };
  ImGui::PushStyleColor(ImGuiCol_Text, frame.theme.text_dim);
  put(label);
  ImGui::PopStyleColor();
  put(a);
  put(b);
  put(ratio);
}

std::string or_not_set(const std::string& value) {
  return value.empty() ? "not set" : value;
}

void draw_cost(const Frame& frame, const CostRatio& cost) {
  const auto ratio = cost.ratio();
  const std::string no_ratio = cost.instead_of_ratio.empty() ? "–" : cost.instead_of_ratio;
  draw_row(frame, cost.label, cost_text(cost.a, cost.unit), cost_text(cost.b, cost.unit),
           ratio ? ratio_text(*ratio) : no_ratio);
}

void draw_table(const Frame& frame, const RunComparison& comparison, const SeenCosts& seen) {
  if (!ImGui::BeginTable("comparison", 4, ImGuiTableFlags_SizingFixedFit)) return;
  draw_row(frame, "", "A, pinned", "B, now", "B / A");
  for (const FieldDifference& field : comparison.fields) {
    draw_row(frame, field.label, or_not_set(field.a), or_not_set(field.b), "");
  }
  for (const CostRatio& cost : comparison.costs) draw_cost(frame, cost);
  for (const CostRatio& cost : seen.costs) draw_cost(frame, cost);
  ImGui::EndTable();
}

}  // namespace

float RunComparisonCard::button_width(const Frame& frame) {
  return frame.fonts.ui_bold.measure("Pin A").x + frame.text_px(16.0f);
}

void RunComparisonCard::draw_button(const Frame& frame, const Rect& bar, float right) {
  App& app = frame.app;
  const bool pinned = app.view.pinned.has_value();
  const std::string_view text = pinned ? "A/B" : "Pin A";
  constexpr std::string_view kPin =
      "Pins this configuration as A. Then change any field: a card shows what differs, and the "
      "ratios of bytes and times.";
  constexpr std::string_view kOpen = "Shows or hides the comparison of the pinned A with this run.";
  const float height = frame.text_px(15.0f) + frame.px(12.0f);
  const float y = std::round(bar.center().y - height * 0.5f);
  const Rect rect{{right - button_width(frame), y}, {right, y + height}};
  if (ui::draw_button(frame, {.name = "compare.pin",
                              .rect = rect,
                              .text = text,
                              .help = pinned ? kOpen : kPin,
                              .primary = pinned})) {
    open_ = pinned ? !open_ : true;
    if (!pinned) app.view.pinned = app.view.choice;
  }
}

void RunComparisonCard::draw(const Frame& frame) {
  App& app = frame.app;
  if (!app.view.pinned || !open_) {
    job_.collect();  // the card may have been closed while its job was running
    return;
  }
  const std::pair<RunSpec, RunSpec> key{*app.view.pinned, app.view.choice};
  if (job_.wants(key)) {
    job_.start(key, [key, gpus = app.gpus](WorkControl& control) {
      return compare_runs(key.first, key.second, *gpus, control);
    });
  }
  const RunComparison* comparison = job_.latest();
  const auto button = frame.rects.find("compare.pin");
  if (!button) return;
  ImGui::SetNextWindowPos({button->max.x, button->max.y + frame.px(8.0f)}, ImGuiCond_Always,
                          {1.0f, 0.0f});
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, {frame.px(14.0f), frame.px(12.0f)});
  ImGui::PushStyleVar(ImGuiStyleVar_WindowRounding, frame.px(6.0f));
  ImGui::PushStyleVar(ImGuiStyleVar_WindowBorderSize, 1.0f);
  constexpr ImGuiWindowFlags kFlags = ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoMove |
                                      ImGuiWindowFlags_NoSavedSettings |
                                      ImGuiWindowFlags_AlwaysAutoResize |
                                      ImGuiWindowFlags_NoFocusOnAppearing | ImGuiWindowFlags_NoNav;
  if (ImGui::Begin("comparison card", nullptr, kFlags)) {
    const FontScope font(frame.fonts.ui);
    if (job_.error()) {
      ImGui::TextUnformatted(words(*job_.error(), Reader::screen).c_str());
    } else if (comparison == nullptr) {
      ImGui::TextDisabled("…");
    } else {
      const SeenCosts seen = seen_costs(*comparison, app.measurements);
      draw_table(frame, *comparison, seen);
      ImGui::TextDisabled("%s", seen.about.c_str());
      if (comparison->fields.empty()) {
        ImGui::TextDisabled("A and B are the same run: change a field.");
      }
    }
    ImGui::TextDisabled("whole pass, all heads; modelled unless labelled otherwise");
    if (ImGui::Button("Pin this run as A")) app.view.pinned = app.view.choice;
    frame.rects.add_item("compare.repin");
    ImGui::SameLine();
    if (ImGui::Button("Back to A")) app.commands.push(Choose{*app.view.pinned});
    frame.rects.add_item("compare.back");
    ImGui::SameLine();
    if (ImGui::Button("Unpin")) app.view.pinned.reset();
    frame.rects.add_item("compare.unpin");
    const ImVec2 at = ImGui::GetWindowPos();
    const ImVec2 size = ImGui::GetWindowSize();
    const Rect card{at, {at.x + size.x, at.y + size.y}};
    frame.rects.add("compare.card", card);
    draw::keep_clear(card);
  }
  ImGui::End();
  ImGui::PopStyleVar(3);
}

}  // namespace attnscope::app
