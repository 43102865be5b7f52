/// Sentences with symbols, set as in the panels: names of tensors in their colours, sizes and
/// indices in the font of numbers, true subscripts and superscripts.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/draw/canvas.h"

namespace attnscope::app::draw {

/// A part of a sentence: plain words, or a symbol.
struct ProsePiece {
  std::string words;
  std::optional<Symbol> symbol = {};
};

/// Finds the symbols in text: names of tensors, sizes and indices as whole words, with what follows
/// them ("K_j^T", "N^2", "m~", "N_kv"), and powers of ten ("10^12"). O before a parenthesis is
/// big-O notation: O(N^2).
std::vector<ProsePiece> prose_pieces(std::string_view text);

struct ProseStyle {
  FontRef words;
  FontRef symbols;
  ImU32 color = 0;  ///< the colour of words, and of symbols that do not name a tensor
};

/// Draws lines of at most `width`, broken at spaces and at line breaks; returns the height used.
float draw_prose(const Canvas& canvas, const ProseStyle& style, ImVec2 at, std::string_view text,
                 float width);
float prose_height(const ProseStyle& style, std::string_view text, float width);

}  // namespace attnscope::app::draw
