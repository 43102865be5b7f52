#include "app/draw/tooltip.h"

#include <gtest/gtest.h>

#include <vector>

namespace attnscope::app::draw {
namespace {

const ImVec2 kDisplay{1600.0f, 900.0f};

bool cover(const Rect& a, const Rect& b) {
  return a.min.x < b.max.x && b.min.x < a.max.x && a.min.y < b.max.y && b.min.y < a.max.y;
}

TEST(Tooltip, NeverCoversWhatItExplains) {
  for (const ImVec2 size : {ImVec2{120.0f, 40.0f}, ImVec2{420.0f, 200.0f}}) {
    for (const ImVec2 what :
         {ImVec2{10.0f, 14.0f}, ImVec2{400.0f, 20.0f}, ImVec2{300.0f, 500.0f}}) {
      for (float x = 0.0f; x + what.x <= kDisplay.x; x += 100.0f) {
        for (float y = 0.0f; y + what.y <= kDisplay.y; y += 40.0f) {
          const Rect about{{x, y}, {x + what.x, y + what.y}};
          const ImVec2 at = place_beside(about, size, about.center(), kDisplay);
          const Rect shown{at, {at.x + size.x, at.y + size.y}};
          EXPECT_FALSE(cover(shown, about)) << x << ", " << y;
          EXPECT_GE(shown.min.x, 0.0f);
          EXPECT_GE(shown.min.y, 0.0f);
          EXPECT_LE(shown.max.x, kDisplay.x);
          EXPECT_LE(shown.max.y, kDisplay.y);
        }
      }
    }
  }
}

TEST(Tooltip, IsBelowIfThereIsRoomElseAbove) {
  const Rect high{{800.0f, 100.0f}, {820.0f, 114.0f}};
  EXPECT_GE(place_beside(high, {200.0f, 60.0f}, high.center(), kDisplay).y, high.max.y);
  const Rect low{{800.0f, 860.0f}, {820.0f, 874.0f}};
  EXPECT_LE(place_beside(low, {200.0f, 60.0f}, low.center(), kDisplay).y + 60.0f, low.min.y);
}

TEST(Tooltip, CoversNoCardWhileThereIsRoomElsewhere) {
  // The card below a button at the upper right corner
  const Rect button{{1200.0f, 8.0f}, {1260.0f, 38.0f}};
  const Rect card{{760.0f, 46.0f}, {1260.0f, 420.0f}};
  const std::vector<Rect> cards = {card};
  for (const ImVec2 size : {ImVec2{120.0f, 30.0f}, ImVec2{420.0f, 70.0f}, ImVec2{420.0f, 200.0f}}) {
    const ImVec2 at = place_beside(button, size, button.center(), kDisplay, cards);
    const Rect shown{at, {at.x + size.x, at.y + size.y}};
    EXPECT_FALSE(cover(shown, card)) << size.x << " x " << size.y;
    EXPECT_FALSE(cover(shown, button)) << size.x << " x " << size.y;
  }

  // A card that fills the display
  const std::vector<Rect> all = {{{0.0f, 0.0f}, kDisplay}};
  const ImVec2 at = place_beside(button, {120.0f, 30.0f}, button.center(), kDisplay, all);
  EXPECT_GE(at.y, button.max.y) << "below the button";
}

TEST(Tooltip, StaysOnTheDisplayBesideSomethingThatFillsIt) {
  const Rect all{{0.0f, 0.0f}, kDisplay};
  for (const ImVec2 pointer : {ImVec2{0.0f, 0.0f}, ImVec2{1599.0f, 899.0f}}) {
    const ImVec2 at = place_beside(all, {300.0f, 100.0f}, pointer, kDisplay);
    EXPECT_GE(at.x, 0.0f);
    EXPECT_GE(at.y, 0.0f);
    EXPECT_LE(at.x + 300.0f, kDisplay.x);
    EXPECT_LE(at.y + 100.0f, kDisplay.y);
  }
}

}  // namespace
}  // namespace attnscope::app::draw
