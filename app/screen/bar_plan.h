/// Which fields the bar at the top shows in the window's width, and where.
#pragma once

#include <string_view>
#include <vector>

#include "app/screen/widgets.h"
#include "kernels/knobs.h"

namespace attnscope::app {

/// One labelled box: a field of the run, a switch, the scene, or a race.
struct BarField {
  std::string_view key;  ///< names the field in refusals and named rectangles
  float width = 0.0f;    ///< the width of the box, in design units that scale with text
  int priority = 0;      ///< the highest are removed first when the bar is too narrow
  const kernels::Knob* knob = nullptr;  ///< not null: a switch of the kernel

  std::string_view label() const;
};

/// The box of the scene becomes narrower before
/// fields are removed: it shows a title, of which the first words suffice. Then the least important
/// fields move behind the "more" button. Boxes with words share the room that is left over.
class BarPlan {
 public:
  /// A field's label and box, in pixels from the left of the bar.
  struct Place {
    BarField field;
    float left = 0.0f, box_left = 0.0f, box_right = 0.0f;
  };

  /// Plans at least one field, in the given order, for a bar of this width in pixels.
  BarPlan(const Frame& frame, std::vector<BarField> fields, float width);

  static float more_width(const Frame& frame) { return frame.text_px(34.0f); }
  const std::vector<Place>& shown() const { return places_; }
  const std::vector<BarField>& hidden() const { return hidden_; }
  /// The end of the last field's gap: the place of the "more" button.
  float end() const;

 private:
  float label_width(const BarField& field) const;
  float box_width(const BarField& field) const;
  /// The width that the bar needs.
  float total() const;
  void narrow_scene(float width);
  void hide_fields(float width);
  void place_fields(float spare);

  const Frame& frame_;
  std::vector<BarField> fields_, hidden_;
  float narrowed_ = 1.0f;  ///< the factor on the width of the scene's box
  std::vector<Place> places_;
};

}  // namespace attnscope::app
