#include "app/panels/explain_panel.h"

#include <fmt/core.h>

#include <algorithm>

#include "app/draw/shapes.h"
#include "app/draw/text.h"
#include "app/panels/panel_tabs.h"
#include "app/panels/pseudo_code_view.h"
#include "app/panels/snapshot_view.h"
#include "app/report/launch_words.h"
#include "kernels/catalog.h"

namespace attnscope::app {

namespace {

float sentence_indent(const draw::Canvas& canvas) {
  return canvas.fonts.ui_bold.measure("What").x + canvas.px(12.0f);
}

/// Draws "What" or "Why" and its sentence; answers the height used.
float draw_sentence(const draw::Canvas& canvas, const FontRef& font, ImVec2 at, float width,
                    ImU32 color, std::string_view label, std::string_view sentence) {
  const float indent = sentence_indent(canvas);
  constexpr int kMaxLines = 2;
  draw::text(canvas, canvas.fonts.ui_bold,
             {at.x, at.y + (font.size - canvas.fonts.ui_bold.size) * 0.6f}, color, label);
  return std::max(draw::wrapped_text(canvas, font, {at.x + indent, at.y}, canvas.theme.text,
                                     sentence, width - indent, kMaxLines),
                  draw::line_height(font));
}

/// Colour of what the operation makes.
ImU32 op_color(const Theme& theme, const TileOp& op) {
  if (op.dest_count == 0) return theme.accent;
  return text_color_of(theme, op.dests()[0].tensor);
}

}  // namespace

void ExplainPanel::draw(const Snapshot& snapshot, ViewState& view, const PanelContext& context) {
  if (!has_run(snapshot, context, "WHAT AND WHY")) return;
  const Fonts& fonts = context.fonts;
  const Theme& theme = context.theme;
  const RunInfo& run = *snapshot.run;
  const auto launch = static_cast<std::size_t>(snapshot.launch);
  const bool several = run.pass.launches.size() > 1;
  const std::string subtitle =
      several ? fmt::format("{} of {}: {}", launch + 1, run.pass.launches.size(),
                            launch_words(run.pass.launches[launch].name))
              : std::string{};
  const auto [chosen, rest] =
      draw_tabbed_header(context, "explain", "WHAT AND WHY", subtitle,
                         {"pseudo-code", "CUDA source"}, static_cast<int>(view.explain_tab));
  view.explain_tab = static_cast<ExplainTab>(chosen);

  // The sentences stand at the bottom, as large as three lines allow
  const bool started = snapshot.step >= 0;
  const TileOp& op = started ? snapshot.op : snapshot.next_op;
  const ImU32 color = op_color(theme, op);
  const std::string_view what =
      started ? std::string_view(snapshot.what) : "Nothing has run yet; HBM holds the inputs.";
  const float width = rest.width() - sentence_indent(context);
  const std::size_t lines_when_large = draw::wrapped(fonts.ui, what, width).size() +
                                       draw::wrapped(fonts.ui, snapshot.why, width).size();
  const FontRef& font = lines_when_large <= 3 ? fonts.ui : fonts.small;
  const float sentences = 3.0f * draw::line_height(fonts.ui) + context.px(8.0f);
  const Rect code{{rest.min.x, rest.min.y}, {rest.max.x, rest.max.y - sentences}};
  const auto& lines = run.pass.launches[launch].pseudo_code;
  if (view.explain_tab == ExplainTab::pseudo_code) {
    draw_pseudo_code(context, code, lines, started ? op.line : -1, color);
  } else {
    draw_source(snapshot, context, code);
  }
  const ImU32 label = mix(color, theme.text, 0.25f);
  ImVec2 at{rest.min.x, code.max.y + context.px(6.0f)};
  at.y += draw_sentence(context, font, at, rest.width(), label, "What", what);
  if (started) draw_sentence(context, font, at, rest.width(), label, "Why", snapshot.why);
}

void ExplainPanel::draw_source(const Snapshot& snapshot, const PanelContext& context,
                               const Rect& rect) {
  const RunInfo& run = *snapshot.run;
  const kernels::KernelInfo* kernel = nullptr;
  for (const kernels::KernelInfo& each : kernels::catalog()) {
    if (each.algorithm == run.algorithm->name) kernel = &each;
  }
  const Launch& launch = run.pass.launches[static_cast<std::size_t>(snapshot.launch)];
  const std::size_t line = snapshot.step >= 0 ? snapshot.op.line : launch.pseudo_code.size();
  const std::string_view source =
      kernel != nullptr ? source_of_launch(*kernel, launch.name, snapshot.in_backward())
                        : std::string_view();
  source_.draw(context, rect, source, launch.pseudo_code, line);
}

}  // namespace attnscope::app
