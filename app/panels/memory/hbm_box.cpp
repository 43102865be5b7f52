#include "app/panels/memory/memory_boxes.h"

#include <fmt/core.h>

#include <algorithm>

#include "app/draw/format.h"

namespace attnscope::app {

namespace {

/// Largest number of tiles along an axis that are drawn separately; more are merged.
constexpr Index kMaxTiles = 32;

/// Whether a slot of the first tensor holds values of the second; O and O_carry count as one.
bool is_copy_of(Tensor slot, Tensor tensor) {
  const auto is_O = [](Tensor each) { return each == Tensor::O || each == Tensor::O_carry; };
  return slot == tensor || (is_O(slot) && is_O(tensor));
}

Area hbm_tile_area(const HbmTensorState& tensor, Index row, Index col) {
  return {{row * tensor.tile_rows, std::min((row + 1) * tensor.tile_rows, tensor.shape.rows)},
          {col * tensor.tile_cols, std::min((col + 1) * tensor.tile_cols, tensor.shape.cols)}};
}

}  // namespace

void HbmBox::draw() const {
  const Theme& theme = context_.theme;
  draw::fill(context_, rect_, theme.inset, context_.px(5.0f));
  draw::outline(context_, rect_, theme.inset_border, 1.0f, context_.px(5.0f));
  for (const Placed& placed : placed_) {
    const std::string name(display_name(placed.tensor->tensor));
    context_.named_rects.add("memory.tensor." + name, placed.box);
    context_.named_rects.add("memory.cell." + name, placed.cell);
    if (placed.tensor->never_stored) {
      draw_ghost(placed);
    } else {
      draw_tiles(placed);
      draw_in_use(placed);
    }
    draw_adds(placed);
    draw_words(placed);
  }
  draw_title();
}

void HbmBox::draw_words(const Placed& placed) const {
  const Theme& theme = context_.theme;
  ImVec2 at{placed.cell.center().x, placed.box.max.y + context_.px(2.0f)};
  draw::text(context_, name_font(), at, theme.text, display_name(placed.tensor->tensor),
             draw::Align::center);
  if (sizes_ == Sizes::none) return;
  at.y += draw::line_height(name_font());
  draw::text(context_, context_.fonts.small, at, theme.text_faint, size_below(placed),
             draw::Align::center);
}

std::string HbmBox::size_below(const Placed& placed) const {
  const FontRef& font = context_.fonts.small;
  const std::string sizes[] = {
      size_of(*placed.tensor, sizes_ == Sizes::brief ? Sizes::brief : Sizes::exact),
      size_of(*placed.tensor, Sizes::brief), ""};
  return draw::widest_that_fits(font, sizes, placed.cell.width() + 1.0f);
}

/// Draws the title at the lower edge, because arrows come from above.
void HbmBox::draw_title() const {
  const Theme& theme = context_.theme;
  const Fonts& fonts = context_.fonts;
  const std::string title = dram_name(snapshot_.run->gpu);
  if (title_beside_) {
    return draw::vertical_text(
        context_, fonts.ui_bold,
        {rect_.min.x + context_.px(4.0f) + fonts.ui_bold.size * 0.6f, rect_.center().y},
        theme.text_dim, title);
  }
  const float padding = context_.px(10.0f);
  const ImVec2 at{rect_.min.x + padding,
                  rect_.max.y - context_.px(4.0f) - draw::line_height(fonts.ui_bold)};
  const Tiling& tiling = snapshot_.run->tiling();
  const float title_width = fonts.ui_bold.measure(title).x;
  const std::string& full = head_words_.front();
  const std::string tiles = fmt::format("tiles of {} query and {} key rows", tiling.Br, tiling.Bc);
  const bool gradients = std::ranges::any_of(placed_, [](const Placed& placed) {
    return is_gradient(placed.tensor->tensor) && !placed.tensor->never_stored;
  });
  const bool adds = std::ranges::any_of(
      placed_, [](const Placed& placed) { return !placed.tensor->adds.empty(); });
  const std::string hatched = std::string(gradients ? " · hatched: gradients" : "") +
                              (adds ? " · n/m: n of m blocks have added" : "");
  const std::string scale = scale_note_ + hatched;
  std::vector<std::string> notes = {full + " · " + tiles + " · " + scale, full + " · " + scale,
                                    head_words_.back() + " · " + scale,
                                    head_words_.back() + hatched, head_words_.back()};
  if (const std::string sizes = sizes_in_words(); !sizes.empty()) {
    notes.insert(notes.begin(), {sizes + " · " + full + " · " + scale, sizes + " · " + scale});
  }
  const std::string note =
      draw::widest_that_fits(fonts.small, notes, rect_.width() - 3.0f * padding - title_width);
  draw::text(context_, fonts.ui_bold, at, theme.text_dim, title);
  draw::text(context_, fonts.small, {rect_.max.x - padding, at.y + context_.px(2.0f)},
             theme.text_faint, note, draw::Align::right);
}

std::string HbmBox::sizes_in_words() const {
  if (sizes_ != Sizes::none && sizes_ != Sizes::under_wide_ones) return "";
  std::vector<std::pair<std::string, std::string>> names_of_size;
  for (const Placed& placed : placed_) {
    const std::string size = size_of(*placed.tensor, Sizes::exact);
    const std::string name(display_name(placed.tensor->tensor));
    if (sizes_ == Sizes::under_wide_ones && !size_below(placed).empty()) continue;
    const auto known =
        std::ranges::find(names_of_size, size, &std::pair<std::string, std::string>::first);
    if (known == names_of_size.end()) {
      names_of_size.emplace_back(size, name);
    } else {
      known->second += ", " + name;
    }
  }
  std::string words;
  for (const auto& [size, names] : names_of_size) {
    words += fmt::format("{}{}: {}", words.empty() ? "" : " · ", names, size);
  }
  return words;
}

bool HbmBox::stored_elsewhere() const {
  // Standard attention's forward pass stores tensors that its backward pass does not read
  return snapshot_.run->algorithm->softmax == SoftmaxForm::whole_rows;
}

std::vector<std::string> HbmBox::ghost_words(const Placed& placed) const {
  // The same words in ever shorter lines, the widest first
  using Wordings = std::vector<std::vector<std::string>>;
  const Wordings wordings =
      stored_elsewhere()
          ? Wordings{{"not read here"}, {"not", "read here"}, {"not", "read", "here"}}
          : Wordings{{"never stored"}, {"never", "stored"}};
  const FontRef& font = context_.fonts.small;
  const bool flat = is_flat(placed);
  const float width =
      flat ? placed.cell.width() + context_.px(7.0f) : placed.box.width() - context_.px(6.0f);
  const float height =
      flat ? placed.box.min.y - placed.top : placed.box.height() - context_.px(2.0f);
  const auto found = std::ranges::find_if(wordings, [&](const std::vector<std::string>& lines) {
    return static_cast<float>(lines.size()) * draw::line_height(font) <= height &&
           std::ranges::all_of(
               lines, [&](const std::string& words) { return font.measure(words).x <= width; });
  });
  return found != wordings.end() ? *found : std::vector<std::string>();
}

void HbmBox::draw_ghost(const Placed& placed) const {
  const Rect& box = placed.box;
  const ImU32 color = text_color_of(context_.theme, placed.tensor->tensor);
  draw::dashed_outline(context_, box, color, context_.px(1.5f), context_.px(5.0f));
  const std::vector<std::string> lines = ghost_words(placed);
  if (lines.empty()) return;  // only the outline is drawn

  // Show the tensor's bytes above the words if there is room
  const FontRef& font = context_.fonts.small;
  const float line = draw::line_height(font);
  const std::string bytes = draw::format_bytes(placed.tensor->bytes);
  const float height = static_cast<float>(lines.size()) * line;
  float y = is_flat(placed) ? box.min.y - height : box.center().y - 0.5f * height;
  if (height + 1.2f * line <= box.height() &&
      font.measure(bytes).x <= box.width() - context_.px(6.0f)) {
    y += 0.5f * line;
    draw::text(context_, font, {box.center().x, y - line}, context_.theme.text_faint, bytes,
               draw::Align::center);
  }
  for (const std::string& words : lines) {
    draw::text(context_, font, {box.center().x, y}, color, words, draw::Align::center);
    y += line;
  }
  context_.named_rects.add(fmt::format("memory.ghost.{}", display_name(placed.tensor->tensor)),
                           box);
}

void HbmBox::draw_tiles(const Placed& placed) const {
  const Theme& theme = context_.theme;
  const HbmTensorState& tensor = *placed.tensor;
  const ImU32 color = color_of(theme, tensor.tensor);
  const ImU32 line = mix(theme.inset, text_color_of(theme, tensor.tensor), 0.55f);
  const auto bins = [](Index tiles, float pixels) {
    const auto room = static_cast<Index>(std::max(pixels / 4.0f, 1.0f));
    return std::max<Index>(std::min({tiles, kMaxTiles, room}), 1);
  };
  const Index tile_rows = tensor.tile_row_count();
  const Index tile_cols = tensor.tile_col_count();
  const Index rows = bins(tile_rows, placed.box.height());
  const Index cols = bins(tile_cols, placed.box.width());
  const float gap = rows == tile_rows && placed.box.height() / static_cast<float>(rows) > 7.0f
                        ? context_.px(1.0f)
                        : 0.0f;
  for (Index r = 0; r < rows; ++r) {
    const Index row = r * tile_rows / rows;
    const Index past_row = std::max((r + 1) * tile_rows / rows, row + 1);
    for (Index c = 0; c < cols; ++c) {
      const Index col = c * tile_cols / cols;
      const Index past_col = std::max((c + 1) * tile_cols / cols, col + 1);
      const Area area{
          {row * tensor.tile_rows, std::min(past_row * tensor.tile_rows, tensor.shape.rows)},
          {col * tensor.tile_cols, std::min(past_col * tensor.tile_cols, tensor.shape.cols)}};
      Rect part = part_rect(tensor.tensor, area).value_or(placed.box);
      part = part.shrunk(cols > 1 ? gap : 0.0f, gap);
      const float share = written_share(tensor, row, past_row, col, past_col);
      if (share > 0.0f) {
        const float strength = (tensor.input ? 0.5f : 0.8f) * share;
        draw::fill(context_, part, mix(theme.inset, color, strength));
        if (is_gradient(tensor.tensor)) hatch_gradient(context_, part);
      }
      if (share < 1.0f && gap > 0.0f) draw::outline(context_, part, line);
    }
  }
  if (gap == 0.0f) draw::outline(context_, placed.box, line);
}

void HbmBox::draw_adds(const Placed& placed) const {
  // "2/4" in each tile that thread blocks add to: the number of adds so far, and in the whole pass
  const HbmTensorState& tensor = *placed.tensor;
  if (tensor.adds.empty()) return;
  const FontRef& font = context_.fonts.mono_small;
  const auto part_of = [&](Index row) {
    const Area area{
        {row * tensor.tile_rows, std::min((row + 1) * tensor.tile_rows, tensor.shape.rows)},
        {0, tensor.shape.cols}};
    return part_rect(tensor.tensor, area).value_or(placed.box);
  };
  const float least = adds_height();
  const bool all = part_of(0).height() >= least;  // else only counts of the current row
  for (std::size_t tile = 0; tile < tensor.adds.size(); ++tile) {
    const auto row = static_cast<Index>(tile) / tensor.tile_col_count();
    if (!all && row != snapshot_.i) continue;
    const Rect part = part_of(row);
    if (all && part.height() < least) continue;  // the ragged last tile
    const std::string count = fmt::format("{}/{}", tensor.adds[tile], tensor.adds_whole[tile]);
    const float x = part.max.x + context_.px(3.0f);
    const bool drawn =
        draw::text_if_fits(context_, font, {x, part.center().y - font.size * 0.5f},
                           context_.theme.text_dim, count, placed.free_x - x - context_.px(2.0f));
    if (drawn) context_.named_rects.add(fmt::format("memory.adds.{}", row), part);
  }
}

void HbmBox::draw_in_use(const Placed& placed) const {
  // Mark the tiles that have a copy on chip now
  const Theme& theme = context_.theme;
  const HbmTensorState& tensor = *placed.tensor;
  for (const SlotState& slot : snapshot_.slots) {
    if (!slot.valid || !is_copy_of(slot.tile.tensor, tensor.tensor)) continue;
    const Area area = area_of(snapshot_, slot.tile);
    if (!is_written(tensor, area.rows.begin / tensor.tile_rows,
                    area.cols.begin / tensor.tile_cols)) {
      continue;
    }
    Rect part = part_rect(tensor.tensor, area).value_or(placed.box);
    if (part.height() < context_.px(3.0f)) part.max.y = part.min.y + context_.px(3.0f);
    draw::fill(context_, part, color_of(theme, tensor.tensor));
    draw::outline(context_, part, theme.highlight, context_.px(1.5f));
  }
}

void HbmBox::draw_pointed_tiles(const Highlight& pointed) const {
  for (const Placed& placed : placed_) {
    const HbmTensorState& tensor = *placed.tensor;
    const std::optional<Area> area = pointed.part_of(tensor.tensor, tensor.shape);
    if (!area) continue;
    const Rect part = part_rect(tensor.tensor, *area).value_or(placed.box);
    draw_pointed(context_, part);
    context_.named_rects.add(fmt::format("memory.pointed.{}", display_name(tensor.tensor)), part);
  }
}

std::optional<Thing> HbmBox::thing_at(const Placed& placed, ImVec2 at) const {
  if (!placed.box.contains(at)) return std::nullopt;
  const HbmTensorState& tensor = *placed.tensor;
  const auto index = [](float share, Index size, Index tile_size) {
    const auto element = static_cast<Index>(share * static_cast<float>(size));
    return std::clamp<Index>(element, 0, size - 1) / tile_size;
  };
  const float down = (at.y - placed.box.min.y) / placed.box.height();
  const float across = (at.x - placed.box.min.x) / placed.box.width();
  const Area area = hbm_tile_area(tensor, index(down, tensor.shape.rows, tensor.tile_rows),
                                  index(across, tensor.shape.cols, tensor.tile_cols));
  if (tensor.never_stored) return ScoreTile{area};
  return MemoryTile{tensor.tensor, area};
}

void HbmBox::point_at(ViewState& view) const {
  for (const Placed& placed : placed_) {
    if (!hovered(placed.cell)) continue;
    const std::optional<Thing> thing = thing_at(placed, ImGui::GetIO().MousePos);
    if (thing) point_at_thing(snapshot_, view, context_, *thing);
    const HbmTensorState& tensor = *placed.tensor;
    const TensorLayout layout = layout_of(tensor.tensor);
    const bool of_group = layout == TensorLayout::group_key_by_d;
    const std::string_view rows = of_group                           ? "each head's key"
                                  : layout == TensorLayout::key_by_d ? "key"
                                                                     : "query";
    std::string lines =
        fmt::format("{}: {} ({} rows), {}", display_name(tensor.tensor),
                    size_of(tensor, Sizes::exact), rows, draw::format_bytes(tensor.bytes));
    if (tensor.never_stored) {
      lines += stored_elsewhere()
                   ? "\nnot read in this pass; the forward pass stored it"
                   : "\nnever stored: only tiles of it exist, on chip, one at a time";
    } else {
      const auto written =
          std::ranges::count_if(tensor.written, [](auto each) { return each != 0; });
      lines += tensor.input
                   ? "\ninput: present from the start"
                   : fmt::format("\n{} of {} tiles written", written, tensor.written.size());
      if (!tensor.adds.empty()) {
        lines +=
            fmt::format("\nup to {} thread blocks add to a tile, in parallel: atomically, in L2",
                        *std::ranges::max_element(tensor.adds_whole));
      }
    }
    if (thing) lines += kClickHelp;
    tooltip(context_, lines, placed.cell);
  }
}

}  // namespace attnscope::app
