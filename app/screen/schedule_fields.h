/// The boxes for how an algorithm runs: tiles by rule, splits, variants.
#pragma once

#include "app/screen/field_box.h"
#include "app/view_state.h"

namespace attnscope::app {

void draw_alibi_field(const Frame& frame, const Rect& box);
/// Takes the tiles of a rule: the paper's, the largest that fit, the kernel's.
void draw_tiling_rule_field(const Frame& frame, const Rect& box);
/// Whether tiles that do not fit on chip are refused or counted.
void draw_overflow_field(const Frame& frame, const Rect& box);
/// Whether values are rounded where a kernel rounds them.
void draw_rounding_field(const Frame& frame, const Rect& box);
void draw_unused_kv_field(const Frame& frame, const Rect& box);
void draw_group_field(const Frame& frame, const Rect& box);
void draw_fusion_field(const Frame& frame, const Rect& box);
void draw_checkpoint_field(const Frame& frame, const Rect& box);
void draw_first_reads_field(const Frame& frame, const Rect& box);
void draw_d_field(const Frame& frame, const Rect& box);

}  // namespace attnscope::app
