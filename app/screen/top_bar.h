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
  /// Fields behind the "more" button that belong together.
  struct Section {
    std::string title;
    int column = 0;
    std::vector<Field> fields;
  };

  std::vector<Field> main_fields();
  /// Those that the algorithm has.
  std::vector<Section> more_sections(const Choice& choice);
  std::vector<Field> schedule_fields(const Choice& choice);
  float draw_fields(const Frame& frame, const Rect& rect);
  void draw_more(const Frame& frame, const Rect& button, std::vector<Field> hidden);
  /// The refused choice of a field behind the "more" button, below those fields.
  void draw_refusal_inside(const Frame& frame, float width);
  Field number_field(const std::string& name, const std::string& label, float width, int priority,
                     const std::function<Index*(Choice&)>& number, std::vector<Index> presets);

  Field text_field(const std::string& name, const std::string& label, float width,
                   int priority = 0);

  std::map<std::string, TextDraft> drafts_;  ///< texts that are being typed
};

/// The line under a field of the bar whose choice was refused, with the nearest valid one to click.
void draw_refusal(const Frame& frame);

}  // namespace attnscope::app
