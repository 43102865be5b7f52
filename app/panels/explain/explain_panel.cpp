#include "app/panels/panels.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "app/draw/canvas.h"
#include "app/panels/explain/break_menu.h"
#include "app/panels/explain/source_view.h"
#include "app/panels/parts/headings.h"
#include "app/panels/parts/snapshot_view.h"
#include "app/report/report_text.h"
#include "sim/snapshot/describe_op.h"

namespace attnscope::app {

namespace {

/// One line on the screen: a pseudo-code line or the continuation of one.
struct ScreenLine {
  int line = 0;
  int indent = 0;
  std::string text;
};

/// Breaks a line between statements ("; ") if it is wider than `width`, else at spaces.
void add_broken(std::vector<ScreenLine>& out, int index, const PseudoLine& line, float width,
                const FontRef& font) {
  const float step = font.measure("  ").x;
  int indent = line.indent;
  std::string rest(line.text);
  const auto room = [&] { return width - step * static_cast<float>(indent); };
  while (font.measure(rest).x > room()) {
    // The last statement that still fits on this line
    std::size_t cut = std::string::npos;
    for (std::size_t at = rest.find("; "); at != std::string::npos; at = rest.find("; ", at + 1)) {
      if (font.measure(rest.substr(0, at + 1)).x <= room()) cut = at + 1;
    }
    if (cut == std::string::npos) break;
    out.push_back({index, indent, rest.substr(0, cut)});
    rest = rest.substr(cut + 1);
    indent = line.indent + 1;
  }
  for (const std::string& piece : draw::wrapped(font, rest, room())) {
    out.push_back({index, indent, piece});
    indent = line.indent + 1;
  }
}

/// The marks of the pseudo-code's lines.
struct LineMarks {
  int lit = -1;  ///< of the last operation; -1: none
  ImU32 color = 0;
  std::vector<bool> pointed;         ///< has an operation that touches the thing under the mouse
  std::vector<DroppedLine> dropped;  ///< what the run's break drops of each line
};

/// The lines as they are broken at this width of their box.
std::vector<ScreenLine> broken_lines(const PanelContext& canvas, float width,
                                     std::span<const PseudoLine> lines) {
  std::vector<ScreenLine> screen;
  for (std::size_t k = 0; k < lines.size(); ++k) {
    add_broken(screen, static_cast<int>(k), lines[k], width - canvas.px(6.0f),
               canvas.fonts.mono_small);
  }
  return screen;
}

/// Strikes out a line that is dropped whole; after a line that lacks one operation, names it.
void draw_dropped(const PanelContext& canvas, const DroppedLine& dropped, ImVec2 min, ImVec2 max,
                  float right) {
  const FontRef& font = canvas.fonts.small;
  const float middle = std::round((min.y + max.y) * 0.5f);
  if (dropped.whole) {
    canvas.list->AddLine({min.x, middle}, {max.x, middle}, canvas.theme.error, canvas.px(2.0f));
  } else if (!dropped.part.empty()) {
    const ImVec2 at{max.x + canvas.px(12.0f), middle - font.size * 0.5f};
    draw::fitted_text(canvas, font, at, canvas.theme.error, dropped.part, right - at.x);
  }
}

constexpr float kLeastPitch = 1.08f;  ///< of lines, as a multiple of the font's size

/// Draws the lines into `rect`; long ones continue below, and when all of them are too many the
/// part around the lit line is shown. Returns the line under the mouse, or -1. Named rectangles:
/// "explain.line.INDEX".
int draw_pseudo_code(const PanelContext& canvas, const Rect& rect,
                     std::span<const PseudoLine> lines, const LineMarks& marks) {
  const int lit = marks.lit;
  const ImU32 color = marks.color;
  const FontRef& font = canvas.fonts.mono_small;
  const float padding = canvas.px(6.0f);
  const std::vector<ScreenLine> screen = broken_lines(canvas, rect.width(), lines);

  // Space the lines as widely as the room allows; if it is too small, show the part around the
  // highlighted line
  const auto count = static_cast<float>(std::max<std::size_t>(screen.size(), 1));
  const float pitch = std::clamp(rect.height() / count, font.size * kLeastPitch, font.size * 1.6f);
  const auto visible = std::max<std::size_t>(static_cast<std::size_t>(rect.height() / pitch), 1);
  std::size_t first = 0;
  if (screen.size() > visible) {
    const auto found = std::ranges::find(screen, lit, &ScreenLine::line);
    const auto at =
        found == screen.end() ? std::size_t{0} : static_cast<std::size_t>(found - screen.begin());
    first = std::min(at > visible / 2 ? at - visible / 2 : 0, screen.size() - visible);
  }

  const float step = font.measure("  ").x;
  float y = rect.min.y;
  int under_mouse = -1;
  for (std::size_t k = first; k < std::min(first + visible, screen.size()); ++k) {
    const ScreenLine& line = screen[k];
    const bool is_lit = line.line == lit;
    const Rect box{{rect.min.x, y}, {rect.max.x, y + pitch}};
    canvas.named_rects.add(fmt::format("explain.line.{}", line.line), box);
    if (hovered(box)) under_mouse = line.line;
    if (marks.pointed[static_cast<std::size_t>(line.line)]) draw_pointed(canvas, box);
    if (is_lit) {
      draw::fill(canvas, box, mix(canvas.theme.card, color, 0.22f), canvas.px(2.0f));
      draw::fill(canvas, {box.min, {box.min.x + canvas.px(3.0f), box.max.y}}, color);
    }
    const bool control = !has_operations(lines[static_cast<std::size_t>(line.line)].step);
    const ImU32 text_color =
        is_lit ? canvas.theme.text : (control ? canvas.theme.text_faint : canvas.theme.text_dim);
    const float x = rect.min.x + padding + step * static_cast<float>(line.indent);
    draw::fitted_text(canvas, font, {x, y + (pitch - font.size) * 0.5f}, text_color, line.text,
                      rect.max.x - x);
    const float end = std::min(x + font.measure(line.text).x, rect.max.x);
    draw_dropped(canvas, marks.dropped[static_cast<std::size_t>(line.line)], {x, y},
                 {end, y + pitch}, rect.max.x - padding);
    y += pitch;
  }
  return under_mouse;
}

float sentence_indent(const draw::Canvas& canvas) {
  return canvas.fonts.ui_bold.measure("What").x + canvas.px(12.0f);
}

/// Draws "What" or "Why" and its sentence; returns the height used.
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

/// The colour of the operation's result.
ImU32 op_color(const Theme& theme, const TileOp& op) {
  if (op.dest_count == 0) return theme.accent;
  return text_color_of(theme, op.dests()[0].tensor);
}

/// The CUDA source of the kernel that runs the shown launch.
void draw_source(SourceView& view, const Snapshot& snapshot, const PanelContext& context,
                 const Rect& rect) {
  const RunInfo& run = *snapshot.run;
  const kernels::KernelInfo* kernel = nullptr;
  for (const kernels::KernelInfo& each : kernels::catalog()) {
    if (each.algorithm == run.algorithm->name) kernel = &each;
  }
  const Launch& launch = launch_of(snapshot);
  const std::string_view source = kernel != nullptr
                                      ? source_of_launch(*kernel, launch, snapshot.in_backward())
                                      : std::string_view();
  std::optional<Step> step;
  if (snapshot.step >= 0) step = launch.pseudo_code[snapshot.op.line].step;
  view.draw(context, rect, source, step);
}

class ExplainPanel {
 public:
  void draw(const Snapshot& snapshot, ViewState& view, const PanelContext& context);
  const BreakMenu& menu() const { return menu_; }

