/// The boxes of the top bar: each shows one part of the choice and offers what it may become.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "app/screen/field_box.h"
#include "app/view_state.h"

namespace attnscope::app {

void draw_scene_field(const Frame& frame, const Rect& box);
void draw_algorithm_field(const Frame& frame, const Rect& box);
void draw_pass_field(const Frame& frame, const Rect& box);
void draw_dtype_field(const Frame& frame, const Rect& box);
void draw_gpu_field(const Frame& frame, const Rect& box);
void draw_carry_field(const Frame& frame, const Rect& box);
void draw_inputs_field(const Frame& frame, const Rect& box);

/// A number to type, with a list of usual ones to click. `draft` is the text while it is typed.
void draw_number_field(const Frame& frame, const Rect& box, const std::string& name,
                       TextDraft& draft, const std::function<Index*(Choice&)>& number,
                       const std::vector<Index>& presets);

/// A part of the choice to type (app/choice_text.h), with a list of usual ones to click.
void draw_text_field(const Frame& frame, const Rect& box, const std::string& name,
                     TextDraft& draft);

}  // namespace attnscope::app
