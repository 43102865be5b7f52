#include "app/panels/panels.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "app/draw/canvas.h"
#include "app/draw/wordings.h"
#include "app/panels/explain/break_menu.h"
#include "app/panels/explain/broken_code.h"
#include "app/panels/explain/pseudo_code_view.h"
#include "app/panels/explain/source_view.h"
#include "app/panels/parts/headings.h"
#include "app/panels/parts/snapshot_view.h"
#include "app/report/report_text.h"
#include "sim/schedule/breaks.h"
#include "sim/snapshot/describe_op.h"

namespace attnscope::app {

namespace {

/// The agents that execute a line of a program: "producer, statistics loader".
std::string agents_of(const LineOperands& line) {
  std::vector<std::string> names;
  for (const Agent agent : line.agents) {
    names.push_back(is_consumer(agent) ? "consumers" : agent_name(agent));
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

float sentence_indent(const draw::Canvas& canvas) {
  return canvas.fonts.ui_bold.measure("What").x + canvas.px(12.0f);
}

constexpr int kMaxSentenceLines = 2;

/// Draws "What" or "Why" and its sentence; returns the height used.
float draw_sentence(const draw::Canvas& canvas, const FontRef& font, ImVec2 at, float width,
                    ImU32 color, std::string_view label, std::string_view sentence) {
  const float indent = sentence_indent(canvas);
  draw::text(canvas, canvas.fonts.ui_bold,
             {at.x, at.y + (font.size - canvas.fonts.ui_bold.size) * 0.6f}, color, label);
  constexpr std::string_view kSeparators[] = {". ", "; ", ", ", " ("};
  return std::max(draw::draw_wording(canvas, font, {at.x + indent, at.y}, canvas.theme.text,
                                     draw::wordings_of(sentence, kSeparators), width - indent,
                                     kMaxSentenceLines),
                  draw::line_height(font));
}

/// The colour of the operation's result.
ImU32 op_color(const Theme& theme, const TileOp& op) {
  if (op.is_of_barrier()) return text_color_of(theme, op.barrier().tile.tensor);
  if (op.dest_count == 0) return theme.accent;
  return text_color_of(theme, op.dests()[0].tensor);
}

/// Draws the CUDA source of the kernel that runs the displayed launch.
void draw_source(SourceView& view, const Snapshot& snapshot, const PanelContext& context,
                 const Rect& rect) {
  const RunInfo& run = *snapshot.run;
  const kernels::KernelInfo* const kernel = kernels::find_kernel(run.algorithm->name);
  const Launch& launch = launch_of(snapshot);
  const std::string_view source = kernel != nullptr
                                      ? source_of_launch(*kernel, launch, snapshot.in_backward())
                                      : std::string_view();
  std::optional<Step> step;
  if (snapshot.step >= 0) step = launch.pseudo_code[snapshot.op.line].step;
  view.draw(context, rect, source, step);
}

/// Draws the heading, with the launch in a pass of several; returns the room below it.
Rect draw_heading(const Snapshot& snapshot, ViewState& view, const PanelContext& context) {
  const std::vector<Launch>& launches = snapshot.run->pass.launches;
  const auto launch = static_cast<std::size_t>(snapshot.launch);
  const bool several = launches.size() > 1;
  std::string subtitle =
      fmt::format("{} of {}: {}", launch + 1, launches.size(), launch_words(launches[launch].name));
  if (!several) subtitle.clear();
  const float room = context.rect.width() - text_button_width(context, "pseudo-code") -
                     text_button_width(context, "CUDA source") - context.px(40.0f);
  const auto fits = [&](const std::string& title) {
    return context.fonts.title.measure(several ? title + "  " + subtitle : title).x <= room;
  };
  if (several && !fits("WHY")) subtitle = subtitle.substr(0, subtitle.find(':'));
  const auto [chosen, rest] = draw_tabbed_header(
      context, "explain", fits("WHAT AND WHY") ? "WHAT AND WHY" : "WHY", subtitle,
      {"pseudo-code", "CUDA source"}, static_cast<int>(view.explain_tab));
  view.explain_tab = static_cast<ExplainTab>(chosen);
  return rest;
}

/// Why the algorithm does the last operation; if the run's break changes its line of code, first
/// what this run does instead.
std::string why_of(const Snapshot& snapshot, const ViewState& view, const MarkedCode& code) {
  const RunInfo& run = *snapshot.run;
  const RunBreak& broken = run.resolved().asked.variant.broken;
  if (snapshot.step < 0 || view.hides_break || !broken.any()) return snapshot.why;
  const TileOp& op = snapshot.op;
  std::string here;
  if (broken.replaces()) {
    const auto launch = static_cast<std::size_t>(snapshot.launch);
    const Tensor replaced = parse_name<Tensor>(broken.replaced.tensor).value();
    if (!run.line_operands[launch][op.line].all.test(static_cast<std::size_t>(replaced)))
      return snapshot.why;
    here = fmt::format("In this run, {}", break_words(broken));
  } else {
    if (op.unreached || !code.shown[op.line].broken) return snapshot.why;
    here = op.skipped ? "This run leaves it out" : "This run leaves out part of the line";
  }
  return fmt::format("{}. In the correct run: {}", here, snapshot.why);
}

class ExplainPanel {
 public:
  void draw(const Snapshot& snapshot, ViewState& view, const PanelContext& context);
  const BreakMenu& menu() const { return menu_; }

 private:
  void choose_menu(const Snapshot& snapshot, const PanelContext& context);
  MarkedCode marked_code(const Snapshot& snapshot, const ViewState& view, ImU32 color);
  void draw_code(const Snapshot& snapshot, ViewState& view, const PanelContext& context,
                 const Rect& rect, const MarkedCode& code);

  SourceView source_;
  BrokenCode broken_code_;
  BreakMenu menu_;
};

MarkedCode ExplainPanel::marked_code(const Snapshot& snapshot, const ViewState& view, ImU32 color) {
  const auto launch = static_cast<std::size_t>(snapshot.launch);
  MarkedCode code{.lines = launch_of(snapshot).pseudo_code,
                  .shown = broken_code_.lines(snapshot, view.hides_break),
                  .lit = snapshot.step >= 0 ? snapshot.op.line : -1,
                  .color = color};
  for (std::size_t line = 0; line < code.lines.size(); ++line) {
    code.pointed.push_back(view.pointed &&
                           is_line_of(*view.pointed, CodeLine{launch, line}, *snapshot.run));
    code.agents.push_back(agents_of(snapshot.run->line_operands[launch][line]));
  }
  return code;
}

/// Draws the pseudo-code; a click on a line seeks its next operation.
void ExplainPanel::draw_code(const Snapshot& snapshot, ViewState& view, const PanelContext& context,
                             const Rect& rect, const MarkedCode& code) {
  const auto launch = static_cast<std::size_t>(snapshot.launch);
  const Rect room = draw_break_notice(snapshot, view, context, rect);
  const int under_mouse = draw_pseudo_code(context, room, code);
  if (asks_for_menu() && !view.hides_break) choose_menu(snapshot, context);
  if (under_mouse < 0) return;
  const auto line = static_cast<std::size_t>(under_mouse);
  if (!has_operations(code.lines[line].step)) return;
  point_at_thing(snapshot, view, context, CodeLine{launch, line});
  const char* const menu = view.hides_break ? "" : "\nright-click: drop an operation of this line";
  tooltip(context, fmt::format("{}{}{}", code.lines[line].text, kClickHelp, menu),
          *context.named_rects.find(fmt::format("explain.line.{}", line)));
}

/// Chooses the menu items of the line under the mouse.
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
  const Rect rest = draw_heading(snapshot, view, context);

  // The sentences are at the bottom, with up to two lines each
  const Fonts& fonts = context.fonts;
  const bool started = snapshot.step >= 0;
  const TileOp& op = started ? snapshot.op : snapshot.next_op;
  const ImU32 color = op_color(context.theme, op);
  std::string what =
      started ? snapshot.what : "Nothing has run yet; the inputs are in global memory.";
  if (started && !view.hides_break) what.insert(0, dropped_prefix(op));
  const MarkedCode marked = marked_code(snapshot, view, color);
  const std::string why = why_of(snapshot, view, marked);
  const float width = rest.width() - sentence_indent(context);
  const auto lines_of = [&](const FontRef& each, std::string_view sentence) {
    return draw::wrapped(each, sentence, width).size();
  };
  const bool fit_when_large = lines_of(fonts.ui, what) + lines_of(fonts.ui, why) <= 3;
  const FontRef& font = fit_when_large ? fonts.ui : fonts.small;
  const auto height_of = [&](std::string_view sentence) {
    const std::size_t lines = std::min<std::size_t>(lines_of(font, sentence), kMaxSentenceLines);
    return static_cast<float>(lines) * draw::line_height(font);
  };
  // The whole pseudo-code comes first: sentences take at most the room that it leaves, which may be
  // none in presenter mode; otherwise there is always room for one sentence
  const float notice = break_notice_height(snapshot, view, context, rest.width());
  const float needed = notice + least_height(context, rest.width(), marked);
  const float most =
      std::max(3.0f * draw::line_height(fonts.ui), height_of(what) + height_of(why)) +
      context.px(8.0f);
  const float one = 2.0f * draw::line_height(fonts.small) + context.px(8.0f);
  const float least = context.presenter ? 0.0f : std::clamp(rest.height() - notice, 0.0f, one);
  const float sentences = std::clamp(rest.height() - needed, least, most);
  const Rect code{{rest.min.x, rest.min.y}, {rest.max.x, rest.max.y - sentences}};
  if (asks_for_menu()) menu_.clear();
  if (view.explain_tab == ExplainTab::pseudo_code) {
    draw_code(snapshot, view, context, code, marked);
  } else {
    draw_source(source_, snapshot, context, code);
  }
  const ImU32 label = mix(color, context.theme.text, 0.25f);
  ImVec2 at{rest.min.x, code.max.y + context.px(6.0f)};
  const float bottom = rest.max.y + font.size * 0.3f;
  const auto room_for = [&](std::string_view sentence) {
    return at.y + height_of(sentence) <= bottom;
  };
  if (!room_for(what)) return;
  at.y += draw_sentence(context, font, at, rest.width(), label, "What", what);
  if (started && room_for(why)) {
    draw_sentence(context, font, at, rest.width(), label, "Why", why);
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
