#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "app/draw/canvas.h"
#include "app/panels/parts/headings.h"
#include "app/panels/scores/scores_frame.h"

namespace attnscope::app {

namespace {

/// All heads of a run: a row of cells for each batch entry, a column for each head.
struct HeadGrid {
  const AttentionProblem& problem;
  Rect rect;

  Rect cell(Index entry, Index head) const {
    const auto x = [&](Index at) {
      return rect.min.x + rect.width() * static_cast<float>(at) / static_cast<float>(problem.heads);
    };
    const auto y = [&](Index at) {
      return rect.min.y +
             rect.height() * static_cast<float>(at) / static_cast<float>(problem.batch);
    };
    return {{x(head), y(entry)}, {x(head + 1), y(entry + 1)}};
  }
  Index at(ImVec2 mouse) const {
    const auto index = [](float share, Index count) {
      return std::clamp<Index>(static_cast<Index>(share * static_cast<float>(count)), 0, count - 1);
    };
    return index((mouse.y - rect.min.y) / rect.height(), problem.batch) * problem.heads +
           index((mouse.x - rect.min.x) / rect.width(), problem.heads);
  }
};

Index keys_of_entry(const AttentionProblem& problem, Index entry) {
  return problem.has_key_lengths() ? problem.key_lengths[static_cast<std::size_t>(entry)]
                                   : problem.N_kv;
}

std::string about(const AttentionProblem& problem, Index head) {
  const Index entry = head / problem.heads;
  std::string text = fmt::format("head {} of {}", head % problem.heads, problem.heads);
  if (problem.heads > problem.kv_heads) {
    text += fmt::format(", KV head {} of {}", problem.kv_head_of(head % problem.heads),
                        problem.kv_heads);
  }
  if (problem.batch > 1) text += fmt::format(", batch entry {} of {}", entry, problem.batch);
  if (problem.has_key_lengths()) {
    text += fmt::format("\n{} of {} keys; the rest is padding", keys_of_entry(problem, entry),
                        problem.N_kv);
  }
  return text + "\nclick: step through this head";
}

/// Draws "head ◀ 3 ▶", which steps an index within its count; returns its right end.
float draw_stepper(const PanelContext& context, std::string_view name, const std::string& label,
                   ImVec2 at, Index& index, Index count) {
  const FontRef& font = context.fonts.small;
  const float gap = context.px(4.0f);
  draw::text(context, font, at, context.theme.text_dim, label);
  float x = at.x + font.measure(label).x + gap;
  const auto button = [&](std::string_view sign, Index by) {
    const std::string id = fmt::format("scores.{}.{}", name, by < 0 ? "previous" : "next");
    const float width = font.measure(sign).x + context.px(12.0f);
    if (draw_text_button(context, id, sign, {x + width, at.y}, true).pressed) {
      index = (index + by + count) % count;
    }
    x += width + gap;
  };
  button("◀", -1);
  const std::string value = std::to_string(index);
  draw::text(context, font, {x, at.y}, context.theme.text, value);
  x += font.measure(std::to_string(count - 1)).x + gap;
  button("▶", 1);
  return x + context.px(10.0f);
}

void draw_cells(const PanelContext& context, const HeadGrid& grid, Index chosen) {
  const Theme& theme = context.theme;
  const AttentionProblem& problem = grid.problem;
  const float gap = grid.rect.width() / static_cast<float>(problem.heads) >= context.px(6.0f)
                        ? context.px(1.0f)
                        : 0.0f;
  for (Index entry = 0; entry < problem.batch; ++entry) {
    // The filled width of an entry's cells is the visible share of its keys
    const float share = static_cast<float>(keys_of_entry(problem, entry)) /
                        static_cast<float>(std::max<Index>(problem.N_kv, 1));
    for (Index head = 0; head < problem.heads; ++head) {
      Rect cell = grid.cell(entry, head);
      cell.max = {cell.max.x - gap, cell.max.y - gap};
      const bool odd_group = problem.kv_head_of(head) % 2 != 0;
      const ImU32 color =
          mix(theme.untouched, color_of(theme, Tensor::K), odd_group ? 0.35f : 0.6f);
      draw::fill(context, cell, theme.untouched);
      draw::fill(context, {cell.min, {cell.min.x + cell.width() * share, cell.max.y}}, color);
    }
  }
  Rect mark = grid.cell(chosen / problem.heads, chosen % problem.heads);
  const float widen = std::max(context.px(5.0f) - mark.width(), 0.0f) * 0.5f;
  mark = {{mark.min.x - widen, mark.min.y - 1.0f}, {mark.max.x + widen - gap, mark.max.y}};
  draw::outline(context, mark, theme.highlight, context.px(2.0f));
  context.named_rects.add("scores.heads.chosen", mark);
}

}  // namespace

Rect draw_head_strip(const RunInfo& run, ViewState& view, const PanelContext& context,
                     const Rect& rest) {
  constexpr Index kMostBatchRows = 16;  // more rows of cells could not be distinguished
  const AttentionProblem& problem = run.resolved().asked.problem;
  const AttentionProblem& chosen = view.choice.problem;
  const bool is_choice = problem.heads == chosen.heads && problem.batch == chosen.batch;
  const Index count = problem.batch * problem.heads;
  const FontRef& font = context.fonts.small;
  const float rows = static_cast<float>(std::min(problem.batch, kMostBatchRows));
  const float height = std::max(draw::line_height(font), context.px(5.0f) * rows);
  if (count <= 1 || !is_choice || rest.height() < 8.0f * height) return rest;

  Index entry = std::clamp<Index>(view.head, 0, count - 1) / problem.heads;
  Index head = std::clamp<Index>(view.head, 0, count - 1) % problem.heads;
  float x = rest.min.x;
  if (problem.heads > 1) {
    x = draw_stepper(context, "head", "head", {x, rest.min.y}, head, problem.heads);
  }
  if (problem.batch > 1) {
    x = draw_stepper(context, "entry", "batch entry", {x, rest.min.y}, entry, problem.batch);
  }
  const float right =
      std::min(rest.max.x, x + context.px(34.0f) * static_cast<float>(problem.heads));
  const HeadGrid grid{problem, {{x, rest.min.y}, {right, rest.min.y + height}}};
  Index now = entry * problem.heads + head;
  if (grid.rect.width() >= context.px(20.0f)) {
    draw_cells(context, grid, now);
    context.named_rects.add("scores.heads", grid.rect);
    if (hovered(grid.rect)) {
      const Index pointed = grid.at(ImGui::GetIO().MousePos);
      if (ImGui::IsMouseClicked(ImGuiMouseButton_Left)) now = pointed;
      tooltip(context, about(problem, pointed));
    }
  }
  if (now != view.head) view.head = now;
  return {{rest.min.x, rest.min.y + height + context.px(8.0f)}, rest.max};
}

}  // namespace attnscope::app
