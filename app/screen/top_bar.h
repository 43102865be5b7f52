/// The bar of choices at the top of the screen.
#pragma once

#include <string>
#include <vector>

#include "app/screen/bar_plan.h"
#include "app/screen/run_field_boxes.h"
#include "app/screen/widgets.h"

namespace attnscope::app {

/// The bar of choices: scene, algorithm, problem, tiling, GPU; and the source of the numbers.
class TopBar {
 public:
  /// The bar of the chosen run, or of a race's rival, which has neither a scene nor a race field.
  explicit TopBar(EditedRun edits = EditedRun::chosen) : edits_(edits), boxes_(edits) {}
  void draw(const Frame& frame, const Rect& rect);
  /// See RunFieldBoxes::collect().
  void collect() { boxes_.collect(); }
  /// Whether a list is still being computed.
  bool busy() const { return boxes_.busy(); }

  using Field = BarField;
  /// Fields behind the "more" button that belong together.
  struct Section {
    std::string title;
    std::size_t column = 0;
    std::vector<Field> fields;
  };

 private:
  /// Draws the field's box, and its label from `x` on.
  void draw_field(const Frame& frame, float x, const Rect& box, const Field& field);
  void draw_fields(const Frame& frame, const Rect& rect);
  struct Columns;
  void draw_section(const Frame& frame, ImVec2 origin, const Section& section, Columns& columns);
  void draw_more(const Frame& frame, const Rect& button, const std::vector<Field>& hidden);
  /// Draws the error of a choice rejected behind the "more" button, below the fields there.
  void draw_refusal_inside(const Frame& frame, float width);

  EditedRun edits_;
  RunFieldBoxes boxes_;
};

/// Draws the error under a field of the bar whose choice was rejected, with the nearest valid
/// choice to click.
void draw_refusal(const Frame& frame);

}  // namespace attnscope::app
