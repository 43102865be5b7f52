#include "app/panels/panels.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "app/draw/canvas.h"
#include "app/panels/explain/break_menu.h"
#include "app/panels/explain/broken_code.h"
#include "app/panels/explain/source_view.h"
#include "app/panels/parts/headings.h"
#include "app/panels/parts/snapshot_view.h"
#include "app/report/report_text.h"
#include "sim/snapshot/describe_op.h"

namespace attnscope::app {

namespace {

/// One line on the screen: a pseudo-code line or the continuation of one.
struct ScreenLine {
  std::size_t line = 0;
  int indent = 0;
  std::size_t begin = 0, end = 0;  ///< characters of the line
};

/// Breaks a line between statements ("; ") if it is wider than `width`, else at spaces.
void add_broken(std::vector<ScreenLine>& out, std::size_t index, int indent, std::string_view text,
                float width, const FontRef& font) {
  const float step = font.measure("  ").x;
  const int continued = indent + 1;
  const auto room = [&] { return width - step * static_cast<float>(indent); };
  std::size_t begin = 0;
  while (font.measure(text.substr(begin)).x > room()) {
    // The last statement that still fits on this line
    std::size_t cut = std::string::npos;
    for (std::size_t at = text.find("; ", begin); at != std::string::npos;
         at = text.find("; ", at + 1)) {
      if (font.measure(text.substr(begin, at + 1 - begin)).x <= room()) cut = at + 1;
    }
    if (cut == std::string::npos) break;
    out.push_back({index, indent, begin, cut});
    begin = cut + 1;
    indent = continued;
  }
  for (const std::string& piece : draw::wrapped(font, text.substr(begin), room())) {
    begin = text.find(piece, begin);
    out.push_back({index, indent, begin, begin + piece.size()});
    begin += piece.size();
    indent = continued;
  }
}

/// The pseudo-code and the marks of its lines.
struct MarkedCode {
  std::span<const PseudoLine> lines;
  std::span<const ShownLine> shown;  ///< one for each line
  int lit = -1;                      ///< the line of the last operation; -1: none
  ImU32 color = 0;
  std::vector<bool> pointed = {};  ///< which lines have an operation on the thing under the mouse
  std::vector<std::string> agents = {};  ///< which agents execute each line; "" for every warp
};

/// Which agents execute a line of a program of agents: "producer, statistics loader".
std::string agents_of(const LineOperands& line) {
  std::vector<std::string> names;
  for (const Agent agent : line.agents) {
    names.push_back(is_consumer(agent) ? "consumers" : agent_name(agent));
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

/// Names the agents at the right edge of a line whose text ends at `end`.
void draw_agents(const PanelContext& canvas, const std::string& agents, float end,
                 const Rect& box) {
  const FontRef& font = canvas.fonts.small;
  const float room = box.max.x - canvas.px(6.0f) - end - canvas.px(12.0f);
  const std::string names[] = {agents, agents.substr(0, 1)};
  draw::text_if_fits(canvas, font, {box.max.x - canvas.px(6.0f), box.center().y - font.size * 0.5f},
                     canvas.theme.text_faint, draw::widest_that_fits(font, names, room), room,
                     draw::Align::right);
}

/// The lines, broken to fit a box of this width.
std::vector<ScreenLine> broken_lines(const PanelContext& canvas, float width,
                                     const MarkedCode& code) {
  std::vector<ScreenLine> screen;
  for (std::size_t k = 0; k < code.lines.size(); ++k) {
    add_broken(screen, k, code.lines[k].indent, code.shown[k].text, width - canvas.px(6.0f),
               canvas.fonts.mono_small);
  }
  return screen;
}

constexpr float kLeastPitch = 1.0f;  ///< the line spacing, as a multiple of the font's size

float least_height(const PanelContext& canvas, float width, const MarkedCode& code) {
  const auto count = static_cast<float>(broken_lines(canvas, width, code).size());
  return count * kLeastPitch * canvas.fonts.mono_small.size;
}

/// Draws the characters of a line that are in `part`: red where the run is broken, and struck out
/// where the code does not run.
void draw_code_text(const PanelContext& canvas, const ShownLine& line, const ScreenLine& part,
                    ImVec2 at, ImU32 color) {
  const FontRef& font = canvas.fonts.mono_small;
  const ImU32 red = canvas.theme.error;
  const auto draw_until = [&](std::size_t& begin, std::size_t end, ImU32 ink, bool struck) {
    end = std::clamp(end, begin, part.end);
    const std::string_view text = std::string_view(line.text).substr(begin, end - begin);
    begin = end;
    if (text.empty()) return;
    const float width = font.measure(text).x;
    draw::text(canvas, font, at, ink, text);
    if (struck) {
      const float middle = std::round(at.y + font.size * 0.5f);
      canvas.list->AddLine({at.x, middle}, {at.x + width, middle}, red, canvas.px(1.5f));
    }
    at.x += width;
  };
  std::size_t begin = part.begin;
  draw_until(begin, line.begin, color, false);
  draw_until(begin, line.struck_end, red, true);
  draw_until(begin, line.end, red, false);
  draw_until(begin, part.end, color, false);
}

/// The lines of the screen that are shown, [first, past), and whether the first and the last of
/// them are replaced by the number of hidden lines.
struct ShownPart {
  std::size_t first = 0, past = 0;
  bool more_above = false, more_below = false;
};

/// All lines, or as many as fit around the highlighted one.
ShownPart shown_part(std::span<const ScreenLine> screen, std::size_t fitting, int lit) {
  if (screen.size() <= fitting) return {0, screen.size()};
  const auto found = std::ranges::find_if(
      screen, [&](const ScreenLine& each) { return static_cast<int>(each.line) == lit; });
  const auto at =
      found == screen.end() ? std::size_t{0} : static_cast<std::size_t>(found - screen.begin());
  ShownPart part;
  part.first = std::min(at > fitting / 2 ? at - fitting / 2 : 0, screen.size() - fitting);
  part.past = part.first + fitting;
  if (fitting < 4) return part;  // too few lines to spend one on a number of hidden lines
  part.more_above = part.first > 0;
  part.more_below = part.past < screen.size();
  return part;
}

/// Draws the lines into `rect`; long ones continue on the next line; if not all fit, the part
/// around the highlighted line is shown. Returns the line under the mouse, or -1. Named rectangles:
/// "explain.line.INDEX", "explain.more.above", "explain.more.below".
int draw_pseudo_code(const PanelContext& canvas, const Rect& rect, const MarkedCode& code) {
  const FontRef& font = canvas.fonts.mono_small;
  const float padding = canvas.px(6.0f);
  const std::vector<ScreenLine> screen = broken_lines(canvas, rect.width(), code);

  if (rect.height() < font.size) return -1;

  // Space the lines as widely as the room allows
  const auto count = static_cast<float>(std::max<std::size_t>(screen.size(), 1));
  const float pitch = std::clamp(rect.height() / count, font.size * kLeastPitch, font.size * 1.6f);
  const auto fitting =
      std::max<std::size_t>(static_cast<std::size_t>(rect.height() / pitch + 0.01f), 1);
  const ShownPart part = shown_part(screen, fitting, code.lit);

  // Where lines are close, letters may reach into the next one: draw all backgrounds first
  const auto box_of = [&](std::size_t k) {
    const float y = rect.min.y + pitch * static_cast<float>(k - part.first);
    return Rect{{rect.min.x, std::round(y)}, {rect.max.x, std::round(y + pitch)}};
  };
  const auto hides_others = [&](std::size_t k) {
    return (part.more_above && k == part.first) || (part.more_below && k + 1 == part.past);
  };
  for (std::size_t k = part.first; k < part.past; ++k) {
    if (hides_others(k)) continue;
    const Rect box = box_of(k);
    if (code.pointed[screen[k].line]) draw_pointed(canvas, box);
    if (static_cast<int>(screen[k].line) != code.lit) continue;
    draw::fill(canvas, box, mix(canvas.theme.card, code.color, 0.22f), canvas.px(2.0f));
    draw::fill(canvas, {box.min, {box.min.x + canvas.px(3.0f), box.max.y}}, code.color);
  }

  const float step = font.measure("  ").x;
  int under_mouse = -1;
  for (std::size_t k = part.first; k < part.past; ++k) {
    const Rect box = box_of(k);
    const float y = std::floor(box.center().y - font.size * 0.5f);
    if (hides_others(k)) {
      const bool above = k == part.first;
      draw::text(canvas, font, {rect.min.x + padding, y}, canvas.theme.text_dim,
                 fmt::format("… {} more lines", above ? k + 1 : screen.size() - k));
      canvas.named_rects.add(above ? "explain.more.above" : "explain.more.below", box);
      continue;
    }
    const ScreenLine& line = screen[k];
    const int number = static_cast<int>(line.line);
    canvas.named_rects.add(fmt::format("explain.line.{}", number), box);
    if (hovered(box)) under_mouse = number;
    const bool control = !has_operations(code.lines[line.line].step);
    const ImU32 color = number == code.lit ? canvas.theme.text
                        : control          ? canvas.theme.text_faint
                                           : canvas.theme.text_dim;
    const float x = rect.min.x + padding + step * static_cast<float>(line.indent);
    draw_code_text(canvas, code.shown[line.line], line, {x, y}, color);
    const bool begins = k == 0 || screen[k - 1].line != line.line;
    const std::string& agents = code.agents[line.line];
    const std::string_view text = code.shown[line.line].text;
    const float end = x + font.measure(text.substr(line.begin, line.end - line.begin)).x;
    if (begins && !agents.empty()) draw_agents(canvas, agents, end, box);
  }
  return under_mouse;
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
  return std::max(draw::wrapped_text(canvas, font, {at.x + indent, at.y}, canvas.theme.text,
                                     sentence, width - indent, kMaxSentenceLines),
                  draw::line_height(font));
}

/// The colour of the operation's result.
ImU32 op_color(const Theme& theme, const TileOp& op) {
  if (op.is_of_barrier()) return text_color_of(theme, op.barrier().tile.tensor);
  if (op.dest_count == 0) return theme.accent;
  return text_color_of(theme, op.dests()[0].tensor);
}

/// Draws the CUDA source of the kernel that runs the shown launch.
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
  const char* const menu = view.hides_break ? "" : "\nright click: drop an operation of this line";
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
  const Fonts& fonts = context.fonts;
  const Theme& theme = context.theme;
  const RunInfo& run = *snapshot.run;
  const auto launch = static_cast<std::size_t>(snapshot.launch);
  const bool several = run.pass.launches.size() > 1;
  const std::string subtitle =
      several ? fmt::format("{} of {}: {}", launch + 1, run.pass.launches.size(),
                            launch_words(run.pass.launches[launch].name))
              : std::string{};
  const float tabs =
      text_button_width(context, "pseudo-code") + text_button_width(context, "CUDA source");
  const bool fits = context.fonts.title.measure("WHAT AND WHY").x + tabs + context.px(40.0f) <=
                    context.rect.width();
  const auto [chosen, rest] =
      draw_tabbed_header(context, "explain", fits ? "WHAT AND WHY" : "WHY", subtitle,
                         {"pseudo-code", "CUDA source"}, static_cast<int>(view.explain_tab));
  view.explain_tab = static_cast<ExplainTab>(chosen);

  // The sentences are at the bottom, with up to two lines each
  const bool started = snapshot.step >= 0;
  const TileOp& op = started ? snapshot.op : snapshot.next_op;
  const ImU32 color = op_color(theme, op);
  std::string what =
      started ? snapshot.what : "Nothing has run yet; the inputs are in global memory.";
  if (started && !view.hides_break) what.insert(0, dropped_prefix(op));
  const float width = rest.width() - sentence_indent(context);
  const auto lines_of = [&](const FontRef& each, std::string_view sentence) {
    return draw::wrapped(each, sentence, width).size();
  };
  const bool fit_when_large = lines_of(fonts.ui, what) + lines_of(fonts.ui, snapshot.why) <= 3;
  const FontRef& font = fit_when_large ? fonts.ui : fonts.small;
  const auto height_of = [&](std::string_view sentence) {
    const std::size_t lines = std::min<std::size_t>(lines_of(font, sentence), kMaxSentenceLines);
    return static_cast<float>(lines) * draw::line_height(font);
  };
  // The whole pseudo-code comes first: sentences take at most the room that it leaves, which may be
  // none in presenter mode; otherwise there is always room for one sentence
  const MarkedCode marked = marked_code(snapshot, view, color);
  const float notice = break_notice_height(snapshot, view, context, rest.width());
  const float needed = notice + least_height(context, rest.width(), marked);
  const float most =
      std::max(3.0f * draw::line_height(fonts.ui), height_of(what) + height_of(snapshot.why)) +
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
  const ImU32 label = mix(color, theme.text, 0.25f);
  ImVec2 at{rest.min.x, code.max.y + context.px(6.0f)};
  const float bottom = rest.max.y + font.size * 0.3f;
  const auto room_for = [&](std::string_view sentence) {
    return at.y + height_of(sentence) <= bottom;
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
