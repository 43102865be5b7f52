#include "app/fonts.h"

#include <cfloat>

namespace attnscope::app {

ImVec2 FontRef::measure(std::string_view text) const {
  if (font == nullptr || text.empty()) return {0.0f, size};
  return font->CalcTextSizeA(size, FLT_MAX, 0.0f, text.data(), text.data() + text.size());
}

void FontRef::draw(ImDrawList* list, ImVec2 position, ImU32 color, std::string_view text) const {
  if (text.empty()) return;
  list->AddText(font, size, position, color, text.data(), text.data() + text.size());
}

FontScope::FontScope(const FontRef& font) {
#if IMGUI_VERSION_NUM >= 19200
  ImGui::PushFont(font.font, font.size);
#else
  ImGui::PushFont(font.font);
#endif
}

FontScope::~FontScope() {
  ImGui::PopFont();
}

}  // namespace attnscope::app
