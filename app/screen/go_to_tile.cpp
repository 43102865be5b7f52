#include "app/screen/go_to_tile.h"

#include <algorithm>
#include <string>

#include "app/app.h"
#include "app/platform/keys.h"
#include "reference/parse_number.h"

namespace attnscope::app {

namespace {
constexpr const char* kGoToTilePopup = "go to tile";
}

Result<Index> first_step_of_tile(const RunInfo& run, std::string_view typed) {
  // "3, 5", "3 5" and "3,5" mean the same
  std::string text(typed);
  std::ranges::replace(text, ',', ' ');
  const std::size_t first = text.find_first_not_of(' ');
  const std::size_t last = text.find_last_not_of(' ');
  if (first == text.npos) return invalid_request("type a row tile and a column tile, such as 0, 1");
  text = text.substr(first, last + 1 - first);
  const auto repeated =
      std::unique(text.begin(), text.end(), [](char a, char b) { return a == ' ' && b == ' '; });
  text.erase(repeated, text.end());
  std::ranges::replace(text, ' ', ',');
  const auto indices = parse_numbers<Index>(text);
  if (!indices || indices->size() != 2) {
    return invalid_request("not a tile; type a row tile and a column tile, such as 0, 1");
  }

  const Index i = indices->front();
  const Index j = indices->back();
  if (i < 0 || i >= run.Tr) return invalid_request("i is {}; use 0 to {}", i, run.Tr - 1);
  if (j < 0 || j >= run.Tc) return invalid_request("j is {}; use 0 to {}", j, run.Tc - 1);
  const TileLife& life = run.score_tiles[static_cast<std::size_t>(i * run.Tc + j)];
  if (life.first < 0) {
    return invalid_request("tile ({}, {}) is never computed: the mask hides all of it", i, j);
  }
  return Index{life.first};
}

void GoToTile::draw_contents(const Frame& frame, const RunInfo& run) {
  const FontScope font(frame.fonts.ui);
  ImGui::TextUnformatted(
      fmt::format("Go to tile i, j  (0 to {}, 0 to {})", run.Tr - 1, run.Tc - 1).c_str());
  ImGui::SetNextItemWidth(frame.text_px(230.0f));
  if (ImGui::IsWindowAppearing()) ImGui::SetKeyboardFocusHere();
  if (ImGui::InputText("##tile", text_.data(), text_.size(),
                       ImGuiInputTextFlags_EnterReturnsTrue)) {
    const Result<Index> step = first_step_of_tile(run, text_.data());
    error_ = step ? "" : step.error().message;
    if (step) frame.app.commands.push(SeekTo{step.value()});
    if (step) ImGui::CloseCurrentPopup();
    if (!step) ImGui::SetKeyboardFocusHere(-1);
  }
  frame.rects.add_item("go_to_tile");
  if (!error_.empty()) {
    ImGui::PushStyleColor(ImGuiCol_Text, frame.theme.error);
    ImGui::TextUnformatted(error_.c_str());
    ImGui::PopStyleColor();
    frame.rects.add_item("go_to_tile.error");
  }
}

void GoToTile::draw(const Frame& frame) {
  const auto snapshot = frame.app.snapshot();
  const ImGuiIO& io = ImGui::GetIO();
  const bool typing = io.WantTextInput || ImGui::IsPopupOpen("", ImGuiPopupFlags_AnyPopup);
  if (snapshot && !typing && !io.KeyCtrl && !io.KeyAlt && key_pressed(Key::g)) {
    error_.clear();
    text_[0] = 0;
    ImGui::OpenPopup(kGoToTilePopup);
  }

  // Over the scores, or in the middle of the screen if they are not shown
  const ImVec2 display = io.DisplaySize;
  const Rect over = frame.rects.find("panel.scores").value_or(Rect{{0.0f, 0.0f}, display});
  ImGui::SetNextWindowPos(over.center(), ImGuiCond_Always, {0.5f, 0.5f});
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, {frame.px(14.0f), frame.px(12.0f)});
  if (snapshot && ImGui::BeginPopup(kGoToTilePopup)) {
    ui::close_popup_on_escape();
    draw_contents(frame, *snapshot->run);
    ImGui::EndPopup();
  }
  ImGui::PopStyleVar();
}

}  // namespace attnscope::app
