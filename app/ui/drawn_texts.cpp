#include "app/ui/drawn_texts.h"

#include "app/ui/theme.h"

namespace attnscope::app {

namespace {

thread_local TextRecorder* recorder = nullptr;

}  // namespace

TextRecorder::TextRecorder() {
  recorder = this;
}

TextRecorder::~TextRecorder() {
  recorder = nullptr;
}

void record_text(const ImDrawList* list, const FontRef& font, ImVec2 at, ImU32 color,
                 std::string_view text, bool is_vertical) {
  if (recorder == nullptr) return;
  recorder->add({.list = list,
                 .index = list->IdxBuffer.Size,
                 .at = at,
                 .size = {font.measure(text).x, font.size},
                 .color = color,
                 .font = font.font != nullptr ? font.font->GetDebugName() : "",
                 .is_vertical = is_vertical,
                 .text = std::string(text)});
}

}  // namespace attnscope::app
