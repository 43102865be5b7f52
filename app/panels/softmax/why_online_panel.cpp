#include "app/panels/panels.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "app/draw/canvas.h"
#include "app/draw/format.h"
#include "app/draw/wordings.h"
#include "app/panels/parts/headings.h"
#include "app/panels/parts/snapshot_view.h"
#include "app/scene/shown_head.h"

namespace attnscope::app {

namespace {

std::string number(double value) {
  return std::isinf(value) ? "inf" : draw::format_value(value);
}

std::string_view formula_of(SoftmaxMethod method) {
  if (method == SoftmaxMethod::naive) return "p = exp(x); l = sum p";
  if (method == SoftmaxMethod::safe) return "m = max x; p = exp(x - m); l = sum p";
  return "m and l in one sweep: l = l exp(m_prev - m) + exp(x - m)";
}

/// The error of P against the softmax of the rounded scores in double, or what is wrong with an
/// invalid P.
std::string error_text(const RowSoftmax& softmax) {
  if (softmax.nan_elems > 0) return fmt::format("{} NaN", draw::format_count(softmax.nan_elems));
  if (std::isinf(softmax.l)) return "all P 0";
  return draw::format_error(softmax.max_abs_error);
}

bool is_broken(const RowSoftmax& softmax) {
  return softmax.nan_elems > 0 || std::isinf(softmax.l);
}

/// Whether a lesson asks about this method later.
bool is_hidden(SoftmaxMethod method, const std::set<PanelPart>& hidden) {
  return (method == SoftmaxMethod::safe && hidden.contains(PanelPart::safe)) ||
         (method == SoftmaxMethod::online && hidden.contains(PanelPart::online));
}

/// The sentences about this row, then all but the last, and so on; they mention the methods only if
/// none is hidden.
std::vector<std::string> sentences_of(const SoftmaxMethods& methods,
                                      const std::set<PanelPart>& hidden) {
  std::string_view overflowing;
  for (const SoftmaxMethods::Case& each : methods.cases) {
    if (each.method != SoftmaxMethod::naive || !is_broken(each.softmax)) continue;
    overflowing = overflowing.empty() ? to_string(each.dtype) : "both types";
  }
  const std::string score = draw::format_value(methods.largest_score);
  const bool shows_all =
      !is_hidden(SoftmaxMethod::safe, hidden) && !is_hidden(SoftmaxMethod::online, hidden);
  std::vector<std::string> wordings = {
      overflowing.empty()
          ? fmt::format("The largest score is {}: the naive sum works (fp16: up to 11.09, fp32: "
                        "88.72).",
                        score)
          : fmt::format("The largest score is {}: its exp overflows in {}.", score, overflowing)};
  const auto add = [&](std::string_view sentence) {
    wordings.insert(wordings.begin(), fmt::format("{} {}", wordings.front(), sentence));
  };
  if (shows_all) {
    add("The online softmax sweeps once for m and l, the safe one twice.");
    add("P needs another sweep; FlashAttention rescales O instead.");
  }
  add("P is compared with the softmax of the rounded scores.");
  return wordings;
}

float label_width(const PanelContext& context) {
  return context.fonts.ui_bold.measure("online").x + context.px(14.0f);
}

/// The smallest width of draw_methods().
float methods_width(const PanelContext& context) {
  return label_width(context) + 4.0f * context.fonts.mono_small.measure("-00.0000").x;
}

/// Draws four columns of numbers: l and the error of P, in each type.
void draw_methods(const PanelContext& context, const SoftmaxMethods& methods,
                  const std::set<PanelPart>& hidden, const Rect& rect) {
  const Theme& theme = context.theme;
  const FontRef& small = context.fonts.small;
  const FontRef& mono = context.fonts.mono_small;
  const float pitch = draw::line_height(small);
  const float labels = label_width(context);
  const float column = (rect.width() - labels) / 4.0f;
  const auto right = [&](std::size_t k) {
    return rect.min.x + labels + column * static_cast<float>(k + 1);
  };
  for (std::size_t type = 0; type < std::size(kShownTypes); ++type) {
    const std::string name(to_string(kShownTypes[type]));
    draw::fitted_text(context, small, {right(2 * type), rect.min.y}, theme.text_dim, name + ": l",
                      column, draw::Align::right);
    draw::fitted_text(context, small, {right(2 * type + 1), rect.min.y}, theme.text_dim,
                      "error of P", column - context.px(6.0f), draw::Align::right);
  }
  float y = rect.min.y + pitch;
  context.list->AddLine({rect.min.x, y - context.px(1.0f)}, {rect.max.x, y - context.px(1.0f)},
                        theme.grid);
  for (const auto method : {SoftmaxMethod::naive, SoftmaxMethod::safe, SoftmaxMethod::online}) {
    if (is_hidden(method, hidden)) continue;
    const ImU32 color = method == SoftmaxMethod::online ? theme.text : theme.text_dim;
    draw::text(context, context.fonts.ui_bold,
               {rect.min.x, y + (small.size - context.fonts.ui_bold.size) * 0.5f}, color,
               to_string(method));
    std::string hint(formula_of(method));
    for (const SoftmaxMethods::Case& each : methods.cases) {
      if (each.method != method) continue;
      const std::size_t k = each.dtype == kShownTypes[0] ? 0 : 2;
      const bool broken = is_broken(each.softmax);
      const ImU32 ink = broken ? theme.error : color;
      const float top = y + (small.size - mono.size) * 0.5f;
      draw::text(context, mono, {right(k), top}, ink, number(each.softmax.l), draw::Align::right);
      draw::fitted_text(context, mono, {right(k + 1), top}, ink, error_text(each.softmax),
                        column - context.px(4.0f), draw::Align::right);
      hint += fmt::format("\n{}: largest p = {}, {} of {} overflow, l = {}, {}",
                          to_string(each.dtype), number(each.largest_numerator),
                          each.softmax.overflowed_elems, methods.keys, number(each.softmax.l),
                          broken ? fmt::format("{} elements of P are NaN", each.softmax.nan_elems)
                                 : "error of P " + draw::format_error(each.softmax.max_abs_error));
    }
    hint +=
        "\nmodelled: every operation rounded; P is compared with the softmax of the rounded scores "
        "in "
        "double";
    const Rect line{{rect.min.x, y}, {rect.max.x, y + pitch}};
    if (hovered(line)) tooltip(context, hint, line);
    y += pitch;
  }
}

/// The right edges of the columns of the online softmax's steps, from the left of their table.
struct StepColumns {
  float j = 0.0f, m = 0.0f, l = 0.0f;
};

StepColumns step_columns(const PanelContext& context) {
  const float gap = 8.0f * context.scale;
  const float value = context.fonts.mono_small.measure("-00.000").x + gap;
  StepColumns columns;
  columns.j = context.fonts.small.measure("after j").x + gap;
  columns.m = columns.j + value;
  columns.l = columns.m + value;
  return columns;
}

/// Draws m and l of the online softmax after up to three column tiles, including the playhead's.
void draw_steps(const Snapshot& snapshot, const PanelContext& context, const Rect& rect) {
  const Theme& theme = context.theme;
  const FontRef& small = context.fonts.small;
  const FontRef& mono = context.fonts.mono_small;
  const std::vector<OnlineStep>& steps = snapshot.softmax_methods->steps;
  const float pitch = draw::line_height(small);
  const StepColumns columns = step_columns(context);
  std::size_t current = 0;
  for (std::size_t k = 0; k < steps.size(); ++k) {
    if (steps[k].j <= snapshot.j) current = k;
  }
  const std::size_t count = std::min<std::size_t>(3, steps.size());
  const std::size_t first = std::min(current > 0 ? current - 1 : 0, steps.size() - count);
  const auto put = [&](const FontRef& font, float column, float y, ImU32 color,
                       std::string_view text) {
    draw::text(context, font, {rect.min.x + column, y}, color, text, draw::Align::right);
  };
  put(small, columns.j, rect.min.y, theme.text_dim, "after j");
  put(small, columns.m, rect.min.y, text_color_of(theme, Tensor::m), "m");
  put(small, columns.l, rect.min.y, text_color_of(theme, Tensor::l), "l");
  float y = rect.min.y + pitch;
  context.list->AddLine({rect.min.x, y - context.px(1.0f)}, {rect.max.x, y - context.px(1.0f)},
                        theme.grid);
  for (std::size_t k = first; k < first + count; ++k) {
    const OnlineStep& step = steps[k];
    const bool here = k == current && snapshot.step >= 0 && !snapshot.in_backward();
    const Rect line{{rect.min.x, y}, {rect.max.x, y + pitch}};
    if (here) draw::fill(context, line, theme.field, context.px(3.0f));
    const ImU32 color = here ? theme.text : theme.text_dim;
    const float top = y + (small.size - mono.size) * 0.5f;
    put(mono, columns.j, top, color, std::to_string(step.j));
    put(mono, columns.m, top, color, number(step.state.m));
    put(mono, columns.l, top, color, number(step.state.l));
    if (hovered(line)) {
      tooltip(context,
              fmt::format("online, after {} keys, including column tile {}\n"
                          "m = {:.9g}\nl = {:.9g}\nmodelled, in fp32",
                          step.keys_seen, step.j, step.state.m, step.state.l),
              line);
    }
    y += pitch;
  }
}

void draw_why_online(const Snapshot& snapshot, ViewState& view, const PanelContext& context) {
  const SoftmaxMethods* methods = snapshot.softmax_methods.get();
  const std::string note =
      methods != nullptr ? fmt::format("{}, {} keys",
                                       row_in_words(shown_head(snapshot.run->resolved(), view.head),
                                                    methods->query),
                                       methods->keys)
                         : "";
  const Rect rest = draw_softmax_tabs(context, view, softmax_title(snapshot), note);
  const FontRef& small = context.fonts.small;
  if (methods == nullptr || methods->keys == 0) {
    const std::string_view reason =
        methods != nullptr ? "This query sees no key, so it has no softmax."
                           : "Values are left out: the problem is too large to show them.";
    draw::wrapped_text(context, small, rest.min, context.theme.text_faint, reason, rest.width(), 2);
    return;
  }

  // The methods on the left, the steps of the online one on the right, the sentence below
  const float pitch = draw::line_height(small);
  const float table_end = rest.min.y + 4.0f * pitch;
  const float steps_left = rest.max.x - step_columns(context).l - context.px(4.0f);
  Rect table{rest.min, {steps_left - context.px(16.0f), table_end}};
  const bool has_steps = table.width() >= methods_width(context) &&  // room for them
                         !is_hidden(SoftmaxMethod::online, view.hidden);
  if (!has_steps) table.max.x = rest.max.x;
  context.named_rects.add("why_online.methods", table);
  draw_methods(context, *methods, view.hidden, table);
  if (has_steps) {
    draw_steps(snapshot, context, {{steps_left, rest.min.y}, {rest.max.x, table_end}});
  }
  const float top = table_end + context.px(5.0f);
  const auto room = static_cast<int>((rest.max.y - top + context.px(5.0f)) / pitch);
  if (room < 1) return;
  draw::draw_wording(context, small, {rest.min.x, top}, context.theme.accent,
                     sentences_of(*methods, view.hidden), rest.width(), std::min(room, 4));
}

}  // namespace

Panel make_why_online_panel() {
  Panel panel{"why_online", "WHY ONLINE", Slot::online_softmax, draw_why_online};
  panel.shown = [](const ViewState& view) { return view.softmax_tab == SoftmaxTab::why_online; };
  return panel;
}

}  // namespace attnscope::app
