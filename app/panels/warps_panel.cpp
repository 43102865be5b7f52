#include "app/panels/warps_panel.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "app/draw/format.h"
#include "app/draw/shapes.h"
#include "app/draw/text.h"
#include "app/panels/panel_tabs.h"
#include "app/panels/snapshot_view.h"
#include "app/panels/warp_picture.h"
#include "app/panels/warp_table.h"

namespace attnscope::app {

namespace {

std::string_view paper_of(WarpPartition partition) {
  return partition == WarpPartition::sliced_k ? "FlashAttention-1" : "FlashAttention-2";
}

/// What the partition is, and where it comes from.
std::string hint_of(WarpPartition partition, bool backward) {
  if (partition == WarpPartition::sliced_k) {
    return "sliced-K: each warp has a slice of the keys, K and V, and all queries.\n"
           "arXiv 2307.08691, section 3.3: FlashAttention's \"split-K\".";
  }
  std::string text =
      "split-Q: each warp has its own queries, and all keys.\narXiv 2307.08691, section 3.3.";
  if (backward) {
    text +=
        "\nOf the backward pass the paper says only that no sum is cut and that some "
        "synchronization remains. Modelled: rows of each result, S, P, dP, dS and dQ by queries, "
        "dK and dV by keys. The kernel flash2 gives each warp a near-square part of each result "
        "instead: the same exchange, fewer reads.";
  }
  return text;
}

/// The line of pseudo-code of the operation, and at the right the colours of the warps.
void draw_operation(const Snapshot& snapshot, const TileOp& op, const PanelContext& context,
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

  const auto& code =
      snapshot.run->pass.launches[static_cast<std::size_t>(snapshot.launch)].pseudo_code;
  std::string words = op.line < code.size() ? std::string(code[op.line].text) : std::string();
  if (snapshot.step < 0) words = "next: " + words;
  const FontRef& font = context.fonts.ui;
  const float room = x - line.min.x - context.px(10.0f);
  std::vector<std::string> wordings{words};  // a whole line, or its first statements
  for (std::size_t end = words.rfind(';'); end != std::string::npos && end > 0;
       end = words.rfind(';', end - 1)) {
    wordings.push_back(words.substr(0, end) + "; …");
  }
  const std::string shown = draw::widest_that_fits(font, wordings, room);
  draw::text(context, font, {line.min.x, line.min.y + (box - font.size) * 0.5f}, context.theme.text,
             shown.empty() ? draw::fitted(font, words, room) : shown);
}

/// What each warp does, a line a use, with the bytes of all warps.
void draw_lines(const PanelContext& context, const WarpParts& parts, const Rect& rect) {
  const FontRef& small = context.fonts.small;
  const FontRef& mono = context.fonts.mono_small;
  const float pitch = draw::line_height(small);
  float y = rect.min.y;
  for (const WarpLine& line : parts.lines) {
    if (y + small.size > rect.max.y) break;
    const bool moves = line.bytes > 0;
    const std::string bytes =
        moves ? draw::format_bytes(static_cast<double>(line.bytes)) : std::string();
    const std::string whole = line.formula + " = " + bytes;
    const float words = small.measure(line.words).x + context.px(10.0f);
    const bool fits = words + mono.measure(whole).x <= rect.width();
    const std::string& shown = fits && moves ? whole : bytes;
    const float room = rect.width() - mono.measure(shown).x - context.px(6.0f);
    draw::text(context, small, {rect.min.x, y},
               moves ? context.theme.text : context.theme.text_faint,
               draw::fitted(small, line.words, room));
    draw::text(context, mono, {rect.max.x, y + (small.size - mono.size) * 0.5f}, context.theme.text,
               shown, draw::Align::right);
    if (hovered({{rect.min.x, y}, {rect.max.x, y + pitch}})) {
      tooltip(context,
              moves ? fmt::format("each warp {}\nshared memory, all warps: {}", line.words, whole)
                    : fmt::format("each warp {}, in its registers", line.words));
    }
    y += pitch;
  }
}

/// From top to bottom: pictures, lines, sentence, table. What does not fit is left out.
struct Heights {
  float lines = 0.0f, sentence = 0.0f, table = 0.0f;
};

Heights choose_heights(const PanelContext& context, std::size_t line_count, int sentence_lines,
                       float room) {
  const float pitch = draw::line_height(context.fonts.small);
  const float picture = context.px(context.presenter ? 100.0f : 120.0f);
  Heights heights;
  heights.table = warp_table_height(context);
  room -= picture + heights.table;
  const float lines = pitch * static_cast<float>(line_count) + context.px(4.0f);
  const float sentence = pitch * static_cast<float>(sentence_lines) + context.px(4.0f);
  if (context.presenter && room < lines + sentence) {
    // The sentence says what the lines count, and the table has their bytes
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

}  // namespace

void WarpsPanel::draw(const Snapshot& snapshot, ViewState& view, const PanelContext& context) {
  if (!has_run(snapshot, context, "WARPS")) return;
  const RunInfo& run = *snapshot.run;
  Rect rest = draw_memory_tabs(context, view, "modelled · a thread block of 4 warps");
  if (!run.algorithm->warps) {
    draw::wrapped_text(context, context.fonts.ui, rest.min, context.theme.text_faint,
                       "No paper says how the warps of standard attention share a tile: its "
                       "products are a library's. Choose a flash algorithm.",
                       rest.width(), 4);
    return;
  }

  // The operation, then a column for each partition
  const TileOp& op = snapshot.step >= 0 ? snapshot.op : snapshot.next_op;
  const TileGrid& grid = run.grids[static_cast<std::size_t>(snapshot.launch)];
  draw_operation(snapshot, op, context, rest);
  rest.min.y += std::max(draw::line_height(context.fonts.ui), context.fonts.small.size * 1.25f) +
                context.px(6.0f);
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
    draw::text(context, context.fonts.ui_bold, title.min,
               own ? context.theme.text : context.theme.text_dim,
               draw::fitted(context.fonts.ui_bold,
                            fmt::format("{} · {}", partition_title(partition), paper_of(partition)),
                            width));
    if (hovered(title)) tooltip(context, hint_of(partition, snapshot.in_backward()));
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

}  // namespace attnscope::app
