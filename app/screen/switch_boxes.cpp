#include "app/screen/switch_boxes.h"

#include <fmt/core.h>

#include "app/app.h"
#include "app/screen/field_box.h"

namespace attnscope::app {

void draw_switch_box(const Frame& frame, const Rect& box, const kernels::Knob& knob) {
  RunSpec choice = frame.app.shown_choice();
  const std::string name(knob.name);
  const std::string own(knob.values.front().name);
  const auto given = choice.switches.find(name);
  const std::string shown = given != choice.switches.end() ? given->second : own;
  const ComboBox combo(frame, "switches." + name, box, shown);
  if (!combo.open()) return;
  for (const kernels::KnobValue& each : knob.values) {
    const std::string value(each.name);
    const std::string text = value == own ? fmt::format("{} (default)", value) : value;
    if (!combo.option(text, value == shown, value, std::string(knob.idea))) continue;
    choice.switches.erase(name);
    if (value != own) choice.switches.emplace(name, value);
    frame.app.commands.push(Choose{choice});
  }
}

}  // namespace attnscope::app
