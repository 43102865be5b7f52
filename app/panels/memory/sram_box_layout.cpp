/// The places of the slots on chip, their names and their sizes.
#include <algorithm>
#include <utility>

#include "app/draw/format.h"
#include "app/panels/memory/memory_boxes.h"

namespace attnscope::app {

namespace {

std::string size_text(const SlotState& slot) {
  return draw::format_shape(slot.capacity.rows, slot.capacity.cols);
}

}  // namespace

SramBox::SramBox(const Snapshot& snapshot, const PanelContext& context, const Rect& rect)
    : snapshot_(snapshot), context_(context), rect_(rect) {
  Heights heights = choose_heights();
  place_slots(heights);
  const float line = draw::line_height(context.fonts.small);
  if (show_sizes_ && !place_sizes() && heights.slots - line >= least_slots()) {
    ++lines_of_sizes_;
    heights.slots -= line;
    heights.names += line;
    place_slots(heights);
    place_sizes();
  }

  // The border between both memories is midway between their slots
  split_x_ = rect.center().x;
  for (std::size_t k = 1; k < placed_.size(); ++k) {
    if (placed_[k].slot->space == placed_[k - 1].slot->space) continue;
    split_x_ = (placed_[k - 1].cell.max.x + placed_[k].cell.min.x) * 0.5f;
    border_x_ = split_x_;
    has_both_spaces_ = true;
  }
  const float room = rect.max.x - left_edge();  // room for both capacity bars
  const float words =
      context.fonts.small.measure("registers 98.05 of 256 KiB").x + 48.0f * context.scale;
  const float least = std::min(std::max(0.33f * room, words), 0.5f * room);
  split_x_ = std::clamp(split_x_, left_edge() + least, rect.max.x - least);
}

SramBox::Heights SramBox::choose_heights() {
  // If the slots would become too flat, leave out the sizes, then the title, then room for arcs
  const Fonts& fonts = context_.fonts;
  const float title = draw::line_height(fonts.ui_bold);
  const float sizes = draw::line_height(fonts.small);
  float arcs = fonts.mono_small.size + context_.px(22.0f);
  Heights heights;
  heights.bars = draw::line_height(fonts.small) + context_.px(12.0f);
  heights.names = draw::line_height(fonts.ui_bold);
  heights.slots =
      rect_.height() - context_.px(16.0f) - title - heights.bars - arcs - heights.names - sizes;
  const float enough = least_slots();
  if (heights.slots < enough) {
    show_sizes_ = false;
    heights.slots += sizes;
  }
  if (heights.slots < enough) {
    show_title_ = false;
    heights.slots += title;
  }
  if (heights.slots < enough) {
    const float lower = fonts.mono_small.size + context_.px(8.0f);
    heights.slots += arcs - lower;
    arcs = lower;
  }
  arc_rise_ = arcs - fonts.mono_small.size + context_.px(8.0f);
  heights.arcs = arcs;
  heights.slots = std::max(heights.slots, context_.px(12.0f));
  if (show_sizes_) heights.names += sizes;
  capacity_y_ = rect_.min.y + context_.px(7.0f) + (show_title_ ? title : 0.0f);
  return heights;
}

float SramBox::left_edge() const {
  const float edge = rect_.min.x + context_.px(10.0f);
  return show_title_ ? edge : edge + context_.fonts.ui_bold.size * 1.1f;
}

void SramBox::place_slots(const Heights& heights) {
  // Shared memory on the left, registers on the right, each in order of first use
  std::vector<const SlotState*> ordered;
  for (const OnChipSpace space : {OnChipSpace::shared, OnChipSpace::registers}) {
    for (const SlotState& slot : snapshot_.slots) {
      if (slot.space != space) continue;
      ordered.push_back(&slot);
    }
  }
  const auto items_named_in = [&](const FontRef& font) {
    std::vector<RowItem> items;
    for (const SlotState* slot : ordered) {
      items.push_back({slot->capacity, draw::width_of(font, name_of(*slot))});
    }
    return items;
  };
  const float left = left_edge();
  const float right = rect_.max.x - context_.px(10.0f);
  const auto lay_out = [&] {
    return lay_out_row(items_named_in(name_font()), right - left, heights.slots, context_.px(10.0f),
                       context_.px(5.0f));
  };
  small_names_ = false;
  names_have_indices_ = true;
  RowLayout row = lay_out();
  small_names_ = !row.scale.fits;
  if (small_names_) row = lay_out();
  names_have_indices_ = row.scale.fits;
  if (!names_have_indices_) row = lay_out();
  scale_note_ = row.scale_note();
  const float bottom = capacity_y_ + heights.bars + heights.arcs + heights.slots;
  placed_.clear();
  for (std::size_t k = 0; k < ordered.size(); ++k) {
    const RowPlace& place = row.places[k];
    const float top = bottom - place.height;
    placed_.push_back({ordered[k],
                       {{left + place.x, top}, {left + place.x + place.width, bottom}},
                       {{left + place.cell_x, top},
                        {left + place.cell_x + place.cell_width, bottom + heights.names}}});
  }
}

/// The room of a size in the first line: half of the gap to a neighbour belongs to each of the two.
draw::Range SramBox::size_room(std::size_t first, std::size_t last) const {
  const auto middle = [&](std::size_t k) {
    return 0.5f * (placed_[k - 1].cell.max.x + placed_[k].cell.min.x);
  };
  const float margin = context_.px(3.0f);
  return {first > 0 ? middle(first) + margin : left_edge(),
          last + 1 < placed_.size() ? middle(last + 1) - margin : rect_.max.x - context_.px(6.0f)};
}

/// Places a size under each slot, or, where these would touch, one under all neighbours of the same
/// size: "each 16 × 16". A size without room in the first line is centred under its slot in the
/// second, if there is one.
bool SramBox::place_sizes() {
  const FontRef& font = context_.fonts.small;
  sizes_.clear();
  std::vector<float> free_from(lines_of_sizes_, left_edge());
  const auto place = [&](const std::string& text, std::size_t first, std::size_t last,
                         std::size_t line) {
    const draw::Range cells{placed_[first].cell.min.x, placed_[last].cell.max.x};
    const float width = font.measure(text).x;
    const float end = rect_.max.x - context_.px(6.0f);
    float begin = 0.5f * (cells.low + cells.high) - 0.5f * width;
    if (line > 0) begin = std::max(std::min(begin, end - width), left_edge());
    const draw::Range room = size_room(first, last);
    const bool in_room = begin >= room.low && begin + width <= room.high;
    const bool over_cells = width <= cells.high - cells.low + context_.px(4.0f);
    const bool fits =
        (in_room || over_cells || line > 0) && begin >= free_from[line] - context_.px(2.0f);
    if (!fits) return false;
    sizes_.push_back({text, begin, line});
    free_from[line] = begin + width + context_.px(8.0f);
    return true;
  };
  bool all_placed = true;
  for (std::size_t k = 0; k < placed_.size();) {
    const std::string size = size_text(*placed_[k].slot);
    std::size_t past = k;
    while (past < placed_.size() && size_text(*placed_[past].slot) == size &&
           placed_[past].slot->space == placed_[k].slot->space) {
      ++past;
    }
    const auto place_group = [&](std::size_t line) {
      const auto before = std::pair(sizes_.size(), free_from[line]);
      bool each_fits = true;
      for (std::size_t n = k; n < past && each_fits; ++n) {
        each_fits = place(size, n, n, line);
      }
      if (each_fits) return true;
      sizes_.resize(before.first);
      free_from[line] = before.second;
      return past - k > 1 &&
             (place("each " + size, k, past - 1, line) || place(size, k, past - 1, line));
    };
    bool is_placed = false;
    for (std::size_t line = 0; line < lines_of_sizes_ && !is_placed; ++line) {
      is_placed = place_group(line);
    }
    all_placed = all_placed && is_placed;
    k = past;
  }
  return all_placed;
}

}  // namespace attnscope::app
