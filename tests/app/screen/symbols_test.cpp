/// The glossary's tooltips on the symbols of the screen.
#include <gtest/gtest.h>
#include <imgui_internal.h>

#include <set>
#include <string>

#include "app/ui/pointed_word.h"
#include "tests/app/screen/screen_session.h"

namespace attnscope::app {
namespace {

using test::ScreenSession;

/// The tooltip of the last frame; nothing if there is none.
std::optional<Rect> tooltip_rect() {
  const ImGuiWindow* window = ImGui::FindWindowByName("##Tooltip_00");
  if (window == nullptr || !window->WasActive || window->Hidden) return std::nullopt;
  return Rect{window->Pos, {window->Pos.x + window->Size.x, window->Pos.y + window->Size.y}};
}

bool cover(const Rect& a, const Rect& b) {
  return a.min.x < b.max.x && b.min.x < a.max.x && a.min.y < b.max.y && b.min.y < a.max.y;
}

/// The symbols that are explained when the mouse moves over the letters of a part of the screen.
/// Checks that no tooltip covers its symbol.
std::set<std::string> symbols_in(ScreenSession& session, const Rect& part) {
  constexpr std::string_view kPrefix = "glossary.";
  std::set<std::string> symbols;
  for (const Rect& letter : session.letters()) {
    if (!part.contains(letter.center())) continue;
    session.move_mouse(letter.center());
    session.frame();
    std::string found;
    for (const auto& [name, rect] : session.rects().all()) {
      if (name.starts_with(kPrefix)) found = name.substr(kPrefix.size());
    }
    if (found.empty() || !symbols.insert(found).second) continue;
    session.point_at(letter.center());
    const auto symbol = session.rects().find(std::string(kPrefix) + found);
    const auto tooltip = tooltip_rect();
    if (!symbol || !tooltip) {
      ADD_FAILURE() << "no tooltip for " << found;
      continue;
    }
    EXPECT_FALSE(cover(*tooltip, *symbol)) << found;
  }
  return symbols;
}

void expect_symbols(ScreenSession& session, std::string_view panel,
                    std::initializer_list<const char*> expected) {
  const auto part = session.rects().find(panel);
  ASSERT_TRUE(part) << panel;
  const std::set<std::string> symbols = symbols_in(session, *part);
  for (const char* symbol : expected) {
    EXPECT_TRUE(symbols.contains(symbol)) << panel << ": " << symbol;
  }
}

TEST(Symbols, OfTheForwardPassExplainThemselvesInEveryPanel) {
  ScreenSession session;
  session.app().commands.push(SeekTo{110});
  session.settle();
  expect_symbols(session, "panel.online_softmax",
                 {"m", "alpha", "l", "O[c]", "m_prev", "rowmax", "S", "P", "i"});
  expect_symbols(session, "panel.memory", {"Q", "K", "V", "S", "P", "O", "l", "m", "LSE", "SRAM"});
  expect_symbols(session, "panel.explain", {"Q", "m_prev", "LSE", "scale", "i", "j"});
}

TEST(Symbols, OfTheBackwardPassExplainThemselves) {
  ScreenSession session("flash2-backward");
  session.app().commands.push(SeekTo{110});
  session.settle();
  expect_symbols(session, "panel.online_softmax", {"dP", "D", "dS", "dQ[c]", "LSE"});
}

TEST(Symbols, OfTheBarExplainThemselves) {
  ScreenSession session;
  const auto size = session.rects().find("field.seq_len");
  const auto type = session.rects().find("field.dtype");
  ASSERT_TRUE(size && type);
  const std::set<std::string> symbols =
      symbols_in(session, {{size->min.x - 30.0f, size->min.y}, type->max});
  EXPECT_EQ(symbols, (std::set<std::string>{"N", "d", "Br", "Bc"}));
}

TEST(Symbols, AreNotExplainedBehindAPopupOrTheKeys) {
  ScreenSession session;
  session.app().commands.push(SeekTo{110});
  session.settle();
  const Rect terms = *session.rects().find("panel.online_softmax");
  session.app().view.show_keys = true;
  EXPECT_TRUE(symbols_in(session, {terms.min, {terms.min.x + 90.0f, terms.max.y}}).empty());
}

TEST(PointedWord, IsTheWholeSymbolWithItsMarks) {
  const std::string_view text = "m_prev = max(m_i, P~_ij); O[0] = alpha·O, LSE_i^s K_jᵀ";
  const auto word = [&](std::string_view part, std::size_t inside = 0) {
    return word_at(text, text.find(part) + inside);
  };
  EXPECT_EQ(word("m_prev", 3), "m_prev");
  EXPECT_EQ(word("m_i"), "m_i");
  EXPECT_EQ(word("P~"), "P~_ij");
  EXPECT_EQ(word("O[0]", 2), "O[0]");
  EXPECT_EQ(word("alpha"), "alpha");
  EXPECT_EQ(word("·O", std::string_view("·").size()), "O");
  EXPECT_EQ(word("LSE"), "LSE_i^s");
  EXPECT_EQ(word("K_j"), "K_j");
  EXPECT_EQ(word(" = "), "");
  EXPECT_EQ(word_at("[B, H, N, d]", 1), "B");
  EXPECT_EQ(word_at("[B, H, N, d]", 10), "d");
}

TEST(PointedWord, IsNotTheUnitOfANumber) {
  EXPECT_EQ(word_at("8,192 B", 6), "");
  EXPECT_EQ(word_at("load K 512 B", 11), "");
  EXPECT_EQ(word_at("fp16, B 1, H 1", 6), "B");
  EXPECT_EQ(word_at("64 Br", 3), "Br");
}

}  // namespace
}  // namespace attnscope::app
