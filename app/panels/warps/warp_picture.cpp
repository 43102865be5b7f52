#include "app/panels/warps/warp_parts.h"

#include <fmt/format.h>

#include <algorithm>

#include "app/draw/canvas.h"
#include "app/draw/format.h"
#include "app/draw/heat_map.h"
#include "app/panels/parts/snapshot_view.h"
#include "sim/snapshot/describe_op.h"

namespace attnscope::app {

ImU32 warp_color(const Theme& theme, Index warp, Index warps) {
  const auto last = static_cast<float>(std::max<Index>(warps - 1, 1));
  return draw::sequential_color(theme, 0.25f + 0.7f * static_cast<float>(warp) / last);
}

ImU32 text_on_warp(const Theme& theme, Index warp, Index warps) {
  const ImU32 color = warp_color(theme, warp, warps);
  const bool dark_letters =
      contrast_ratio(color, theme.text_on_tensor) >= contrast_ratio(color, IM_COL32_WHITE);
  return dark_letters ? theme.text_on_tensor : IM_COL32_WHITE;
}

namespace {

/// The largest factor by which widths are stretched relative to heights, in a low panel.
constexpr float kMostStretch = 2.0f;

/// Draws the tiles of one partition.
class Painter {
 public:
  Painter(const PanelContext& context, const TileGrid& grid, const WarpParts& parts)
      : context_(context), grid_(grid), parts_(parts) {}

  void draw_product(const Rect& rect) const;
  bool draw_product_in_a_row(const Rect& rect, float other_area) const;
  void draw_row(const Rect& rect) const;

 private:
  float deck() const { return context_.px(4.0f); }
  float label_height() const { return draw::line_height(context_.fonts.ui_bold); }
  void draw_tile(const WarpTile& tile, const Rect& rect) const;
  void draw_share(const WarpTile& tile, const WarpShare& share, const Rect& rect) const;
  Rect share_rect(const WarpTile& tile, const WarpShare& share, const Rect& rect) const;
  void label(const WarpTile& tile, ImVec2 at, draw::Align align) const;
  void point_at(const WarpTile& tile, const Rect& rect) const;

