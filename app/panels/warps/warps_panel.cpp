#include "app/panels/panels.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <vector>

#include "app/draw/canvas.h"
#include "app/draw/format.h"
#include "app/draw/tooltip.h"
#include "app/panels/parts/headings.h"
#include "app/panels/parts/snapshot_view.h"
#include "app/panels/warps/warp_parts.h"

namespace attnscope::app {

namespace {

/// The partitions from left to right, as in the paper's figure.
constexpr WarpPartition kShownPartitions[] = {WarpPartition::sliced_k, WarpPartition::split_q};

/// The partition's name in the papers.
std::string_view partition_title(WarpPartition partition) {
  return partition == WarpPartition::sliced_k ? "sliced-K" : "split-Q";
}

/// A line of the table.
struct Row {
  std::string_view label;
  Index WarpTraffic::*field;
  bool bytes;
  std::string_view hint;
};

constexpr Row kRows[] = {
    {"bytes read", &WarpTraffic::shared_read_bytes, true,
     "Shared memory read by all warps together; a tile that every warp reads counts once per "
     "warp."},
    {"bytes written", &WarpTraffic::shared_write_bytes, true,
     "Shared memory written: tiles that are loaded, and data that warps write there for each "
     "other."},
    {"exchanged", nullptr, true,
     "Of these, bytes exchanged between warps: parts of sums, and tiles that other warps need."},
    {"barriers", &WarpTraffic::barriers, false,
     "Points where a warp waits for the others, per thread block: before it reads shared memory "
     "that they wrote, or overwrites what they read."},
};

std::string cell(const WarpTraffic& traffic, const Row& row) {
  const Index value = row.field != nullptr
                          ? traffic.*row.field
                          : traffic.exchange_read_bytes + traffic.exchange_write_bytes;
  return row.bytes ? draw::format_bytes(value, false) : draw::format_count(value);
}

/// The lines of the table. In presenter mode, only the lines that show the difference between the
/// partitions, to leave room for the picture.
std::span<const Row> rows_of(const PanelContext& context) {
  return std::span(kRows).subspan(context.presenter ? 2 : 0);
}

/// The line spacing: smaller in presenter mode, where lines are tall.
float table_pitch(const PanelContext& context) {
  const FontRef& small = context.fonts.small;
  return context.presenter ? small.size * 1.1f : draw::line_height(small);
}

float warp_table_height(const PanelContext& context) {
  return static_cast<float>(2 + rows_of(context).size()) * table_pitch(context);
}

/// Draws shared-memory traffic and barriers of both partitions, per operation and pass, as a table.
void draw_warp_table(const Snapshot& snapshot, const PanelContext& context, const Rect& rect) {
  const Theme& theme = context.theme;
  const FontRef& small = context.fonts.small;
  const FontRef& mono = context.fonts.mono_small;
  const float pitch = table_pitch(context);
  const float labels = small.measure("bytes written").x + context.px(6.0f);
  const float column = (rect.width() - labels) / 4.0f;
  const auto right = [&](int k) {
    return rect.min.x + labels + column * static_cast<float>(k + 1);
  };

  // Two headings: what is counted, and under which partition
  draw::fitted_text(context, small, {right(1), rect.min.y}, theme.text_dim,
                    snapshot.step >= 0 ? "this operation" : "before the first", 2.0f * column,
                    draw::Align::right);
  draw::fitted_text(context, small, {right(3), rect.min.y}, theme.text_dim, "whole pass, this head",
                    2.0f * column, draw::Align::right);
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
  for (const Row& row : rows_of(context)) {
    draw::text(context, small, {rect.min.x, y}, theme.text_dim, row.label);
    for (int k = 0; k < 4; ++k) {
      const WarpPartition partition = kShownPartitions[k % 2];
      const auto& counted = k < 2 ? snapshot.op_warps : snapshot.run->head_warps;
      const std::string text = cell(counted[static_cast<std::size_t>(partition)], row);
      draw::fitted_text(context, mono, {right(k), y + (small.size - mono.size) * 0.5f},
                        partition == own ? theme.text : theme.text_dim, text,
                        column - context.px(4.0f), draw::Align::right);
    }
    const Rect line{{rect.min.x, y}, {rect.max.x, y + pitch}};
    if (hovered(line)) tooltip(context, row.hint, line);
    y += pitch;
  }
}

std::string_view paper_of(WarpPartition partition) {
  return partition == WarpPartition::sliced_k ? "FlashAttention-1" : "FlashAttention-2";
}

/// The meaning of the partition, and its source.
std::string hint_of(WarpPartition partition, bool backward) {
  if (partition == WarpPartition::sliced_k) {
    return "sliced-K: each warp has a slice of the keys, K and V, and all queries.\n"
           "arXiv 2307.08691, section 3.3: FlashAttention's \"split-K\".";
  }
  std::string text =
      "split-Q: each warp has its own queries, and all keys.\narXiv 2307.08691, section 3.3.";
  if (backward) {
    text +=
        "\nFor the backward pass, the paper says only that no sum is split and that some "
        "synchronization remains. Modelled: rows of each result, S, P, dP, dS and dQ by queries, "
        "dK and dV by keys. The kernel flash2 gives each warp a near-square part of each result "
        "instead: the same exchange, fewer reads.";
  }
  return text;
}

/// Draws the operation's line of pseudo-code, and on the right the colours of the warps. Returns
/// the height used, which is the same for all operations of a launch.
float draw_operation(const Snapshot& snapshot, const TileOp& op, const PanelContext& context,
                     const Rect& line) {
  const FontRef& small = context.fonts.small;
  const float box = small.size * 1.25f;
  float x = line.max.x - box * static_cast<float>(kPaperWarps);
  for (Index warp = 0; warp < kPaperWarps; ++warp) {
    const Rect swatch{{x + box * static_cast<float>(warp), line.min.y},
                      {x + box * static_cast<float>(warp + 1), line.min.y + box}};
    draw::fill(context, swatch, warp_color(context.theme, warp, kPaperWarps));
    draw::outline(context, swatch, context.theme.card);
    draw::text(context, small, {swatch.center().x, swatch.center().y - small.size * 0.5f},
               text_on_warp(context.theme, warp, kPaperWarps), std::to_string(warp),
               draw::Align::center);
  }
  x -= context.px(6.0f) + small.measure("warp").x;
  draw::text(context, small, {x, line.min.y + (box - small.size) * 0.5f}, context.theme.text_dim,
             "warp");

  const auto& code = launch_of(snapshot).pseudo_code;
  std::string words = op.line < code.size() ? std::string(code[op.line].text) : std::string();
  if (snapshot.step < 0) words = "next: " + words;
  const FontRef& font = context.fonts.ui;
  const float room = x - line.min.x - context.px(10.0f);
  const auto lines_of = [&](std::string_view text) {
    return draw::wrapped(font, text, room).size();
  };
  std::size_t lines = 1;
  for (const PseudoLine& each : code) lines = std::max(lines, lines_of(each.text));
  lines = std::max(lines, lines_of(words));
  draw::wrapped_text(context, font, {line.min.x, line.min.y + (box - font.size) * 0.5f},
                     context.theme.text, words, room, static_cast<int>(lines));
  return std::max(static_cast<float>(lines) * draw::line_height(font), box);
}

/// Draws what each warp does, one line per use of a tile, with the bytes of all warps.
void draw_lines(const PanelContext& context, const WarpParts& parts, const Rect& rect) {
  const FontRef& small = context.fonts.small;
  const FontRef& mono = context.fonts.mono_small;
  const float pitch = draw::line_height(small);
  float y = rect.min.y;
  for (const WarpLine& line : parts.lines) {
    if (y + small.size > rect.max.y) break;
    const bool moves = line.bytes > 0;
    const std::string bytes = moves ? draw::format_bytes(line.bytes) : std::string();
    const std::string whole = line.formula + " = " + bytes;
    const float words = small.measure(line.words).x + context.px(10.0f);
    const bool fits = words + mono.measure(whole).x <= rect.width();
    const std::string& shown = fits && moves ? whole : bytes;
    const float room = rect.width() - mono.measure(shown).x - context.px(6.0f);
    draw::fitted_text(context, small, {rect.min.x, y},
                      moves ? context.theme.text : context.theme.text_faint, line.words, room);
    draw::text(context, mono, {rect.max.x, y + (small.size - mono.size) * 0.5f}, context.theme.text,
               shown, draw::Align::right);
    const Rect at{{rect.min.x, y}, {rect.max.x, y + pitch}};
    if (hovered(at)) {
      tooltip(context,
              moves ? fmt::format("each warp {}\nshared memory, all warps: {}", line.words, whole)
                    : fmt::format("each warp {}, in its registers", line.words),
              at);
    }
    y += pitch;
  }
}

/// Heights of the parts below the pictures, from top to bottom; 0 for a part that does not fit.
struct Heights {
  float lines = 0.0f, sentence = 0.0f, table = 0.0f;
};

Heights choose_heights(const PanelContext& context, std::size_t line_count, int sentence_lines,
                       float room) {
  const float pitch = draw::line_height(context.fonts.small);
  const float picture = context.px(context.presenter ? 190.0f : 120.0f);
  Heights heights;
  heights.table = warp_table_height(context);
  room -= picture + heights.table;
  const float lines = pitch * static_cast<float>(line_count) + context.px(4.0f);
  const float sentence = pitch * static_cast<float>(sentence_lines) + context.px(4.0f);
  if (context.presenter && room < lines + sentence) {
    // Prefer the sentence, which explains the lines; the table repeats their bytes
    if (room >= sentence) heights.sentence = sentence;
    return heights;
  }
  if (room >= lines) {
    heights.lines = lines;
    room -= lines;
  }
  if (room >= sentence) heights.sentence = sentence;
  return heights;
}

void draw_warps(const Snapshot& snapshot, ViewState& view, const PanelContext& context) {
  const RunInfo& run = *snapshot.run;
  Rect rest = draw_memory_tabs(context, view, "modelled · a thread block of 4 warps");
  if (!run.algorithm->warps) {
    draw::wrapped_text(context, context.fonts.ui, rest.min, context.theme.text_faint,
                       "No paper says how the warps of standard attention share a tile: a "
                       "library computes its products. Choose a flash algorithm.",
                       rest.width(), 4);
    return;
  }

  // The operation, then a column for each partition
  const TileOp& op = snapshot.step >= 0 ? snapshot.op : snapshot.next_op;
  const TileGrid& grid = run.grids[static_cast<std::size_t>(snapshot.launch)];
  rest.min.y += draw_operation(snapshot, op, context, rest) + context.px(6.0f);
  const std::array<WarpParts, kWarpPartitions> parts = {
      warp_parts(op, grid, {kShownPartitions[0], kPaperWarps}),
      warp_parts(op, grid, {kShownPartitions[1], kPaperWarps})};
  const std::size_t line_count = std::max(parts[0].lines.size(), parts[1].lines.size());
  const float heading = draw::line_height(context.fonts.ui_bold);
  const std::string sentence(warp_sentence(op));
  const auto sentence_lines =
      static_cast<int>(draw::wrapped(context.fonts.small, sentence, rest.width()).size());
  const Heights heights =
      choose_heights(context, line_count, sentence_lines, rest.height() - heading);
  const float table_top = rest.max.y - heights.table;
  const float sentence_top = table_top - heights.sentence;
  const float lines_top = sentence_top - heights.lines;
  const float gap = context.px(24.0f);
  const float width = (rest.width() - gap) * 0.5f;
  for (std::size_t k = 0; k < parts.size(); ++k) {
    const float x = rest.min.x + (width + gap) * static_cast<float>(k);
    const WarpPartition partition = kShownPartitions[k];
    const Rect title{{x, rest.min.y}, {x + width, rest.min.y + heading}};
    const bool own = partition == *run.algorithm->warps;
    draw::fitted_text(context, context.fonts.ui_bold, title.min,
                      own ? context.theme.text : context.theme.text_dim,
                      fmt::format("{} · {}", partition_title(partition), paper_of(partition)),
                      width);
    if (hovered(title)) tooltip(context, hint_of(partition, snapshot.in_backward()), title);
    draw_warp_picture(context, grid, parts[k],
                      {{x, title.max.y + context.px(4.0f)}, {x + width, lines_top}});
    if (heights.lines > 0.0f) {
      draw_lines(context, parts[k], {{x, lines_top + context.px(4.0f)}, {x + width, sentence_top}});
    }
  }
  if (heights.sentence > 0.0f) {
    draw::wrapped_text(context, context.fonts.small, {rest.min.x, sentence_top + context.px(2.0f)},
                       context.theme.accent, sentence, rest.width(), sentence_lines);
  }
  draw_warp_table(snapshot, context, {{rest.min.x, table_top}, rest.max});
}

}  // namespace

Panel make_warps_panel() {
  Panel panel{"warps", "WARPS", Slot::memory, draw_warps};
  panel.shown = [](const ViewState& view) { return view.memory_tab == MemoryTab::warps; };
  return panel;
}

}  // namespace attnscope::app
