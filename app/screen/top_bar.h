/// The bar of choices at the top of the screen.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "app/screen/run_field_boxes.h"
#include "app/screen/widgets.h"
#include "kernels/knobs.h"

namespace attnscope::app {

/// The bar of choices: scene, algorithm, problem, tiling, GPU; and the source of the numbers.
class TopBar {
 public:
  /// The chosen run's bar, or the one of a race's rival, which has neither scene nor race.
  explicit TopBar(EditedRun edits = EditedRun::chosen) : edits_(edits), boxes_(edits) {}
  void draw(const Frame& frame, const Rect& rect);
  /// As RunFieldBoxes::collect().
  void collect() { boxes_.collect(); }
  /// Whether a list is still being computed.
  bool busy() const { return boxes_.busy(); }

  /// One labelled box: a field of the run, a switch, the scene, or a race.
  struct Field {
    std::string_view key;  ///< key of refusals and of named rectangles
    float width = 0.0f;    ///< of the box, in design units that scale with text
    int priority = 0;      ///< the highest are removed first when the bar is too narrow
    const kernels::Knob* knob = nullptr;  ///< not null: a switch of the kernel
  };
  /// Fields behind the "more" button that belong together.
  struct Section {
    std::string title;
    std::size_t column = 0;
    std::vector<Field> fields;
  };

 private:
  /// The field's box, and its label from `x` on.
  void draw_field(const Frame& frame, float x, const Rect& box, const Field& field);
  void draw_fields(const Frame& frame, const Rect& rect);
  struct Columns;
  void draw_section(const Frame& frame, ImVec2 origin, const Section& section, Columns& columns);
  void draw_more(const Frame& frame, const Rect& button, const std::vector<Field>& hidden);
  /// The error of a rejected choice of a field behind the "more" button, below those fields.
  void draw_refusal_inside(const Frame& frame, float width);

  EditedRun edits_;
  RunFieldBoxes boxes_;
};

/// The line under a field of the bar whose choice was rejected, with the nearest valid one to
/// click.
void draw_refusal(const Frame& frame);

}  // namespace attnscope::app
