#include "app/panels/hbm_ghost.h"

#include <fmt/core.h>

#include <algorithm>

#include "app/draw/format.h"
#include "app/draw/shapes.h"
#include "app/draw/text.h"
#include "app/panels/snapshot_view.h"

namespace attnscope::app {

namespace {

using Lines = std::vector<std::string>;

/// The same in fewer words a line, the widest first.
std::vector<Lines> wordings_of(const HbmGhost& ghost) {
  if (!ghost.stored_elsewhere) return {{"never stored"}, {"never", "stored"}};
  return {{"not read here"}, {"not", "read here"}, {"not", "read", "here"}};
}

bool is_flat(const PanelContext& context, const HbmGhost& ghost) {
  return ghost.box.height() < draw::line_height(context.fonts.small);
}

}  // namespace

std::vector<std::string> words_of(const PanelContext& context, const HbmGhost& ghost) {
  const FontRef& font = context.fonts.small;
  const float scale = context.scale;
  const bool flat = is_flat(context, ghost);
  const float width = flat ? ghost.cell.width() + 7.0f * scale : ghost.box.width() - 6.0f * scale;
  const float height = flat ? ghost.box.min.y - ghost.top : ghost.box.height() - 2.0f * scale;
  const std::vector<Lines> wordings = wordings_of(ghost);
  const auto found = std::ranges::find_if(wordings, [&](const Lines& lines) {
    return static_cast<float>(lines.size()) * draw::line_height(font) <= height &&
           std::ranges::all_of(
               lines, [&](const std::string& words) { return font.measure(words).x <= width; });
  });
  return found != wordings.end() ? *found : Lines();
}

std::string_view about(const HbmGhost& ghost) {
  return ghost.stored_elsewhere ? "not read in this pass; the forward pass stored it"
                                : "never stored: only tiles of it exist, on chip, one at a time";
}

void draw_ghost(const PanelContext& context, const HbmGhost& ghost) {
  const ImU32 color = text_color_of(context.theme, ghost.tensor);
  draw::dashed_outline(context, ghost.box, color, context.px(1.5f), context.px(5.0f));
  const Lines lines = words_of(context, ghost);
  if (lines.empty()) return;  // the outline alone tells

  const FontRef& font = context.fonts.small;
  const float line = draw::line_height(font);
  const std::string bytes = draw::format_bytes(static_cast<double>(ghost.bytes));
  const float height = static_cast<float>(lines.size()) * line;
  const float room = ghost.box.width() - context.px(6.0f);
  float y =
      is_flat(context, ghost) ? ghost.box.min.y - height : ghost.box.center().y - 0.5f * height;
  if (height + 1.2f * line <= ghost.box.height() && font.measure(bytes).x <= room) {
    y += 0.5f * line;
    draw::text(context, font, {ghost.box.center().x, y - line}, context.theme.text_faint, bytes,
               draw::Align::center);
  }
  for (const std::string& words : lines) {
    draw::text(context, font, {ghost.box.center().x, y}, color, words, draw::Align::center);
    y += line;
  }
  context.named_rects.add(fmt::format("memory.ghost.{}", display_name(ghost.tensor)), ghost.box);
}

}  // namespace attnscope::app
