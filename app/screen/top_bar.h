/// The bar of choices: scene, algorithm, problem, tiling, GPU; and the source of the numbers.
#pragma once

#include <string_view>
#include <vector>

#include "app/screen/run_field_boxes.h"
#include "kernels/knobs.h"

namespace attnscope::app {

class TopBar {
 public:
  void draw(const Frame& frame, const Rect& rect);
  /// Whether an open list is still being computed.
  bool busy() const { return boxes_.busy(); }

  /// One labelled box: a field of the run, a switch, the scene, or a race.
  struct Field {
    std::string_view key;  ///< key of refusals and of named rectangles
    float width = 0.0f;    ///< of the box, in design units that go with text
    int priority = 0;      ///< the highest are removed first when the bar is too narrow
    const kernels::Knob* knob = nullptr;  ///< not null: a switch of the kernel
  };

 private:
  /// The field's box, and its label from `x` on.
  void draw_field(const Frame& frame, float x, const Rect& box, const Field& field);
  float draw_fields(const Frame& frame, const Rect& rect);
  void draw_more(const Frame& frame, const Rect& button, const std::vector<Field>& hidden);
  /// The error of a rejected choice of a field behind the "more" button, below those fields.
  void draw_refusal_inside(const Frame& frame, float width);

  RunFieldBoxes boxes_;
};

/// The badge at the right of the bar (app/screen/badge.cpp): whether the real numbers come from
/// this machine's GPU, from recordings, or are missing; with a GPU also the button that runs the
/// kernel. Returns its left edge.
float draw_badge(const Frame& frame, const Rect& bar);

/// The line under a field of the bar whose choice was rejected, with the nearest valid one to
/// click.
void draw_refusal(const Frame& frame);

}  // namespace attnscope::app
