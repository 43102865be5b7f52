#include "app/panels/memory/memory_boxes.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "app/draw/format.h"
#include "reference/message_text.h"
#include "sim/snapshot/describe_op.h"

namespace attnscope::app {

/// Whether the slot's values are sums over row tiles, of which only one is computed.
bool SramBox::lacks_row_tiles(const SlotState& slot) const {
  return snapshot_.run->has_tile_values && is_gradient(slot.tensor) && is_by_keys(slot.tensor);
}

void SramBox::draw() const {
  const Theme& theme = context_.theme;
  const Fonts& fonts = context_.fonts;
  draw::fill(context_, rect_, theme.inset, context_.px(5.0f));
  draw::outline(context_, rect_, theme.inset_border, 1.0f, context_.px(5.0f));
  const float padding = context_.px(10.0f);
  if (show_title_) {
    const ImVec2 at{rect_.min.x + padding, rect_.min.y + context_.px(7.0f)};
    const std::string title = "SRAM of one thread block";
    draw::text(context_, fonts.ui_bold, at, theme.text_dim, title);
    const bool gradients = std::ranges::any_of(
        placed_, [](const Placed& placed) { return is_gradient(placed.slot->tensor); });
    const bool sums_rows = std::ranges::any_of(
        placed_, [this](const Placed& placed) { return lacks_row_tiles(*placed.slot); });
    const std::string hatched = sums_rows   ? " · dK, dV: need all earlier row tiles"
                                : gradients ? " · hatched: gradients"
                                            : "";
    const bool used_last = std::ranges::any_of(
        placed_, [this](const Placed& placed) { return last_used_here(*placed.slot) != nullptr; });
    const std::string scale = scale_note_ + " · ", dotted = "dotted: no valid tile";
    const std::string dashed = used_last ? "dashed: last used here · " : "";
    const std::string notes[] = {scale + dashed + dotted + hatched, scale + dotted + hatched,
                                 scale + dotted, scale_note_};
    draw::text(
        context_, fonts.small, {rect_.max.x - padding, at.y + context_.px(2.0f)}, theme.text_faint,
        draw::widest_that_fits(fonts.small, notes,
                               rect_.width() - 3.0f * padding - fonts.ui_bold.measure(title).x),
        draw::Align::right);
  } else {
    draw::vertical_text(
        context_, fonts.ui_bold,
        {rect_.min.x + context_.px(4.0f) + fonts.ui_bold.size * 0.6f, rect_.center().y},
        theme.text_dim, "SRAM");
  }
  draw_capacity(OnChipSpace::shared, left_edge(), split_x_ - padding);
  draw_capacity(OnChipSpace::registers, split_x_ + padding, rect_.max.x - padding);
  if (has_both_spaces_) {
    const float below_bars = capacity_y_ + draw::line_height(fonts.small) + context_.px(10.0f);
    draw::dashed_line(context_, {border_x_, below_bars},
                      {border_x_, rect_.max.y - context_.px(8.0f)}, theme.inset_border, 1.0f,
                      context_.px(4.0f));
  }
  for (const Placed& placed : placed_) draw_slot(placed);
  const float y = placed_.empty() ? 0.0f : placed_.front().box.max.y + context_.px(2.0f);
  for (const SizeLabel& size : sizes_) {
    const float line = draw::line_height(fonts.small) * static_cast<float>(size.line);
    draw::text(context_, fonts.small, {size.x, y + draw::line_height(fonts.ui_bold) + line},
               theme.text_faint, size.text);
  }
}

void SramBox::draw_capacity(OnChipSpace space, float x0, float x1) const {
  const Theme& theme = context_.theme;
  const FontRef& font = context_.fonts.small;
  const GpuDescription& gpu = snapshot_.run->gpu;
  const bool shared = space == OnChipSpace::shared;
  const Index capacity = shared ? gpu.shared_bytes_per_block : gpu.register_bytes_per_sm;
  Index used = 0;
  for (const SlotState& slot : snapshot_.slots) {
    if (slot.space == space) used += slot.capacity_bytes;
  }
  const bool overflow = used > capacity;
  const std::string numbers = used_capacity_text(used, capacity);
  const float room = x1 - x0;
  const float numbers_width = font.measure(numbers).x;
  const std::string names[] = {std::string(to_string(space)), shared ? "shared" : "regs"};
  const std::string name =
      draw::widest_that_fits(font, names, room - numbers_width - context_.px(8.0f));
  draw::text(context_, font, {x0, capacity_y_}, theme.text_faint, name);
  draw::fitted_text(context_, font, {x1, capacity_y_}, overflow ? theme.error : theme.text_dim,
                    numbers, room, draw::Align::right);

  // The bar; the overflow beyond the capacity's mark is red
  const float y = capacity_y_ + draw::line_height(font);
  const Rect bar{{x0, y}, {x1, y + context_.px(6.0f)}};
  const float rounding = context_.px(3.0f);
  draw::fill(context_, bar, theme.track, rounding);
  const double whole = static_cast<double>(std::max(used, capacity));
  const auto x_of = [&](Index bytes) {
    return x0 + room * static_cast<float>(static_cast<double>(bytes) / whole);
  };
  const float filled = std::max(x_of(std::min(used, capacity)), x0 + context_.px(5.0f));
  draw::fill(context_, {bar.min, {filled, bar.max.y}}, theme.warning, rounding);
  if (overflow) {
    draw::fill(context_, {{x_of(capacity), bar.min.y}, bar.max}, theme.error, rounding);
    context_.list->AddLine({x_of(capacity), bar.min.y - context_.px(3.0f)},
                           {x_of(capacity), bar.max.y + context_.px(3.0f)}, theme.text,
                           context_.px(2.0f));
  }
}

bool SramBox::is_result(const SlotState& slot) const {
  return snapshot_.step >= 0 && std::ranges::any_of(snapshot_.op.dests(), [&](const Tile& dest) {
           return dest.tensor == slot.tensor && dest.slot == slot.slot;
         });
}

const Tile* SramBox::last_used_here(const SlotState& slot) const {
  if (snapshot_.step < 0 || slot.valid) return nullptr;
  for (const Tile& source : snapshot_.op.sources()) {
    if (source.last_use && source.tensor == slot.tensor && source.slot == slot.slot) return &source;
  }
  return nullptr;
}

/// The tile that the last operation read for the last time, named by its contents: P in the slot of
/// S, as it was stored.
Tile SramBox::used_tile(Tile used) const {
  const bool stores = snapshot_.op.kind == OpKind::store && snapshot_.op.dest_count > 0;
  if (stores && is_score(used.tensor)) used.tensor = snapshot_.op.dests()[0].tensor;
  return used;
}

/// The name of the tile in the slot, or of the one that the last operation read for the last time.
draw::Symbol SramBox::name_of(const SlotState& slot) const {
  const Tile* const used = last_used_here(slot);
  draw::Symbol symbol = slot.valid        ? symbol_of(slot.tile)
                        : used != nullptr ? symbol_of(used_tile(*used))
                                          : empty_symbol_of(slot.tensor);
  if (!names_have_indices_) symbol = {symbol.base, ""};
  return symbol;
}

void SramBox::draw_slot(const Placed& placed) const {
  const Theme& theme = context_.theme;
  const SlotState& slot = *placed.slot;
  context_.named_rects.add(fmt::format("memory.slot.{}", to_string(slot.tensor)), placed.box);
  const Tile* used = last_used_here(slot);
  if (used != nullptr) {
    draw_last_used(context_, slot.tensor, placed.box);
    context_.named_rects.add(fmt::format("memory.last_used.{}", to_string(slot.tensor)),
                             placed.box);
  } else {
    if (!slot.valid) {
      context_.named_rects.add(fmt::format("memory.empty.{}", to_string(slot.tensor)), placed.box);
    }
    draw_slot_contents(context_, slot, placed.box,
                       slot.valid ? area_of(snapshot_, slot.tile) : Area{});
  }
  if (is_result(slot)) {
    draw::outline(context_, placed.box, theme.highlight, context_.px(2.0f), context_.px(1.0f));
  }

  // Name and size
  const float x = placed.cell.center().x;
  const float y = placed.box.max.y + context_.px(2.0f);
  draw::draw_symbol(
      context_, name_font(), {x, y},
      slot.valid || used != nullptr ? text_color_of(theme, slot.tensor) : theme.text_faint,
      name_of(slot), draw::Align::center);
}

void SramBox::draw_operation() const {
  if (snapshot_.step < 0 || snapshot_.op.moves_bytes()) return;
  const TileOp& op = snapshot_.op;
  if (op.dest_count == 0) return;
  const Tile& dest_tile = op.dests()[0];
  const Placed* dest = find(dest_tile);
  if (dest == nullptr) return;
  const ImU32 color = text_color_of(context_.theme, dest_tile.tensor);
  const FontRef& font = context_.fonts.mono_small;
  ImVec2 label_at{};
  float longest = 0.0f;
  draw::Range arcs{dest->box.center().x, dest->box.center().x};
  std::vector<draw::Range> ends;
  const auto add_end = [&](const Placed& at) {
    const float x = at.box.center().x;
    arcs = {std::min(arcs.low, x), std::max(arcs.high, x)};
    ends.push_back({x - context_.px(10.0f), x + context_.px(10.0f)});
  };
  add_end(*dest);
  for (const Tile& source_tile : op.sources()) {
    const Placed* source = find(source_tile);
    if (source == nullptr || source == dest) continue;
    const float span = std::abs(source->box.center().x - dest->box.center().x);
    const float top = std::min(source->box.min.y, dest->box.min.y) - context_.px(3.0f);
    const draw::Curve arc =
        draw::arc_over({source->box.center().x, top},
                       {dest->box.center().x, dest->box.min.y - context_.px(2.0f)}, arc_rise_);
    draw::draw_arrow(context_, draw::Route({arc}), color, context_.px(2.0f), false);
    add_end(*source);
    if (span < longest) continue;
    longest = span;
    label_at = arc.at(0.5f);
  }
  if (longest <= 0.0f) return;

  // The label is above the slots, beside the arcs and near the result; if there is no room, where
  // it covers no end of an arc
  const std::string label = op_label(op);
  const float width = font.measure(label).x + context_.px(14.0f);
  const draw::Range room{left_edge(), rect_.max.x - context_.px(6.0f)};
  const draw::Range taken{arcs.low - context_.px(8.0f), arcs.high + context_.px(8.0f)};
  const auto beside = draw::free_center(dest->box.center().x, width, room, {&taken, 1});
  const auto between = draw::free_center(label_at.x, width, room, ends);  // on the longest arc
  label_at.x = beside.value_or(between.value_or(label_at.x));
  const float half_height = 0.5f * font.size + context_.px(5.0f);
  for (const Placed& placed : placed_) {
    if (std::abs(placed.box.center().x - label_at.x) > 0.5f * (placed.box.width() + width))
      continue;
    label_at.y = std::min(label_at.y, placed.box.min.y - half_height);
  }
  context_.named_rects.add("memory.arcs", {{arcs.low, label_at.y}, {arcs.high, label_at.y + 1.0f}});
  context_.named_rects.add("memory.label.operation",
                           draw::badge(context_, font, label_at, rect_, color, label));
}

void SramBox::draw_pointed_slots(const Highlight& pointed) const {
  for (const Placed& placed : placed_) {
    const SlotState& slot = *placed.slot;
    if (!slot.valid) continue;
    const Tensor tensor = slot.tile.tensor;
    const Shape whole =
        tensor_shape(tensor, snapshot_.run->problem(), snapshot_.run->options.splits);
    const auto part = pointed.part_of(tensor, whole);
    if (part && part->meets(area_of(snapshot_, slot.tile))) {
      draw_pointed(context_, placed.box);
    }
  }
}

void SramBox::point_at(ViewState& view) const {
  for (const Placed& placed : placed_) {
    if (!hovered(placed.cell)) continue;
    const SlotState& slot = *placed.slot;
    std::string lines = fmt::format("{}: slot of {}, {} in {}",
                                    slot.valid ? tile_name(slot.tile) : display_name(slot.tensor),
                                    draw::format_shape(slot.capacity.rows, slot.capacity.cols),
                                    capacity_text(slot.capacity_bytes), to_string(slot.space));
    if (const Tile* used = last_used_here(slot)) {
      lines += fmt::format("\n{}: this operation read it for the last time; invalid from now on",
                           tile_name(used_tile(*used)));
    } else if (!slot.valid) {
      lines += "\nholds no valid tile: must not be read until one is loaded or set";
    } else if (!slot.values.values.empty() && placed.box.contains(ImGui::GetIO().MousePos)) {
      const ImVec2 mouse = ImGui::GetIO().MousePos;
      const auto row = static_cast<Index>((mouse.y - placed.box.min.y) / placed.box.height() *
                                          static_cast<float>(slot.capacity.rows));
      const auto col = static_cast<Index>((mouse.x - placed.box.min.x) / placed.box.width() *
                                          static_cast<float>(slot.capacity.cols));
      if (row < slot.values.rows && col < slot.values.cols) {
        const Area area = area_of(snapshot_, slot.tile);
        lines += fmt::format("\nrow {}, column {} of {}: {}", area.rows.begin + row,
                             area.cols.begin + col, display_name(slot.tile.tensor),
                             draw::format_value(slot.values.at(row, col)));
      }
    }
    if (lacks_row_tiles(slot)) {
      lines += "\nno values: needs all earlier row tiles, and the problem is too large for them";
    }
    lines += "\nstronger colour: larger |value|";
    const Tile* const tile = slot.valid ? &slot.tile : last_used_here(slot);
    if (tile != nullptr) {
      const Area area = area_of(snapshot_, *tile);
      const bool of_scores = is_score(tile->tensor);
      point_at_thing(snapshot_, view, context_,
                     of_scores ? Thing(ScoreTile{area}) : ChipTile{tile->tensor, area});
      lines += kClickHelp;
    }
    tooltip(context_, lines, placed.cell);
  }
}

const SramBox::Placed* SramBox::find(const Tile& tile) const {
  const auto found = std::ranges::find_if(placed_, [&](const Placed& placed) {
    return placed.slot->tensor == tile.tensor && placed.slot->slot == tile.slot;
  });
  return found != placed_.end() ? &*found : nullptr;
}

std::optional<ImVec2> SramBox::port(const Tile& tile) const {
  const Placed* placed = find(tile);
  if (placed == nullptr) return std::nullopt;
  return ImVec2{placed->cell.center().x, placed->cell.max.y + 2.0f * context_.scale};
}

}  // namespace attnscope::app
