#include "app/draw/prose.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>

namespace attnscope::app::draw {

namespace {

constexpr std::array<std::string_view, 26> kNames = {
    "alpha", "beta", "LSE", "dQ", "dK", "dV", "dO", "dP", "dS", "Br", "Bc", "Tr", "Tc",
    "Q",     "K",    "V",   "O",  "S",  "P",  "m",  "l",  "D",  "N",  "d",  "i",  "j"};

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

/// The letters and digits at the beginning of the text.
std::string_view leading_alnum(std::string_view text) {
  const auto end = std::ranges::find_if_not(
      text, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; });
  return text.substr(0, static_cast<std::size_t>(end - text.begin()));
}

/// A symbol at the beginning of the text, and the number of its characters.
struct FoundSymbol {
  Symbol symbol;
  std::size_t length = 0;
};

std::optional<FoundSymbol> symbol_at(std::string_view text) {
  const std::string_view name = leading_alnum(text);
  const bool is_power_of_ten = name == "10" && text.substr(2).starts_with('^');
  const bool is_name = std::ranges::find(kNames, name) != kNames.end();
  if (!is_name && !is_power_of_ten) return std::nullopt;
  FoundSymbol found{{std::string(name), {}}, name.size()};
  const auto next = [&] { return found.length < text.size() ? text[found.length] : '\0'; };
  if (name == "O" && next() == '(') return std::nullopt;
  if (next() == '~') {
    found.symbol.base += '~';
    ++found.length;
  }
  for (const char mark : {'_', '^'}) {
    if (next() != mark) continue;
    const std::string_view index = leading_alnum(text.substr(found.length + 1));
    if (index.empty()) return std::nullopt;
    (mark == '_' ? found.symbol.subscript : found.symbol.superscript) = index;
    found.length += 1 + index.size();
  }
  if (is_word(next()) || next() == '^') return std::nullopt;
  return found;
}

/// Whether this space separates a number from its unit, which stay on one line.
bool precedes_unit(std::string_view text, std::size_t space) {
  constexpr std::array<std::string_view, 21> kUnits = {
      "B",  "kB", "MB", "GB", "TB",   "KiB",   "MiB",   "GiB",   "TB/s",    "s",  "ms",
      "µs", "ns", "%",  "Hz", "FLOP", "MFLOP", "GFLOP", "TFLOP", "TFLOP/s", "GHz"};
  if (space == 0 || std::isdigit(static_cast<unsigned char>(text[space - 1])) == 0) return false;
  std::string_view word = text.substr(space + 1);
  word = word.substr(0, word.find_first_of(" \n"));
  while (!word.empty() && std::string_view(".,:;)?").find(word.back()) != word.npos) {
    word.remove_suffix(1);
  }
  return std::ranges::find(kUnits, word) != kUnits.end();
}

/// The end of the part of the text that stays on one line.
std::size_t end_of_part(std::string_view text) {
  std::size_t end = text.find_first_of(" \n");
  while (end != text.npos && text[end] == ' ' && precedes_unit(text, end)) {
    end = text.find_first_of(" \n", end + 1);
  }
  return std::min(end, text.size());
}

void add_words(std::vector<ProsePiece>& pieces, std::string_view words) {
  if (words.empty()) return;
  if (pieces.empty() || pieces.back().symbol) pieces.push_back({});
  pieces.back().words += words;
}

float width_of_piece(const ProseStyle& style, const ProsePiece& piece) {
  return piece.symbol ? width_of(style.symbols, *piece.symbol) : style.words.measure(piece.words).x;
}

float width_of_line(const ProseStyle& style, const std::vector<ProsePiece>& pieces) {
  float width = 0.0f;
  for (const ProsePiece& piece : pieces) width += width_of_piece(style, piece);
  return width;
}

std::vector<std::vector<ProsePiece>> lines_of(const ProseStyle& style, std::string_view text,
                                              float width) {
  std::vector<std::vector<ProsePiece>> lines;
  std::vector<ProsePiece> line;
  const auto end_line = [&] {
    lines.push_back(std::move(line));
    line = {};
  };
  while (!text.empty()) {
    const std::size_t space = end_of_part(text);
    std::vector<ProsePiece> longer = line;
    if (!line.empty()) add_words(longer, " ");
    const std::vector<ProsePiece> word = prose_pieces(text.substr(0, space));
    const auto append = [](std::vector<ProsePiece>& pieces, const std::vector<ProsePiece>& more) {
      for (const ProsePiece& piece : more) {
        if (piece.symbol) {
          pieces.push_back(piece);
        } else {
          add_words(pieces, piece.words);
        }
      }
    };
    append(longer, word);
    if (!line.empty() && width_of_line(style, longer) > width) {
      end_line();
      append(line, word);
    } else {
      line = std::move(longer);
    }
    if (space < text.size() && text[space] == '\n') end_line();
    text.remove_prefix(std::min(space + 1, text.size()));
  }
  if (!line.empty()) end_line();
  return lines;
}

ImU32 color_of_symbol(const Canvas& canvas, const ProseStyle& style, const Symbol& symbol) {
  // As in the panels, beta looks like alpha, m~ like m
  std::string_view name = std::string_view(symbol.base).substr(0, symbol.base.find('~'));
  if (name == "beta") name = "alpha";
  const ImU32 color = tensor_text_color(canvas.theme, name);
  return color == canvas.theme.text ? style.color : color;
}

}  // namespace

std::vector<ProsePiece> prose_pieces(std::string_view text) {
  std::vector<ProsePiece> pieces;
  for (std::size_t at = 0; at < text.size();) {
    if (const auto found = symbol_at(text.substr(at))) {
      pieces.push_back({{}, found->symbol});
      at += found->length;
      continue;
    }
    // Take the text up to the start of the next word
    std::size_t end = at + 1;
    while (end < text.size() && (is_word(text[end - 1]) || !is_word(text[end]))) ++end;
    add_words(pieces, text.substr(at, end - at));
    at = end;
  }
  return pieces;
}

float prose_height(const ProseStyle& style, std::string_view text, float width) {
  return line_height(style.words) * static_cast<float>(lines_of(style, text, width).size());
}

float draw_prose(const Canvas& canvas, const ProseStyle& style, ImVec2 at, std::string_view text,
                 float width) {
  const float top = at.y;
  const float drop = std::round((style.words.size - style.symbols.size) * 0.8f);
  for (const std::vector<ProsePiece>& line : lines_of(style, text, width)) {
    float x = at.x;
    for (const ProsePiece& piece : line) {
      if (piece.symbol) {
        draw_symbol(canvas, style.symbols, {x, at.y + drop},
                    color_of_symbol(canvas, style, *piece.symbol), *piece.symbol);
      } else {
        draw::text(canvas, style.words, {x, at.y}, style.color, piece.words);
      }
      x += width_of_piece(style, piece);
    }
    at.y += line_height(style.words);
  }
  return at.y - top;
}

}  // namespace attnscope::app::draw
