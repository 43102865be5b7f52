#include "app/ui/drawn_texts.h"

#include <cfloat>

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

void record_text(const ImDrawList* list, const ImFont* font, float font_size, ImVec2 at,
                 ImU32 color, std::string_view text, bool is_vertical) {
  if (recorder == nullptr) return;
  const float width =
      font->CalcTextSizeA(font_size, FLT_MAX, 0.0f, text.data(), text.data() + text.size()).x;
  recorder->add({.list = list,
                 .index = list->IdxBuffer.Size,
                 .at = at,
                 .size = {width, font_size},
                 .color = color,
                 .font = font->GetDebugName(),
                 .is_vertical = is_vertical,
                 .text = std::string(text)});
}

}  // namespace attnscope::app
