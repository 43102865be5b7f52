#include "app/draw/free_place.h"

#include <algorithm>
#include <cmath>

namespace attnscope::app::draw {

std::optional<float> free_center(float wish, float width, const Range& room,
                                 std::span<const Range> taken) {
  constexpr float kRounding = 0.01f;  // for places that just touch
  const float half = 0.5f * width - kRounding;
  std::optional<float> best;
  const auto consider = [&](float center) {
    if (center - half < room.low || center + half > room.high) return;
    for (const Range& range : taken) {
      if (center - half < range.high && range.low < center + half) return;
    }
    if (!best || std::abs(center - wish) < std::abs(*best - wish)) best = center;
  };
  const float least = room.low + 0.5f * width;
  consider(std::clamp(wish, least, std::max(least, room.high - 0.5f * width)));
  for (const Range& range : taken) consider(range.high + 0.5f * width);
  for (const Range& range : taken) consider(range.low - 0.5f * width);
  return best;
}

Range crossing(const Curve& curve, const Range& band) {
  constexpr int kPieces = 64;
  std::optional<Range> range;
  for (int k = 0; k <= kPieces; ++k) {
    const ImVec2 at = curve.at(static_cast<float>(k) / kPieces);
    if (at.y < band.low || at.y > band.high) continue;
    range =
        range ? Range{std::min(range->low, at.x), std::max(range->high, at.x)} : Range{at.x, at.x};
  }
  const float middle = curve.at(0.5f).x;
  return range.value_or(Range{middle, middle});
}

}  // namespace attnscope::app::draw
