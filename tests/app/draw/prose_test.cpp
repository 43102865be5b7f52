#include "app/draw/prose.h"

#include <gtest/gtest.h>

#include <string>

namespace attnscope::app::draw {
namespace {

/// The pieces of text: "<K|j|T>" is a symbol with its subscript and superscript.
std::string pieces_of(std::string_view text) {
  std::string marked;
  for (const ProsePiece& piece : prose_pieces(text)) {
    marked += piece.words;
    if (!piece.symbol) continue;
    const Symbol& symbol = *piece.symbol;
    marked += "<" + symbol.base + "|" + symbol.subscript + "|" + symbol.superscript + ">";
  }
  return marked;
}

TEST(Prose, FindsSymbolsThatAreWholeWords) {
  EXPECT_EQ(pieces_of("What is the new l?"), "What is the new <l||>?");
  EXPECT_EQ(pieces_of("S = Q_i K_j^T"), "<S||> = <Q|i|> <K|j|T>");
  EXPECT_EQ(pieces_of("exp(m_prev - m)"), "exp(<m|prev|> - <m||>)");
  EXPECT_EQ(pieces_of("4.2 × 10^12 and 10"), "4.2 × <10||12> and 10");
  EXPECT_EQ(pieces_of("N^2 d^2 / M, N_kv"), "<N||2> <d||2> / M, <N|kv|>");
  EXPECT_EQ(pieces_of("m~, l~ and P~"), "<m~||>, <l~||> and <P~||>");
  EXPECT_EQ(pieces_of("alpha·l"), "<alpha||>·<l||>");
}

TEST(Prose, LeavesWordsAlone) {
  for (const char* text : {"Only lines of plain words, 16 KiB each", "O(N)", "alphas and NaN", "l_",
                           "SMs", "m^", "dQ2", ""}) {
    const std::string pieces = pieces_of(text);
    if (std::string_view(text) == "O(N)") {
      EXPECT_EQ(pieces, "O(<N||>)");
    } else {
      EXPECT_EQ(pieces, text);
    }
  }
}

}  // namespace
}  // namespace attnscope::app::draw