  const PanelContext& context_;
  const TileGrid& grid_;
  const WarpParts& parts_;
};

Rect Painter::share_rect(const WarpTile& tile, const WarpShare& share, const Rect& rect) const {
  const KeyRange& down = tile.transposed ? share.cols : share.rows;
  const KeyRange& across = tile.transposed ? share.rows : share.cols;
  return part_of(rect, tile.shape, {{down.begin, down.end}, {across.begin, across.end}});
}

void Painter::draw_share(const WarpTile& tile, const WarpShare& share, const Rect& rect) const {
  const Theme& theme = context_.theme;
  const Index warps = parts_.layout.warps;
  const Rect part = share_rect(tile, share, rect);
  draw::fill(context_, part, warp_color(theme, share.warp, warps));
  draw::outline(context_, part, theme.card, 1.0f);
  const FontRef& font = context_.fonts.small;
  const std::string number = std::to_string(share.warp);
  if (part.height() >= 1.1f * font.size &&
      part.width() >= font.measure(number).x + context_.px(2.0f)) {
    draw::text(context_, font, {part.center().x, part.center().y - font.size * 0.5f},
               text_on_warp(theme, share.warp, warps), number, draw::Align::center);
  }
}

void Painter::draw_tile(const WarpTile& tile, const Rect& rect) const {
  const Theme& theme = context_.theme;
  const bool whole = tile.use.spread == WarpSpread::whole;
  // Partial results of the warps are drawn behind, overlapping
  if (tile.partial) {
    for (Index warp = parts_.layout.warps - 1; warp > 0; --warp) {
      const float shift = deck() * static_cast<float>(warp);
      const Rect behind{{rect.min.x + shift, rect.min.y - shift},
                        {rect.max.x + shift, rect.max.y - shift}};
      draw::fill(context_, behind, warp_color(theme, warp, parts_.layout.warps));
      draw::outline(context_, behind, theme.card, 1.0f);
    }
  }
  if (whole) {
    draw::fill(context_, rect, theme.field);
    draw::hatch(context_, rect, theme.inset_border, context_.px(6.0f));
    const FontRef& font = context_.fonts.small;
    for (const std::string_view words : {"every warp", "all"}) {
      const float width = font.measure(words).x + context_.px(6.0f);
      if (width > rect.width() || font.size > rect.height()) continue;
      const ImVec2 center = rect.center();
      draw::fill(context_,
                 {{center.x - width * 0.5f, center.y - font.size * 0.6f},
                  {center.x + width * 0.5f, center.y + font.size * 0.6f}},
                 theme.field);
      draw::text(context_, font, {center.x, center.y - font.size * 0.5f}, theme.text, words,
                 draw::Align::center);
      break;
    }
  } else {
    for (const WarpShare& share : tile.shares) draw_share(tile, share, rect);
  }
  draw::outline(context_, rect, color_of(theme, tile.tile.tensor), context_.px(1.5f));
  context_.named_rects.add(
      fmt::format("warps.{}.{}", to_string(parts_.layout.partition), to_string(tile.tile.tensor)),
      rect);
  point_at(tile, rect);
}

void Painter::label(const WarpTile& tile, ImVec2 at, draw::Align align) const {
  draw::Symbol symbol = symbol_of(tile.tile);
  if (tile.transposed) symbol.base += "ᵀ";
  draw::draw_symbol(context_, context_.fonts.ui_bold, at,
                    text_color_of(context_.theme, tile.tile.tensor), symbol, align);
}

/// Shows a tooltip: which warp, which rows and columns, how many bytes.
void Painter::point_at(const WarpTile& tile, const Rect& rect) const {
  if (!hovered(rect)) return;
  const Index element = moved_element_bytes(tile.use, grid_.problem().dtype);
  const bool moves = tile.use.access != WarpAccess::holds;
  const std::string name = tile_name(tile.tile);
  if (tile.use.spread == WarpSpread::whole) {
    const Index elems = grid_.shape(tile.tile).elems();
    tooltip(context_,
            fmt::format("every warp: all of {}\n{}", name,
                        moves ? fmt::format("{} B through shared memory for each",
                                            draw::format_count(elems * element))
                              : std::string("in its registers")),
            rect);
    return;
  }
  for (const WarpShare& share : tile.shares) {
    if (!share_rect(tile, share, rect).contains(ImGui::GetIO().MousePos)) continue;
    std::string words =
        fmt::format("warp {}: {}, {} of {}\n", share.warp, range_text("row", share.rows),
                    range_text("column", share.cols), name);
    words += moves ? fmt::format("{} B through shared memory",
                                 draw::format_count(share.moved_elems() * element))
                   : std::string("in its registers");
    if (tile.partial) words += "\nsummed over the warps' parts";
    tooltip(context_, words, rect);
  }
}

/// Draws left operand, upper operand and result side by side if an element then has clearly more
/// pixels than `other_area`, as in a flat rectangle. Returns whether it did.
bool Painter::draw_product_in_a_row(const Rect& rect, float other_area) const {
  constexpr float kClearlyMore = 1.4f;
  const FontRef& font = context_.fonts.ui_bold;
  const float lift = parts_.tiles[2].partial ? 3.0f * deck() : 0.0f;
  const float sign_room = font.measure("→").x + context_.px(12.0f);
  const float room_x = rect.width() - 2.0f * sign_room - lift;
  const float room_y = rect.height() - label_height() - lift;
  float rows = 1.0f;
  float cols = 0.0f;
  for (std::size_t k = 0; k < 3; ++k) {
    rows = std::max(rows, static_cast<float>(parts_.tiles[k].shape.rows));
    cols += static_cast<float>(parts_.tiles[k].shape.cols);
  }
  if (room_x <= 0.0f || room_y <= 0.0f) return false;
  const float unit_y = std::min(room_y / rows, kMostStretch * room_x / cols);
  const float unit_x = std::min(room_x / cols, kMostStretch * unit_y);
  if (unit_x * unit_y < kClearlyMore * other_area) return false;

  const float height = rows * unit_y;
  const float top = rect.min.y + lift + (room_y - height) * 0.5f;
  float x = rect.min.x + (room_x - cols * unit_x) * 0.5f;
  for (std::size_t k = 0; k < 3; ++k) {
    const WarpTile& tile = parts_.tiles[k];
    const float width = static_cast<float>(tile.shape.cols) * unit_x;
    const float own = static_cast<float>(tile.shape.rows) * unit_y;
    const float y = top + (height - own) * 0.5f;
    draw_tile(tile, {{x, y}, {x + width, y + own}});
    label(tile, {x + width * 0.5f, top + height + context_.px(2.0f)}, draw::Align::center);
    x += width;
    if (k == 2) break;
    draw::text(context_, font, {x + sign_room * 0.5f, top + (height - font.size) * 0.5f},
               context_.theme.text_dim, k == 0 ? "·" : "→", draw::Align::center);
    x += sign_room;
  }
  return true;
}

void Painter::draw_product(const Rect& rect) const {
  // Left operand [rows, inner], upper operand [inner, cols], result [rows, cols]; heights to scale
  // and widths to scale, unless a side would become too thin
  const WarpTile& left = parts_.tiles[0];
  const WarpTile& upper = parts_.tiles[1];
  const WarpTile& result = parts_.tiles[2];
  const float gap = context_.px(10.0f) + (result.partial ? 3.0f * deck() : 0.0f);
  const float room_x = rect.width() - gap - (result.partial ? 3.0f * deck() : 0.0f);
  const float room_y = rect.height() - gap - label_height();
  const auto inner = static_cast<float>(left.shape.cols);
  const auto rows = static_cast<float>(result.shape.rows);
  const auto cols = static_cast<float>(result.shape.cols);
  const float unit_y = std::min(room_x / (inner + cols), room_y / (inner + rows));
  const float unit_x = std::min(room_x / (inner + cols), kMostStretch * unit_y);
  if (draw_product_in_a_row(rect, unit_x * unit_y)) return;
  const auto split = [](float first, float second, float room, float unit) {
    // Give the thinner one at least a fifth of the room
    const float least = 0.2f * room;
    const float a = std::clamp(first * unit, std::min(least, first * room), room - least);
    const float b = std::clamp(second * unit, std::min(least, second * room), room - a);
    return std::pair(a, b);
  };
  const auto [left_width, result_width] = split(inner, cols, room_x, unit_x);
  const auto [upper_height, result_height] = split(inner, rows, room_y, unit_y);
  const float x = rect.min.x + (room_x - left_width - result_width) * 0.5f;
  const float y = rect.min.y + (room_y - upper_height - result_height) * 0.5f;
  const ImVec2 corner{x + left_width + gap, y + upper_height + gap};
  const Rect left_rect{{x, corner.y}, {x + left_width, corner.y + result_height}};
  const Rect upper_rect{{corner.x, y}, {corner.x + result_width, y + upper_height}};
  const Rect result_rect{corner, {corner.x + result_width, corner.y + result_height}};
  draw_tile(left, left_rect);
  draw_tile(upper, upper_rect);
  draw_tile(result, result_rect);
  const float below = result_rect.max.y + context_.px(2.0f);
  label(left, {left_rect.center().x, below}, draw::Align::center);
  label(result, {result_rect.center().x, below}, draw::Align::center);
  label(upper,
        {upper_rect.min.x - context_.px(6.0f),
         upper_rect.center().y - context_.fonts.ui_bold.size * 0.5f},
        draw::Align::right);
}

void Painter::draw_row(const Rect& rect) const {
  // All tiles have the same height, and widths according to their columns; vectors are at least as
  // wide as a label
  const auto count = static_cast<float>(parts_.tiles.size());
  const float gap = context_.px(18.0f);
  const float least = context_.fonts.ui_bold.size * 1.6f;
  float cols = 0.0f;
  float rows = 1.0f;
  for (const WarpTile& tile : parts_.tiles) {
    cols += static_cast<float>(tile.shape.cols);
    rows = std::max(rows, static_cast<float>(tile.shape.rows));
  }
  const float room = rect.width() - gap * count - least * count;
  const float room_y = rect.height() - label_height() - 3.0f * deck();
  if (room <= 0.0f || room_y <= 0.0f) return;
  const float unit = std::min({room / cols, room_y / rows, room_y * 1.6f / rows});
  float total = gap * (count - 1.0f);
  const auto width_of = [&](const WarpTile& tile) {
    return std::max(least, static_cast<float>(tile.shape.cols) * unit);
  };
  for (const WarpTile& tile : parts_.tiles) total += width_of(tile);
  float x = rect.min.x + (rect.width() - total) * 0.5f;
  const float top = rect.min.y + 3.0f * deck() + (room_y - rows * unit) * 0.5f;
  for (const WarpTile& tile : parts_.tiles) {
    const float height = std::max(static_cast<float>(tile.shape.rows) * unit, context_.px(10.0f));
    const Rect place{{x, top}, {x + width_of(tile), top + height}};
    draw_tile(tile, place);
    label(tile, {place.center().x, top + rows * unit + context_.px(2.0f)}, draw::Align::center);
    x = place.max.x + gap;
  }
}

}  // namespace

void draw_warp_picture(const PanelContext& context, const TileGrid& grid, const WarpParts& parts,
                       const Rect& rect) {
  const Painter painter(context, grid, parts);
  if (parts.tiles.empty()) return;
  if (parts.product) {
    painter.draw_product(rect);
  } else {
    painter.draw_row(rect);
  }
}

}  // namespace attnscope::app
