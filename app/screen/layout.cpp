#include "app/screen/layout.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <initializer_list>
#include <utility>

namespace attnscope::app {

namespace {

constexpr float kDesignWidth = 1600.0f;
constexpr float kDesignHeight = 900.0f;
constexpr float kPresenterFont = 1.6f;

/// Fills a layout slot by slot, closing the gaps that absent panels leave.
class Placer {
 public:
  Placer(const std::set<Slot>& present, Layout& layout) : present_(present), layout_(layout) {}

  bool has(Slot slot) const { return present_.contains(slot); }

  void place(Slot slot, const Rect& rect) {
    if (!has(slot)) return;
    layout_.panels.emplace(slot, rect);
    layout_.cards.push_back(rect);
  }

  /// Places two panels in separate cards, one in each part; a single one gets all of `rect`.
  void place_both(Slot first, Slot second, const Rect& rect, const std::pair<Rect, Rect>& parts) {
    if (!has(first) || !has(second)) return place(has(first) ? first : second, rect);
    place(first, parts.first);
    place(second, parts.second);
  }

  /// Places the scores above the online softmax, in one card.
  void scores(float share, const Rect& rect) {
    if (!has(Slot::scores) || !has(Slot::online_softmax)) {
      return place(has(Slot::scores) ? Slot::scores : Slot::online_softmax, rect);
    }
    const auto [top, bottom] = split_rows(rect, share, 0.0f);
    layout_.panels.emplace(Slot::scores, top);
    layout_.panels.emplace(Slot::online_softmax, bottom);
    layout_.cards.push_back(rect);
  }

