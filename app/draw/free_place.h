/// Finds room for a label beside things that it must not cover.
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

/// The centre nearest to `wish`, preferring the higher of two equally near ones, of a place of this
/// width within `room` that touches none of the taken ranges; nothing where there is none.
std::optional<float> free_center(float wish, float width, const Range& room,
                                 std::span<const Range> taken);

/// The x range of the curve at the heights of the band; of its middle if it does not cross the
/// band.
Range crossing(const Curve& curve, const Range& band);

}  // namespace attnscope::app::draw
