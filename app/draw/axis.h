/// The axis of a chart: the positions of values on it, and its ticks.
#pragma once

#include <string>
#include <vector>

#include "app/draw/zoom.h"
#include "app/ui/theme.h"

namespace attnscope::app::draw {

struct Axis {
  std::string name;  ///< with its unit: "N: queries and keys per head"
  bool logarithmic = true;
  double low = 1.0;
  double high = 10.0;

  /// Position of a value, 0 to 1; values outside the axis give positions outside this range.
  float position(double value) const;
  /// The value at a position.
  double value(double position) const;
};

/// The axis's name, without its last parts if they are wider than `width`.
std::string name_that_fits(const Axis& axis, const FontRef& font, float width);

struct Tick {
  double value = 0.0;
  std::string label;
};

/// At most `most` ticks: powers of ten within the axis (every one, or every second, third, ...), or
/// round steps on a linear axis. Labels come from `label`.
using TickLabel = std::string (*)(double value);
std::vector<Tick> ticks(const Axis& axis, int most, TickLabel label);

/// The axis's own ticks in its visible part; if fewer than three of them are visible, new ticks at
/// finer steps.
std::vector<Tick> visible_ticks(const Axis& axis, const std::vector<Tick>& own,
                                const ZoomedAxis& part, TickLabel label);

}  // namespace attnscope::app::draw
