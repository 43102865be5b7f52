/// The layout of the tensors of HBM in their box, and their labels.
#include <fmt/core.h>

#include <algorithm>

#include "app/draw/format.h"
#include "app/panels/memory/memory_boxes.h"
#include "app/scene/shown_head.h"

namespace attnscope::app {

namespace {

/// Sizes are shown if they reduce the scale of the tensors to no less than this share.
constexpr float kMuchOfScale = 0.75f;

}  // namespace

/// "64 × 16"; for parts, "4 × 8 × 16": rows, splits and columns of a part.
std::string HbmBox::size_of(const HbmTensorState& tensor, Sizes sizes) const {
  const auto size = [&](Index value) {
    return sizes == Sizes::brief ? draw::format_size(value) : fmt::format("{}", value);
  };
  const auto [rows, cols] = tensor.shape;
  if (tensor.tensor != Tensor::O_split) return fmt::format("{} × {}", size(rows), size(cols));
  const Index d = snapshot_.run->problem().d;
  return fmt::format("{} × {} × {}", size(rows), size(cols / d), size(d));
}

HbmBox::HbmBox(const Snapshot& snapshot, const PanelContext& context, const ViewState& view,
               const Rect& rect)
    : snapshot_(snapshot),
      context_(context),
      head_words_(in_words(shown_head(snapshot.run->resolved(), view.head))),
      rect_(rect) {
  // Use two rows if the tensors of a backward pass would otherwise be too small
  std::vector<const HbmTensorState*> all;
  std::vector<const HbmTensorState*> gradients;
  std::vector<const HbmTensorState*> others;
  for (const HbmTensorState& tensor : snapshot.hbm) {
    const bool is_unwritten =
        !tensor.input && std::ranges::none_of(tensor.written, [](auto tile) { return tile != 0; });
    if (is_unwritten && view.hidden.contains(PanelPart::unwritten)) continue;
    all.push_back(&tensor);
    const bool lower = is_gradient(tensor.tensor) || tensor.tensor == Tensor::D;
    (lower ? gradients : others).push_back(&tensor);
  }
  constexpr std::size_t kMostInARow = 8;
  small_names_ = all.size() > kMostInARow;
  one_row_has_sizes_ = gradients.empty() || !small_names_;
  place_rows({all});
  if (!one_row_has_sizes_) {
    // One row, without its sizes, if that leaves room for more text
    const int of_one = told();
    place_rows({others, gradients});
    if (overflows_) {
      sizes_ = Sizes::none;
      lay_out_rows({others, gradients});
    }
    if (told() < of_one) place_rows({all});
  }

  // Give back the room that flat tensors leave above them
  if (slack_ <= 0.0f) return;
  rect_.min.y += slack_;
  lay_out_rows({all});
}

int HbmBox::told() const {
  if (overflows_) return 0;
  int told = 0;
  for (const Placed& placed : placed_) {
    const HbmTensorState& tensor = *placed.tensor;
    if (tensor.never_stored && !ghost_words(placed).empty()) ++told;
    const auto tiles = static_cast<float>(std::max<Index>(tensor.tile_row_count(), 1));
    if (!tensor.adds.empty() && placed.box.height() / tiles >= adds_height()) ++told;
  }
  return told;
}

void HbmBox::choose_labels(const Rows& rows) {
  // If the tensors would become too flat, leave out the sizes, then the line of the title
  sizes_ = rows.size() > 1 || one_row_has_sizes_ ? Sizes::exact : Sizes::none;
  title_beside_ = false;
  const float enough = context_.px(rows.size() > 1 ? 40.0f : 56.0f);
  if (heights_of(rows.size()).boxes < enough) sizes_ = Sizes::none;
  const float words = 2.3f * draw::line_height(context_.fonts.small);  // height of "never stored"
  title_beside_ = heights_of(rows.size()).boxes < words;

  // Where sizes would make the tensors narrow, shorten them, then show only those of wide tensors
  if (sizes_ == Sizes::none) return;
  sizes_ = Sizes::under_wide_ones;
  const float scale = scale_of(rows).unit_x;
  for (const Sizes sizes : {Sizes::exact, Sizes::brief}) {
    sizes_ = sizes;
    const RowScale with = scale_of(rows);
    if (with.fits && with.unit_x >= kMuchOfScale * scale) return;
  }
  sizes_ = Sizes::under_wide_ones;
}

HbmBox::Heights HbmBox::heights_of(std::size_t rows) const {
  const Fonts& fonts = context_.fonts;
  Heights heights;
  heights.title = draw::line_height(fonts.ui_bold) + context_.px(4.0f);
  heights.names = draw::line_height(name_font());
  heights.sizes = draw::line_height(fonts.small);
  heights.between = rows > 1 ? context_.px(12.0f) : 0.0f;
  const float labels =
      heights.names + (sizes_ != Sizes::none ? heights.sizes : 0.0f) + heights.between;
  const float all = rect_.height() - context_.px(9.0f) - arrow_room() -
                    (title_beside_ ? 0.0f : heights.title) + heights.between;
  heights.boxes = std::max(all / static_cast<float>(rows) - labels, context_.px(14.0f));
  return heights;
}

std::vector<RowItem> HbmBox::items_of(const std::vector<const HbmTensorState*>& row) const {
  std::vector<RowItem> items;
  for (const HbmTensorState* tensor : row) {
    const bool all = sizes_ == Sizes::exact || sizes_ == Sizes::brief;
    // Sizes are apart, with room for an arrow between them
    const float apart = context_.px(6.0f);
    const float size =
        all ? context_.fonts.small.measure(size_of(*tensor, sizes_)).x + apart : 0.0f;
    items.push_back({tensor->shape,
                     std::max(name_font().measure(display_name(tensor->tensor)).x, size),
                     width_of_adds(*tensor)});
  }
  return items;
}

/// The width of the counts of adds beside the tensor's box.
float HbmBox::width_of_adds(const HbmTensorState& tensor) const {
  if (tensor.adds_whole.empty()) return 0.0f;
  const auto most = *std::ranges::max_element(tensor.adds_whole);
  return context_.fonts.mono_small.measure(fmt::format("{0}/{0}", most)).x;
}

float HbmBox::left_padding() const {
  const float padding = context_.px(12.0f);
  return title_beside_ ? padding * 0.5f + draw::line_height(context_.fonts.ui_bold) : padding;
}

void HbmBox::place_rows(const Rows& rows) {
  choose_labels(rows);
  lay_out_rows(rows);
}

/// The scale of all rows: that of the row with the least space.
RowScale HbmBox::scale_of(const Rows& rows) const {
  std::vector<std::vector<RowItem>> items;
  for (const auto& row : rows) items.push_back(items_of(row));
  return choose_scale(items, row_width(), heights_of(rows.size()).boxes, context_.px(8.0f),
                      min_size());
}

void HbmBox::lay_out_rows(const Rows& rows) {
  const Heights heights = heights_of(rows.size());
  const bool several_rows = rows.size() > 1;
  const float labels = heights.names + (sizes_ != Sizes::none ? heights.sizes : 0.0f);
  const RowScale scale = scale_of(rows);
  overflows_ = !scale.fits;
  const float left = rect_.min.x + left_padding();
  float top = rect_.min.y + arrow_room();
  slack_ = several_rows ? 0.0f : heights.boxes;
  placed_.clear();
  RowLayout all;
  for (std::size_t index = 0; index < rows.size(); ++index) {
    const auto& row = rows[index];
    const RowLayout layout = lay_out_row(items_of(row), scale, row_width(), min_size());
    all.scale = layout.scale;
    all.any_widened |= layout.any_widened;
    all.any_heightened |= layout.any_heightened;
    for (std::size_t k = 0; k < row.size(); ++k) {
      const RowPlace& place = layout.places[k];
      if (!several_rows) slack_ = std::min(slack_, heights.boxes - place.height);
      const float x = left + place.x;
      const float cell_x = left + place.cell_x;
      const float bottom = top + heights.boxes;
      placed_.push_back(
          {row[k],
           {{x, bottom - place.height}, {x + place.width, bottom}},
           {{cell_x, bottom - place.height}, {cell_x + place.cell_width, bottom + labels}},
           k + 1 < row.size() ? left + layout.places[k + 1].x : rect_.max.x,
           top,
           index});
    }
    top += heights.boxes + labels + heights.between;
  }
  scale_note_ = all.scale_note();
}

std::optional<draw::Route> HbmBox::route(ImVec2 from, Tensor tensor, const Area& area) const {
  const auto found = std::ranges::find(placed_, tensor,
                                       [](const Placed& placed) { return placed.tensor->tensor; });
  const std::optional<Rect> part = part_rect(tensor, area);
  if (found == placed_.end() || !part) return std::nullopt;

  // Go down to the box; for each row in the way, sideways above it, then down between its tensors
  const ImVec2 end = part->center();
  ImVec2 at{from.x, std::max(from.y, rect_.min.y)};
  std::vector<draw::Curve> curves{draw::vertical_curve(from, at)};
  const auto go_to = [&](ImVec2 next) {
    curves.push_back(draw::vertical_curve(at, next));
    at = next;
  };
  for (std::size_t row = 0; row <= found->row; ++row) {
    std::vector<draw::Range> taken;
    float top = 0.0f;
    float bottom = 0.0f;
    for (const Placed& placed : placed_) {
      if (placed.row != row) continue;
      const float beside = width_of_adds(*placed.tensor);
      const float right = beside > 0.0f ? placed.box.max.x + context_.px(4.0f) + beside : 0.0f;
      taken.push_back({placed.cell.min.x, std::max(placed.cell.max.x, right)});
      top = placed.top;
      bottom = placed.cell.max.y;
    }
    if (row == found->row) {
      go_to({end.x, top});
      continue;
    }
    const draw::Range room{rect_.min.x, rect_.max.x};
    const float x = draw::free_center(end.x, context_.px(5.0f), room, taken).value_or(end.x);
    go_to({x, top});
    go_to({x, bottom});
  }
  go_to(end);
  return draw::Route(std::move(curves));
}

std::optional<Rect> HbmBox::part_rect(Tensor tensor, const Area& area) const {
  for (const Placed& placed : placed_) {
    if (placed.tensor->tensor != tensor) continue;
    return part_of(placed.box, placed.tensor->shape, area);
  }
  return std::nullopt;
}

}  // namespace attnscope::app
