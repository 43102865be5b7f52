/// What every part of the screen draws with.
#pragma once

#include "app/fonts.h"
#include "app/screen/layout.h"
#include "app/theme.h"
#include "app/ui/named_rects.h"

namespace attnscope::app {

class App;

struct Frame {
  App& app;
  const Theme& theme;
  const Fonts& fonts;
  const Scales& scales;
  NamedRects& rects;
  double time_s = 0.0;

  /// A length of the 1600 x 900 design in pixels.
  float px(float design) const { return design * scales.layout; }
  /// A length that goes with text, in pixels.
  float text_px(float design) const { return design * scales.font; }
};

}  // namespace attnscope::app
