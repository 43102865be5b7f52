#include "app/panels/parts/snapshot_view.h"

#include <fmt/core.h>

#include <algorithm>

#include "app/draw/tooltip.h"
#include "reference/block_mask.h"
#include "sim/ops/tensor_info.h"
#include "sim/snapshot/describe_op.h"

namespace attnscope::app {

namespace {

std::string_view color_name(Tensor tensor) {
  return to_string(info_of(tensor).hue);
}

/// Whether S or P of this element is stored.
bool is_stored(const Snapshot& snapshot, Index row, Index col) {
  return std::ranges::any_of(snapshot.hbm, [&](const HbmTensorState& tensor) {
    return is_score(tensor.tensor) && !tensor.never_stored &&
           is_written(tensor, row / tensor.tile_rows, col / tensor.tile_cols);
  });
}

}  // namespace

const Launch& launch_of(const Snapshot& snapshot) {
  return snapshot.run->pass.launches[static_cast<std::size_t>(snapshot.launch)];
}

ImU32 color_of(const Theme& theme, Tensor tensor) {
  return tensor_color(theme, color_name(tensor));
}

ImU32 text_color_of(const Theme& theme, Tensor tensor) {
  return tensor_text_color(theme, color_name(tensor));
}

bool is_gradient(Tensor tensor) {
  return info_of(tensor).is_gradient;
}

void hatch_gradient(const draw::Canvas& canvas, const Rect& rect) {
  draw::hatch(canvas, rect, with_alpha(canvas.theme.text_on_tensor, 0.45f), canvas.px(7.0f));
}

void draw_swatch(const draw::Canvas& canvas, const Rect& rect, Tensor tensor) {
  draw::fill(canvas, rect, color_of(canvas.theme, tensor), canvas.px(2.0f));
  if (!is_gradient(tensor)) return;
  draw::hatch(canvas, rect, with_alpha(canvas.theme.text_on_tensor, 0.7f), canvas.px(4.0f));
}

std::string_view display_name(Tensor tensor) {
  return info_of(tensor).label;
}

/// The letters of a slot's name; a superscript distinguishes it from others with the same letters.
static draw::Symbol letters_of(Tensor tensor) {
  const bool wide = info_of(tensor).in_hbm == ElementType::fp32 && !is_of_split(tensor);
  const bool by_letters = wide || is_of_split(tensor);
  return {
      std::string(by_letters ? color_name(tensor) : display_name(tensor)), {}, wide ? "fp32" : ""};
}

draw::Symbol symbol_of(const Tile& tile) {
  draw::Symbol symbol = letters_of(tile.tensor);
  const bool of_one_tile = is_score(tile.tensor) && tile.j != kAllColumns;
  if (of_one_tile) {
    const bool short_enough = tile.i < 10 && tile.j < 10;
    symbol.subscript = fmt::format("{}{}{}", tile.i, short_enough ? "" : ",", tile.j);
  } else {
    symbol.subscript = std::to_string(is_by_keys(tile.tensor) ? tile.j : tile.i);
  }
  if (is_of_split(tile.tensor)) symbol.superscript = fmt::format("s={}", tile.j);
  return symbol;
}

draw::Symbol empty_symbol_of(Tensor tensor) {
  draw::Symbol letters = letters_of(tensor);
  const std::string_view indices = is_by_keys(tensor) ? "j" : is_score(tensor) ? "ij" : "i";
  return {std::move(letters.base), std::string(indices),
          is_of_split(tensor) ? std::string(1, 's') : std::move(letters.superscript)};
}

Area area_of(const Snapshot& snapshot, const Tile& tile) {
  return area_of(*snapshot.run, static_cast<std::size_t>(snapshot.launch), tile);
}

Rect part_of(const Rect& whole, const Shape& shape, const Area& part) {
  const auto at = [&](Index row, Index col) -> ImVec2 {
    return {
        whole.min.x + whole.width() * static_cast<float>(col) / static_cast<float>(shape.cols),
        whole.min.y + whole.height() * static_cast<float>(row) / static_cast<float>(shape.rows)};
  };
  return {at(part.rows.begin, part.cols.begin), at(part.rows.end, part.cols.end)};
}

const SlotState* find_slot(const Snapshot& snapshot, Tensor tensor) {
  // If each consumer has a part of the tensor's tiles, it has a slot for that part
  const TileGrid& grid = snapshot.run->grids[static_cast<std::size_t>(snapshot.launch)];
  const auto is_own = [&](const SlotState& slot) {
    const Shape whole = grid.slot_shape({.tensor = tensor, .slot = 1});
    return is_consumer(snapshot.op.agent) && slot.capacity != whole &&
           slot.slot == 1 + number_of(snapshot.op.agent);
  };
  // Of several buffers, the one with the current tile
  const auto has_tile = [&](const SlotState& slot) {
    return slot.valid &&
           (is_by_keys(tensor) ? slot.tile.j == snapshot.j : slot.tile.i == snapshot.i);
  };
  const SlotState* found = nullptr;
  for (const SlotState& slot : snapshot.slots) {
    if (slot.tensor != tensor) continue;
    if (is_own(slot)) return &slot;
    if (found == nullptr || (has_tile(slot) && !has_tile(*found))) found = &slot;
  }
  return found;
}

TileState score_tile_state(const Snapshot& snapshot, Index i, Index j) {
  const RunInfo& run = *snapshot.run;
  const auto at = static_cast<std::size_t>(i * run.Tc + j);
  if (at >= run.score_tiles.size()) return TileState::untouched;
  const TileLife& life = run.score_tiles[at];
  if (life.first < 0) {
    const auto& mask = run.problem().block_mask;
    return mask != nullptr && !mask->contains(i, j) ? TileState::left_out : TileState::skipped;
  }
  if (snapshot.step < life.first) return TileState::untouched;
  const Index row = i * run.tiling().Br;
  const Index col = j * run.tiling().Bc;
  for (const SlotState& slot : snapshot.slots) {
    if (!slot.valid || !is_score(slot.tensor)) continue;
    if (area_of(snapshot, slot.tile).contains(row, col)) return TileState::in_sram;
  }
  return is_stored(snapshot, row, col) ? TileState::stored : TileState::discarded;
}

bool stores_scores(const Snapshot& snapshot) {
  return std::ranges::any_of(snapshot.hbm, [](const HbmTensorState& tensor) {
    return is_score(tensor.tensor) && !tensor.never_stored;
  });
}

void tooltip(const PanelContext& context, std::string_view text, const Rect& about) {
  const FontRef& font = context.fonts.small;
  float width = font.size * 42.0f;
  if (context.presenter) {
    // Narrow enough for the room beside the panel, unless that would be too narrow to read
    const float left = context.rect.min.x;
    const float right = ImGui::GetIO().DisplaySize.x - context.rect.max.x;
    const float room = std::max(left, right) - context.px(20.0f);
    if (room > font.size * 20.0f) width = std::min(width, room - context.px(16.0f));
  }
  draw::tooltip(font, {context.px(8.0f), context.px(8.0f)}, width, text, about);
}

void tooltip(const PanelContext& context, std::string_view text) {
  tooltip(context, text, draw::around_pointer(0.5f * context.fonts.small.size));
}

bool hovered(const Rect& rect) {
  return ImGui::IsWindowHovered(ImGuiHoveredFlags_AllowWhenBlockedByActiveItem) &&
         rect.contains(ImGui::GetIO().MousePos);
}

bool asks_for_menu() {
  return ImGui::IsMouseClicked(ImGuiMouseButton_Right) &&
         ImGui::IsWindowHovered(ImGuiHoveredFlags_AllowWhenBlockedByPopup |
                                ImGuiHoveredFlags_AllowWhenBlockedByActiveItem);
}

void point_at_thing(const Snapshot& snapshot, ViewState& view, const PanelContext& context,
                    const Thing& thing) {
  view.now_pointed = thing;
  view.pointed_run = snapshot.run;
  if (view.show_keys || !ImGui::IsMouseClicked(ImGuiMouseButton_Left)) return;
  const bool earlier = ImGui::GetIO().KeyShift;
  context.commands.push(
      SeekThing{snapshot.run, thing, earlier ? SeekDirection::earlier : SeekDirection::later});
}

std::optional<Highlight> pointed_highlight(const Snapshot& snapshot, const ViewState& view) {
  if (!view.pointed) return std::nullopt;
  const bool of_other_run = view.pointed_run.lock() != snapshot.run;
  const bool by_number = std::holds_alternative<Operation>(*view.pointed) ||
                         std::holds_alternative<CodeLine>(*view.pointed);
  if (of_other_run && by_number) return std::nullopt;
  return highlight_of(*view.pointed, snapshot);
}

void draw_pointed(const draw::Canvas& canvas, Rect rect, PointedOver over) {
  const float least = canvas.px(4.0f);
  if (rect.height() < least) {
    rect.min.y = rect.center().y - 0.5f * least;
    rect.max.y = rect.min.y + least;
  }
  if (rect.width() < least) {
    rect.min.x = rect.center().x - 0.5f * least;
    rect.max.x = rect.min.x + least;
  }
  const bool covers = over == PointedOver::text;
  if (covers) draw::fill(canvas, rect, with_alpha(canvas.theme.accent, 0.25f));
  draw::outline(canvas, rect, canvas.theme.accent, canvas.px(covers ? 1.5f : 2.5f));
}

bool is_written(const HbmTensorState& tensor, Index tile_row, Index tile_col) {
  const auto at = static_cast<std::size_t>(tile_row * tensor.tile_col_count() + tile_col);
  return at < tensor.written.size() && tensor.written[at] != 0;
}

float written_share(const HbmTensorState& tensor, Index row, Index past_row, Index col,
                    Index past_col) {
  Index written = 0;
  for (Index r = row; r < past_row; ++r) {
    for (Index c = col; c < past_col; ++c) written += is_written(tensor, r, c) ? 1 : 0;
  }
  const Index count = (past_row - row) * (past_col - col);
  return count > 0 ? static_cast<float>(written) / static_cast<float>(count) : 0.0f;
}

}  // namespace attnscope::app