 private:
  const std::set<Slot>& present_;
  Layout& layout_;
};

float margin_of(const Scales& scales) {
  return std::round(10.0f * scales.layout);
}

/// The bars at both ends of the screen, and the rectangle between them.
Layout layout_bars(float width, float height, const Scales& scales) {
  const float margin = margin_of(scales);
  const float text = 15.0f * scales.font;
  Layout layout;
  layout.top_bar = {{0.0f, 0.0f}, {width, std::round(text + 30.0f * scales.layout)}};
  layout.transport = {{0.0f, std::round(height - text - 48.0f * scales.layout)}, {width, height}};
  layout.body = {{margin, layout.top_bar.max.y + margin},
                 {width - margin, layout.transport.min.y - margin}};
  return layout;
}

}  // namespace

std::pair<Rect, Rect> split_columns(const Rect& rect, float share, float gap) {
  const float x = std::round(rect.min.x + (rect.width() - gap) * share);
  return {{rect.min, {x, rect.max.y}}, {{x + gap, rect.min.y}, rect.max}};
}

std::pair<Rect, Rect> split_rows(const Rect& rect, float share, float gap) {
  const float y = std::round(rect.min.y + (rect.height() - gap) * share);
  return {{rect.min, {rect.max.x, y}}, {{rect.min.x, y + gap}, rect.max}};
}

Scales scales_for(float width, float height, float content_scale, bool presenter) {
  const float fit = std::min(width / kDesignWidth, height / kDesignHeight);
  Scales scales;
  scales.layout = std::max(fit, 0.6f);
  scales.font = std::max({fit, 0.88f, 0.75f * content_scale});
  if (presenter) scales.font *= kPresenterFont;
  return scales;
}

namespace {

/// The smallest useful size of each panel, in units that scale with text.
struct LeastSize {
  Slot slot;
  float width, height;
};
constexpr LeastSize kLeastSizes[] = {
    {Slot::memory, 300.0f, 180.0f},  {Slot::scores, 250.0f, 150.0f},
    {Slot::explain, 240.0f, 130.0f}, {Slot::online_softmax, 250.0f, 105.0f},
    {Slot::ledger, 250.0f, 145.0f},  {Slot::timeline, 300.0f, 90.0f},
    {Slot::charts, 320.0f, 110.0f}};

enum class Row { upper, bottom };

Row row_of(Slot slot) {
  return slot == Slot::timeline || slot == Slot::charts ? Row::bottom : Row::upper;
}

/// Whether a panel of the row is smaller than its minimum size, measured by `length`.
template <typename Length, typename Least>
bool any_below(const Layout& layout, Row row, float font_scale, Length length, Least least) {
  return std::ranges::any_of(kLeastSizes, [&](const LeastSize& each) {
    const auto found = layout.panels.find(each.slot);
    return found != layout.panels.end() && row_of(each.slot) == row &&
           length(found->second) < least(each) * font_scale;
  });
}

/// Places three columns above, and the timeline and the charts below them.
Layout place_panels(float width, float height, const Scales& scales, const std::set<Slot>& shown) {
  const float margin = margin_of(scales);
  Layout layout = layout_bars(width, height, scales);
  Placer placer(shown, layout);
  Rect upper = layout.body;
  const bool has_upper =
      std::ranges::any_of(shown, [](Slot slot) { return row_of(slot) == Row::upper; });
  if (placer.has(Slot::timeline) || placer.has(Slot::charts)) {
    const auto [above, below] = split_rows(layout.body, has_upper ? 0.725f : 0.0f, margin);
    upper = above;
    placer.place_both(Slot::timeline, Slot::charts, below, split_columns(below, 0.555f, margin));
  }
  const bool has_right = placer.has(Slot::explain) || placer.has(Slot::ledger);
  const bool has_middle = placer.has(Slot::scores) || placer.has(Slot::online_softmax);
  const float left_share = has_right ? 0.35f : 0.54f;
  const auto [left, rest] = split_columns(upper, left_share, margin);
  const auto [middle, right] = split_columns(rest, 0.514f, margin);
  placer.place(Slot::memory, has_right || has_middle ? left : upper);
  placer.scores(0.7f, has_right ? middle : rest);
  placer.place_both(Slot::explain, Slot::ledger, has_middle ? right : rest,
                    split_rows(has_middle ? right : rest, 0.58f, margin));
  return layout;
}

/// The counter of bytes, the memory and the online softmax on the left; scores, timeline and the
/// pseudo-code on the right, where the pseudo-code gets as much height as the longest one needs.
Layout place_for_presenter(float width, float height, const Scales& scales,
                           const std::set<Slot>& shown) {
  const float margin = margin_of(scales);
  Layout layout = layout_bars(width, height, scales);
  Placer placer(shown, layout);
  auto [left, right] = split_columns(layout.body, 0.51f, margin);
  if (placer.has(Slot::ledger)) {
    const float counter = std::round(15.0f * scales.font + 20.0f * scales.layout);
    placer.place(Slot::ledger, {left.min, {left.max.x, left.min.y + counter}});
    left.min.y += counter + margin;
  }
  placer.place_both(Slot::memory, Slot::online_softmax, left, split_rows(left, 0.7f, margin));
  const auto [upper, lower] = split_rows(right, 0.355f, margin);
  const bool has_upper = placer.has(Slot::scores) || placer.has(Slot::timeline);
  if (has_upper) {
    const Rect place = placer.has(Slot::explain) ? upper : right;
    placer.place_both(Slot::scores, Slot::timeline, place, split_columns(place, 0.42f, margin));
  }
  placer.place(Slot::explain, has_upper ? lower : right);
  return layout;
}

}  // namespace

Layout layout_screen(float width, float height, const Scales& scales, const std::set<Slot>& present,
                     bool presenter) {
  if (presenter) return place_for_presenter(width, height, scales, present);
  std::set<Slot> shown = present;
  Layout layout = place_panels(width, height, scales, shown);
  const auto narrow = [&](Row row) {
    return any_below(layout, row, scales.font, std::mem_fn(&Rect::width),
                     std::mem_fn(&LeastSize::width));
  };
  const auto low = [&](Row row) {
    return any_below(layout, row, scales.font, std::mem_fn(&Rect::height),
                     std::mem_fn(&LeastSize::height));
  };
  const auto give_way = [&](std::initializer_list<Slot> slots) {
    for (const Slot slot : slots) shown.erase(slot);
    layout = place_panels(width, height, scales, shown);
  };

  // Panels give way in this order while others are too small, as the guide says (screen.md)
  if (narrow(Row::bottom)) give_way({Slot::charts});
  if (low(Row::bottom) || low(Row::upper)) give_way({Slot::charts, Slot::timeline});
  if (low(Row::upper)) give_way({Slot::ledger});
  if (low(Row::upper)) give_way({Slot::online_softmax});
  if (narrow(Row::upper)) give_way({Slot::ledger, Slot::explain});
  if (narrow(Row::upper)) give_way({Slot::scores, Slot::online_softmax});
  return layout;
}

Layout layout_enlarged(float width, float height, const Scales& scales, Slot slot) {
  Layout layout = layout_bars(width, height, scales);
  layout.panels = {{slot, layout.body}};
  layout.cards = {layout.body};
  return layout;
}

}  // namespace attnscope::app
