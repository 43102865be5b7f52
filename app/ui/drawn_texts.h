/// Records the text of a frame: Dear ImGui's draw lists only have the triangles of its glyphs.
#pragma once

#include <imgui.h>

#include <string>
#include <string_view>
#include <vector>

namespace attnscope::app {

/// A piece of text as it was drawn.
struct DrawnText {
  const ImDrawList* list = nullptr;
  int index = 0;  ///< where its glyphs begin in the list's index buffer
  ImVec2 at;      ///< upper left corner; the middle of a vertical text
  ImVec2 size;    ///< along the text, and across it
  ImU32 color = 0;
  std::string font;  ///< "Inter-SemiBold.otf, 17px"
  bool is_vertical = false;
  std::string text;
};

/// While it exists, records all text that its thread draws.
class TextRecorder {
 public:
  TextRecorder();
  ~TextRecorder();
  TextRecorder(const TextRecorder&) = delete;
  TextRecorder& operator=(const TextRecorder&) = delete;

  const std::vector<DrawnText>& texts() const { return texts_; }
  void clear() { texts_.clear(); }
  void add(DrawnText text) { texts_.push_back(std::move(text)); }

 private:
  std::vector<DrawnText> texts_;
};

/// Records text that is about to be drawn, if there is a recorder. FontRef::draw() and
/// draw::vertical_text() call it.
void record_text(const ImDrawList* list, const ImFont* font, float font_size, ImVec2 at,
                 ImU32 color, std::string_view text, bool is_vertical = false);

}  // namespace attnscope::app
