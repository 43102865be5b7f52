/// The layout of the screen.
#pragma once

#include <map>
#include <set>
#include <utility>

#include "app/panels/parts/panel.h"

namespace attnscope::app {

/// Pixels per unit of the 1600 x 900 design, for lengths and for text. Text shrinks less than
/// lengths on a small screen, so that 1280 x 720 stays readable.
struct Scales {
  float layout = 1.0f;
  float font = 1.0f;
};

Scales scales_for(float width, float height, float content_scale, bool presenter);

/// Splits a rectangle into two columns (or rows) with a gap; the first gets `share` of the size.
std::pair<Rect, Rect> split_columns(const Rect& rect, float share, float gap);
std::pair<Rect, Rect> split_rows(const Rect& rect, float share, float gap);

struct Layout {
  Rect top_bar;
  Rect transport;
  Rect body;                    ///< between the two bars
  std::map<Slot, Rect> panels;  ///< only the slots that are shown
  std::vector<Rect> cards;      ///< the surfaces behind the panels; two panels may share one
};

/// Places the panels that exist: a neighbour takes the place of a slot without a panel, and panels
/// give way in a small window. Presenter mode has no charts, and only one line of the ledger, its
/// bytes.
Layout layout_screen(float width, float height, const Scales& scales, const std::set<Slot>& present,
                     bool presenter);

/// Places a single panel over the whole body.
Layout layout_enlarged(float width, float height, const Scales& scales, Slot slot);

}  // namespace attnscope::app