 private:
  void choose_menu(const Snapshot& snapshot, const PanelContext& context);
  void draw_code(const Snapshot& snapshot, ViewState& view, const PanelContext& context,
                 const Rect& rect, ImU32 color);

  SourceView source_;
  BreakMenu menu_;
};

/// The pseudo-code: a click on a line seeks its next operation.
void ExplainPanel::draw_code(const Snapshot& snapshot, ViewState& view, const PanelContext& context,
                             const Rect& rect, ImU32 color) {
  const auto launch = static_cast<std::size_t>(snapshot.launch);
  const auto& lines = snapshot.run->pass.launches[launch].pseudo_code;
  LineMarks marks{snapshot.step >= 0 ? snapshot.op.line : -1, color, {}, {}};
  for (std::size_t line = 0; line < lines.size(); ++line) {
    marks.pointed.push_back(view.pointed &&
                            is_line_of(*view.pointed, CodeLine{launch, line}, *snapshot.run));
    marks.dropped.push_back(view.hides_break ? DroppedLine{}
                                             : dropped_line(snapshot, launch, line));
  }
  const Rect code = draw_break_notice(snapshot, view, context, rect);
  const int under_mouse = draw_pseudo_code(context, code, lines, marks);
  if (asks_for_menu() && !view.hides_break) choose_menu(snapshot, context);
  if (under_mouse < 0) return;
  const auto line = static_cast<std::size_t>(under_mouse);
  if (!has_operations(lines[line].step)) return;
  point_at_thing(snapshot, view, context, CodeLine{launch, line});
  const char* const menu = view.hides_break ? "" : "\nright click: drop an operation of this line";
  tooltip(context, fmt::format("{}{}{}", lines[line].text, kClickHelp, menu),
          *context.named_rects.find(fmt::format("explain.line.{}", line)));
}

/// The menu of the line under the mouse.
void ExplainPanel::choose_menu(const Snapshot& snapshot, const PanelContext& context) {
  const auto& lines = launch_of(snapshot).pseudo_code;
  for (std::size_t line = 0; line < lines.size(); ++line) {
    const auto rect = context.named_rects.find(fmt::format("explain.line.{}", line));
    const bool is_this = rect && rect->contains(ImGui::GetMousePos());
    if (!is_this || !has_operations(lines[line].step)) continue;
    menu_.choose_line(*snapshot.run, static_cast<std::size_t>(snapshot.launch), line);
  }
}

void ExplainPanel::draw(const Snapshot& snapshot, ViewState& view, const PanelContext& context) {
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

  // The sentences are at the bottom, with up to three lines each
  const bool started = snapshot.step >= 0;
  const TileOp& op = started ? snapshot.op : snapshot.next_op;
  const ImU32 color = op_color(theme, op);
  std::string what =
      started ? snapshot.what : "Nothing has run yet; the inputs are in global memory.";
  if (started && !view.hides_break) what.insert(0, dropped_prefix(op));
  const float width = rest.width() - sentence_indent(context);
  const std::size_t lines_when_large = draw::wrapped(fonts.ui, what, width).size() +
                                       draw::wrapped(fonts.ui, snapshot.why, width).size();
  const FontRef& font = lines_when_large <= 3 ? fonts.ui : fonts.small;
  float sentences = 3.0f * draw::line_height(fonts.ui) + context.px(8.0f);
  if (context.presenter) {
    // The whole pseudo-code comes first
    const auto lines = broken_lines(context, rest.width(), launch_of(snapshot).pseudo_code).size();
    const float code = static_cast<float>(lines) * kLeastPitch * fonts.mono_small.size;
    sentences = std::clamp(rest.height() - code, 0.0f, sentences);
  }
  const Rect code{{rest.min.x, rest.min.y}, {rest.max.x, rest.max.y - sentences}};
  if (asks_for_menu()) menu_.clear();
  if (view.explain_tab == ExplainTab::pseudo_code) {
    draw_code(snapshot, view, context, code, color);
  } else {
    draw_source(source_, snapshot, context, code);
  }
  const ImU32 label = mix(color, theme.text, 0.25f);
  ImVec2 at{rest.min.x, code.max.y + context.px(6.0f)};
  const auto room_for = [&](std::string_view sentence) {
    const auto lines = std::min<std::size_t>(draw::wrapped(font, sentence, width).size(), 2);
    return at.y + static_cast<float>(lines) * draw::line_height(font) <=
           rest.max.y + font.size * 0.3f;
  };
  if (!room_for(what)) return;
  at.y += draw_sentence(context, font, at, rest.width(), label, "What", what);
  if (started && room_for(snapshot.why)) {
    draw_sentence(context, font, at, rest.width(), label, "Why", snapshot.why);
  }
}

}  // namespace

Panel make_explain_panel() {
  const auto state = std::make_shared<ExplainPanel>();
  Panel panel{"explain", "WHAT AND WHY", Slot::explain,
              std::bind_front(&ExplainPanel::draw, state)};
  panel.draw_menu_items = [state](const ViewState& view, CommandSink& commands,
                                  const DrawMenuItem& item) {
    if (!view.hides_break) state->menu().draw_items(view, commands, item);
  };
  return panel;
}

}  // namespace attnscope::app
