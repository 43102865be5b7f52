/// Where a label finds room beside what it must not cover.
#pragma once

#include <optional>
#include <span>

#include "app/draw/shapes.h"

namespace attnscope::app::draw {

/// Along one axis, in pixels.
struct Range {
  float low = 0.0f;
  float high = 0.0f;
};

/// The centre nearest to `wish`, at the higher side of two as near, of a place of this width within
/// `room` that touches none of the taken ranges; nothing where there is none.
std::optional<float> free_center(float wish, float width, const Range& room,
                                 std::span<const Range> taken);

/// What the curve takes of the x axis at the heights of the band; of its middle where it does not
/// cross them.
Range crossing(const Curve& curve, const Range& band);

}  // namespace attnscope::app::draw
