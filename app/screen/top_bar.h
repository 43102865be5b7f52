/// The bar of choices: scene, algorithm, problem, tiling, GPU; and where the numbers come from.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "app/screen/field_box.h"
#include "app/view_state.h"

namespace attnscope::app {

class TopBar {
 public:
  void draw(const Frame& frame, const Rect& rect);

 private:
  /// One labelled field. `draw` gets the rectangle of its box.
  struct Field {
    std::string name;  ///< "N": key of refusals and of named rectangles
    std::string label;
    float width = 0.0f;  ///< of the box, in design units that go with text
    int priority = 0;    ///< the highest leave the bar first when it is too narrow
    std::function<void(const Frame&, const Rect&)> draw;
  };

  std::vector<Field> main_fields();
  std::vector<Field> more_fields();
  float draw_fields(const Frame& frame, const Rect& rect);
  void draw_more(const Frame& frame, const std::vector<Field>& fields);
  Field number_field(const std::string& name, const std::string& label, float width, int priority,
                     const std::function<Index*(Choice&)>& number, std::vector<Index> presets);

  std::map<std::string, NumberDraft> drafts_;  ///< texts that are being typed
};

/// The line under a field whose choice was refused, with the nearest valid one to click.
void draw_refusal(const Frame& frame);

}  // namespace attnscope::app
