#include "app/screen/layout.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace attnscope::app {

namespace {

constexpr float kDesignWidth = 1600.0f;
constexpr float kDesignHeight = 900.0f;
constexpr float kPresenterFont = 1.6f;

/// Splits a rectangle into two columns (or rows), `share` of it for the first, with a gap between.
std::pair<Rect, Rect> split_columns(const Rect& rect, float share, float gap) {
  const float x = std::round(rect.min.x + (rect.width() - gap) * share);
  return {{rect.min, {x, rect.max.y}}, {{x + gap, rect.min.y}, rect.max}};
}

std::pair<Rect, Rect> split_rows(const Rect& rect, float share, float gap) {
  const float y = std::round(rect.min.y + (rect.height() - gap) * share);
  return {{rect.min, {rect.max.x, y}}, {{rect.min.x, y + gap}, rect.max}};
}

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

  /// Two panels, each in its own card: each gets a part of the rectangle, a single one all of it.
  void place_both(Slot first, Slot second, const Rect& rect, const std::pair<Rect, Rect>& parts) {
    if (!has(first) || !has(second)) return place(has(first) ? first : second, rect);
    place(first, parts.first);
    place(second, parts.second);
  }

  /// Scores above the online softmax, in one card.
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

Scales scales_for(float width, float height, float content_scale, bool presenter) {
  const float fit = std::min(width / kDesignWidth, height / kDesignHeight);
  Scales scales;
  scales.layout = std::max(fit, 0.6f);
  scales.font = std::max({fit, 0.88f, 0.75f * content_scale});
  if (presenter) scales.font *= kPresenterFont;
  return scales;
}

Layout layout_screen(float width, float height, const Scales& scales, const std::set<Slot>& present,
                     bool presenter) {
  const float margin = margin_of(scales);
  Layout layout = layout_bars(width, height, scales);
  const Rect& body = layout.body;
  Placer placer(present, layout);

  if (presenter) {
    const auto [left, right] = split_columns(body, 0.5f, margin);
    placer.place_both(Slot::memory, Slot::explain, left, split_rows(left, 0.62f, margin));
    placer.scores(0.6f, right);
    return layout;
  }

  // Three columns above, the charts below
  const bool has_bottom = placer.has(Slot::timeline) || placer.has(Slot::charts);
  Rect upper = body;
  if (has_bottom) {
    const auto [above, below] = split_rows(body, 0.725f, margin);
    upper = above;
    placer.place_both(Slot::timeline, Slot::charts, below, split_columns(below, 0.555f, margin));
  }
  const auto [left, rest] = split_columns(upper, 0.35f, margin);
  const auto [middle, right] = split_columns(rest, 0.514f, margin);
  placer.place(Slot::memory, left);
  placer.scores(0.7f, middle);
  placer.place_both(Slot::explain, Slot::ledger, right, split_rows(right, 0.58f, margin));
  return layout;
}

Layout layout_alone(float width, float height, const Scales& scales, Slot slot) {
  Layout layout = layout_bars(width, height, scales);
  layout.panels = {{slot, layout.body}};
  layout.cards = {layout.body};
  return layout;
}

}  // namespace attnscope::app
