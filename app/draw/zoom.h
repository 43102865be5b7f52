/// Zooming and scrolling with the mouse wheel.
#pragma once

#include "app/ui/named_rects.h"

namespace attnscope::app::draw {

/// The smallest and the largest share of an axis that can be shown.
struct ZoomLimits {
  double least = 0.0;
  double most = 1.0;
};

/// The visible part of an axis, as shares of the whole: 0 <= begin < end <= 1.
struct ZoomedAxis {
  double begin = 0.0;
  double end = 1.0;

  double size() const { return end - begin; }
  bool is_whole() const { return size() >= 1.0; }
  /// The position of a share of the whole within the visible part: 0 at its beginning, 1 at its
  /// end.
  double position(double share) const { return (share - begin) / size(); }
  /// The share of the whole at a position in the visible part.
  double share(double position) const { return begin + position * size(); }

  /// Shows `factor` times as much, within the limits; the share at `position` stays there.
  void zoom(double factor, double position, const ZoomLimits& limits);
  /// Scrolls by this share of the visible part, up to the ends of the axis.
  void scroll(double share);
  /// Moves the visible part to centre these shares, unless they are visible.
  void show(double first, double last);
};

/// Applies the wheel's motion over `rect` to the axes, either of which may be nullptr: it zooms
/// both around the mouse; with Shift it scrolls x, with Ctrl y; a horizontal wheel scrolls x.
/// Returns whether the wheel moved. Call it in the window in which the picture is drawn.
bool zoom_by_wheel(const Rect& rect, ZoomedAxis* x, ZoomedAxis* y, const ZoomLimits& x_limits,
                   const ZoomLimits& y_limits = {});

}  // namespace attnscope::app::draw
