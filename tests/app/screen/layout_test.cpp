#include "app/screen/layout.h"

#include <gtest/gtest.h>

#include <utility>

namespace attnscope::app {
namespace {

const std::set<Slot> kAll{Slot::memory, Slot::scores,   Slot::online_softmax, Slot::explain,
                          Slot::ledger, Slot::timeline, Slot::charts};
constexpr std::pair<float, float> kSizes[] = {{1280, 720},  {1366, 768},  {1600, 900},
                                              {1920, 1080}, {2560, 1080}, {3840, 2160}};

bool overlap(const Rect& a, const Rect& b) {
  return a.min.x < b.max.x && b.min.x < a.max.x && a.min.y < b.max.y && b.min.y < a.max.y;
}

Layout layout_at(std::pair<float, float> size, const std::set<Slot>& present, bool presenter) {
  return layout_screen(size.first, size.second,
                       scales_for(size.first, size.second, 1.0f, presenter), present, presenter);
}

TEST(Layout, NothingOverlapsAndNothingLeavesTheScreen) {
  for (const auto& size : kSizes) {
    for (const bool presenter : {false, true}) {
      const Layout layout = layout_at(size, kAll, presenter);
      std::vector<Rect> rects{layout.top_bar, layout.transport};
      for (const auto& [slot, rect] : layout.panels) rects.push_back(rect);
      for (std::size_t a = 0; a < rects.size(); ++a) {
        EXPECT_GE(rects[a].min.x, 0.0f);
        EXPECT_GE(rects[a].min.y, 0.0f);
        EXPECT_LE(rects[a].max.x, size.first);
        EXPECT_LE(rects[a].max.y, size.second);
        EXPECT_GT(rects[a].width(), 100.0f);
        EXPECT_GT(rects[a].height(), 20.0f);
        for (std::size_t b = a + 1; b < rects.size(); ++b) {
          EXPECT_FALSE(overlap(rects[a], rects[b])) << a << " and " << b;
        }
      }
    }
  }
}

TEST(Layout, AnAbsentPanelLeavesItsPlaceToItsNeighbour) {
  std::set<Slot> without_timeline = kAll;
  without_timeline.erase(Slot::timeline);
  const Layout with = layout_at({1600, 900}, kAll, false);
  const Layout without = layout_at({1600, 900}, without_timeline, false);
  EXPECT_GT(without.panels.at(Slot::charts).width(), 2.0f * with.panels.at(Slot::charts).width());
  EXPECT_FALSE(without.panels.contains(Slot::timeline));
}

TEST(Layout, PresenterModeShowsFewerPanelsWithLargerText) {
  const Layout layout = layout_at({1280, 720}, kAll, true);
  EXPECT_FALSE(layout.panels.contains(Slot::charts));
  EXPECT_TRUE(layout.panels.contains(Slot::timeline));
  EXPECT_TRUE(layout.panels.contains(Slot::memory));
  EXPECT_TRUE(layout.panels.contains(Slot::online_softmax));
  EXPECT_NEAR(scales_for(1280, 720, 1.0f, true).font / scales_for(1280, 720, 1.0f, false).font,
              1.6f, 1e-4f);
}

TEST(Layout, OnASmallScreenPanelsGiveWayInOrder) {
  const auto shown = [](float width, float height) {
    std::set<Slot> slots;
    for (const auto& [slot, rect] : layout_at({width, height}, kAll, false).panels) {
      slots.insert(slot);
    }
    return slots;
  };
  EXPECT_EQ(shown(960, 540), kAll);
  EXPECT_EQ(shown(640, 720),
            (std::set<Slot>{Slot::memory, Slot::scores, Slot::online_softmax, Slot::timeline}));
  EXPECT_EQ(shown(960, 440), (std::set<Slot>{Slot::memory, Slot::scores, Slot::online_softmax,
                                             Slot::explain, Slot::ledger}));
  EXPECT_EQ(shown(960, 340), (std::set<Slot>{Slot::memory, Slot::scores, Slot::explain}));
}

TEST(Layout, TextStaysReadableOnASmallScreenAndFollowsTheDisplaysScale) {
  EXPECT_GE(scales_for(1280, 720, 1.0f, false).font * 12.5f, 11.0f);
  EXPECT_GE(scales_for(3840, 2160, 1.0f, false).font, 2.0f);
  EXPECT_GE(scales_for(1600, 900, 2.0f, false).font, 1.4f);
}

}  // namespace
}  // namespace attnscope::app
