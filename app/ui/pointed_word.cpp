#include "app/ui/pointed_word.h"

#include <imgui_internal.h>

#include <cctype>
#include <cfloat>
#include <utility>

namespace attnscope::app {

namespace {

thread_local std::optional<PointedWord> pointed_word;

bool is_alnum(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0;
}

/// Whether the character continues a word that begins at `begin`.
bool continues(std::string_view text, std::size_t begin, std::size_t at) {
  const char c = text[at];
  if (is_alnum(c) || c == '_' || c == '~' || c == '^') return true;
  const std::size_t open = text.substr(begin, at - begin).rfind('[');
  const bool in_brackets =
      open != std::string_view::npos &&
      text.substr(begin + open, at - begin - open).find(']') == std::string_view::npos;
  if (c == ']') return in_brackets;
  return c == '[' && at > begin && !in_brackets;
}

/// Whether the word follows a number and a space, as a unit does.
bool is_unit(std::string_view text, std::size_t begin) {
  return begin >= 2 && text[begin - 1] == ' ' &&
         std::isdigit(static_cast<unsigned char>(text[begin - 2])) != 0 &&
         (text.substr(begin) == "B" || text.substr(begin).starts_with("B ") ||
          text.substr(begin).starts_with("B,"));
}

}  // namespace

std::string_view word_at(std::string_view text, std::size_t offset) {
  std::size_t begin = 0;
  while (begin < text.size() && begin <= offset) {
    if (!is_alnum(text[begin])) {
      ++begin;
      continue;
    }
    std::size_t end = begin + 1;
    while (end < text.size() && continues(text, begin, end)) ++end;
    if (offset < end) {
      return is_unit(text, begin) ? std::string_view() : text.substr(begin, end - begin);
    }
    begin = end;
  }
  return {};
}

void note_pointed_word(const ImDrawList* list, const ImFont* font, float font_size, ImVec2 at,
                       std::string_view text) {
  const auto width_of = [&](std::string_view part) {
    if (part.empty()) return 0.0f;
    const char* const end = part.data() + part.size();
    return font->CalcTextSizeA(font_size, FLT_MAX, 0.0f, part.data(), end).x;
  };
  const ImVec2 mouse = ImGui::GetIO().MousePos;
  if (mouse.y < at.y || mouse.y >= at.y + font_size || mouse.x < at.x) return;
  ImGuiWindow* const window = ImGui::GetCurrentContext()->HoveredWindow;
  if (window == nullptr || window->DrawList != list) return;
  constexpr ImGuiPopupFlags kAnyPopup = ImGuiPopupFlags_AnyPopupId | ImGuiPopupFlags_AnyPopupLevel;
  const bool in_popup = (window->RootWindow->Flags & ImGuiWindowFlags_Popup) != 0;
  if (!in_popup && ImGui::IsPopupOpen("", kAnyPopup)) return;  // behind a menu
  const ImVec4& clip = list->_ClipRectStack.back();
  if (!Rect{{clip.x, clip.y}, {clip.z, clip.w}}.contains(mouse)) return;
  if (mouse.x >= at.x + width_of(text)) return;

  // The letter under the mouse, then the word around it
  std::size_t offset = 0;
  while (offset + 1 < text.size() && at.x + width_of(text.substr(0, offset + 1)) <= mouse.x) {
    ++offset;
  }
  const std::string_view word = word_at(text, offset);
  if (word.empty()) return;
  const auto begin = static_cast<std::size_t>(word.data() - text.data());
  const float left = at.x + width_of(text.substr(0, begin));
  pointed_word =
      PointedWord{std::string(word), {{left, at.y}, {left + width_of(word), at.y + font_size}}};
}

std::optional<PointedWord> take_pointed_word() {
  return std::exchange(pointed_word, std::nullopt);
}

}  // namespace attnscope::app
