#include "app/panels/warp_table.h"

#include <array>

#include "app/draw/format.h"
#include "app/draw/text.h"
#include "app/panels/snapshot_view.h"

namespace attnscope::app {

namespace {

struct Row {
  std::string_view label;
  Index WarpTraffic::*field;
  bool bytes;
  std::string_view hint;
};

constexpr Row kRows[] = {
    {"bytes read", &WarpTraffic::shared_read_bytes, true,
     "Shared memory read by all warps together; a tile that every warp reads counts for each."},
    {"bytes written", &WarpTraffic::shared_write_bytes, true,
     "Shared memory written: tiles that are loaded, and what warps leave there for each other."},
    {"exchanged", nullptr, true,
     "Of these, read and written for each other: parts of sums, and tiles that other warps need."},
    {"barriers", &WarpTraffic::barriers, false,
     "Where a warp has to wait for the others, counted for each thread block: before shared memory "
     "is read that others wrote, or overwritten after they read it."},
};

std::string cell(const WarpTraffic& traffic, const Row& row) {
  const Index value = row.field != nullptr
                          ? traffic.*row.field
                          : traffic.exchange_read_bytes + traffic.exchange_write_bytes;
  return row.bytes ? draw::format_bytes(static_cast<double>(value), false)
                   : draw::format_count(value);
}

/// Closer lines in presenter mode, where they are high.
float pitch_of(const PanelContext& context) {
  const FontRef& small = context.fonts.small;
  return context.presenter ? small.size * 1.1f : draw::line_height(small);
}

}  // namespace

std::string_view partition_title(WarpPartition partition) {
  return partition == WarpPartition::sliced_k ? "sliced-K" : "split-Q";
}

float warp_table_height(const PanelContext& context) {
  return static_cast<float>(2 + std::size(kRows)) * pitch_of(context);
}

void draw_warp_table(const Snapshot& snapshot, const PanelContext& context, const Rect& rect) {
  const Theme& theme = context.theme;
  const FontRef& small = context.fonts.small;
  const FontRef& mono = context.fonts.mono_small;
  const float pitch = pitch_of(context);
  const float labels = small.measure("bytes written").x + context.px(6.0f);
  const float column = (rect.width() - labels) / 4.0f;
  const auto right = [&](int k) {
    return rect.min.x + labels + column * static_cast<float>(k + 1);
  };

  // Two headings: what is counted, and under which partition
  draw::text(context, small, {right(1), rect.min.y}, theme.text_dim,
             draw::fitted(small, snapshot.step >= 0 ? "this operation" : "before the first",
                          2.0f * column),
             draw::Align::right);
  draw::text(context, small, {right(3), rect.min.y}, theme.text_dim,
             draw::fitted(small, "whole pass, this head", 2.0f * column), draw::Align::right);
  const WarpPartition own = *snapshot.run->algorithm->warps;
  for (int k = 0; k < 4; ++k) {
    const WarpPartition partition = kShownPartitions[k % 2];
    draw::text(context, small, {right(k), rect.min.y + pitch},
               partition == own ? theme.text : theme.text_faint, partition_title(partition),
               draw::Align::right);
  }
  context.list->AddLine({rect.min.x, rect.min.y + 2.0f * pitch - context.px(1.0f)},
                        {rect.max.x, rect.min.y + 2.0f * pitch - context.px(1.0f)}, theme.grid);

  float y = rect.min.y + 2.0f * pitch;
  for (const Row& row : kRows) {
    draw::text(context, small, {rect.min.x, y}, theme.text_dim, row.label);
    for (int k = 0; k < 4; ++k) {
      const WarpPartition partition = kShownPartitions[k % 2];
      const auto& counted = k < 2 ? snapshot.op_warps : snapshot.run->head_warps;
      const std::string text = cell(counted[static_cast<std::size_t>(partition)], row);
      draw::text(context, mono, {right(k), y + (small.size - mono.size) * 0.5f},
                 partition == own ? theme.text : theme.text_dim,
                 draw::fitted(mono, text, column - context.px(4.0f)), draw::Align::right);
    }
    if (hovered({{rect.min.x, y}, {rect.max.x, y + pitch}})) tooltip(context, row.hint);
    y += pitch;
  }
}

}  // namespace attnscope::app
