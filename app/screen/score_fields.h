/// The boxes for what happens to the scores beside the mask, and for block masks.
#pragma once

#include "app/screen/field_box.h"
#include "app/view_state.h"

namespace attnscope::app {

void draw_soft_cap_field(const Frame& frame, const Rect& box);
void draw_alibi_field(const Frame& frame, const Rect& box);
void draw_dropout_field(const Frame& frame, const Rect& box);
void draw_key_length_field(const Frame& frame, const Rect& box);
void draw_sequences_field(const Frame& frame, const Rect& box);
void draw_block_mask_field(const Frame& frame, const Rect& box);
void draw_unused_kv_field(const Frame& frame, const Rect& box);

}  // namespace attnscope::app
