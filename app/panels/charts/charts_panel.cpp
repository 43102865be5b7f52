#include "app/panels/panels.h"

#include <fmt/core.h>

#include <algorithm>

#include "app/draw/canvas.h"
#include "app/draw/tooltip.h"
#include "app/draw/wordings.h"
#include "app/panels/charts/chart_jobs.h"
#include "app/panels/parts/headings.h"
#include "app/panels/parts/snapshot_view.h"

namespace attnscope::app {

namespace {

/// Draws the tabs so that they end at `right`, which becomes their left edge; returns the one
/// pressed. Named rectangles: "charts.tab.WORD".
template <typename T>
std::optional<T> draw_tabs(const PanelContext& context, ImVec2& right, const std::vector<T>& tabs,
                           T chosen) {
  std::vector<std::string_view> words;
  for (const T each : tabs) words.push_back(tab_word(each));
  const auto shown = std::ranges::find(tabs, chosen) - tabs.begin();
  const auto [pressed, left] = draw_text_tabs(context, "charts", words, shown, right);
  right.x = left;
  return pressed ? std::optional(tabs[*pressed]) : std::nullopt;
}

/// The room below the heading, for the chart and for the items beside it.
struct BelowHeading {
  Rect rest;
  float plot_top = 0.0f;
};

/// Draws title and settings, and the tabs of the x axis (first line) and the quantity (second
/// line). Settings that do not fit beside the title are placed under it.
BelowHeading draw_heading(const PanelContext& context, ViewState& view, const ShownChart& shown) {
  const Rect& rect = context.rect;
  const FontRef& font = context.fonts.small;
  const float lowered = (context.fonts.title.size - font.size) * 0.8f;
  ImVec2 at{rect.max.x - 8.0f * context.scale, rect.min.y + 10.0f * context.scale + lowered};
  const TextButton large =
      draw_text_button(context, "charts.large",
                       view.enlarged == Slot::charts ? "back (C)" : "enlarge (C)", at, false);
  if (large.pressed) enlarge_or_back(view, Slot::charts);
  at.x = large.left - 8.0f * context.scale;
  const ChartChoice chart = shown_chart(view);
  const auto axis = draw_tabs(context, at, chart_axes(), chart.over);
  if (axis) view.chart_over = *axis;

  const FontRef& title = context.fonts.title;
  const float left = rect.min.x + 14.0f * context.scale;
  // The tabs name the axis and the quantity, too
  const std::string words =
      draw::widest_that_fits(title, draw::wordings_of(shown.title, " AGAINST "), at.x - left);
  const float used = title.measure(words).x + 22.0f * context.scale;
  const bool beside = title.measure(shown.subtitle).x <= at.x - left - used;
  const Rect rest = draw_panel_header(context, words, beside ? shown.subtitle : "", {});
  ImVec2 second{rest.max.x + context.px(6.0f), rest.min.y};
  const auto quantity = draw_tabs(context, second, quantities_over(chart.over), chart.quantity);
  if (quantity) view.chart = *quantity;
  if (!beside) {
    // As many of the settings as fit; the tooltip shows all of them
    std::vector<std::string> settings{shown.subtitle};
    for (std::size_t end = settings[0].rfind(", "); end != std::string::npos && end > 0;
         end = settings[0].rfind(", ", end - 1)) {
      settings.push_back(settings[0].substr(0, end));
    }
    const float room = second.x - rest.min.x;
    const std::string fits = draw::widest_that_fits(font, settings, room);
    draw::text(context, font, rest.min, context.theme.text_dim, fits);
    if (fits != shown.subtitle) {
      draw::explain_shortened(context.fonts.small, shown.subtitle,
                              {rest.min, {second.x, rest.min.y + font.size}});
    }
  }
  BelowHeading below{rest, rest.min.y};
  const bool one_line = beside && context.alone;  // alone, a panel has no line of choices
  if (!one_line) below.plot_top += draw::line_height(font) + 2.0f * context.scale;
  const bool explains = !shown.about.empty() || words != shown.title;
  if (explains && hovered({rect.min, {at.x, rest.min.y}})) {
    const char* const gap = shown.about.empty() ? "" : "\n";
    tooltip(context, fmt::format("{} {}{}{}", shown.title, shown.subtitle, gap, shown.about));
  }
  return below;
}

/// Draws the button for the precision of flash1's O in HBM (error chart); returns its left edge.
float draw_carry_button(const PanelContext& context, ViewState& view, ImVec2 right) {
  const bool rounded = view.error_carry == Carry::problem;
  const TextButton button =
      draw_text_button(context, "charts.error_carry", "flash1: O rounded in HBM", right, rounded);
  if (button.pressed) view.error_carry = rounded ? Carry::fp32 : Carry::problem;
  return button.left;
}

/// Draws the legend on the right, above the buttons; returns its left edge.
float draw_side(const PanelContext& context, const Rect& rest, ViewState& view,
                const ShownChart& shown) {
  const FontRef& font = context.fonts.small;
  const std::vector<draw::LegendEntry>& entries = draw::legend_of(shown.picture);
  const ChartChoice chart = shown_chart(view);

  ImVec2 at{rest.max.x + context.px(6.0f), rest.max.y - font.size};
  const std::string stem = fmt::format("attnscope-{}", name_of(chart));
  const TextButton save = draw_text_button(context, "charts.save", "PNG", at, false);
  if (save.pressed) {
    context.commands.push(AskToSave{PanelPicture{.slot = Slot::charts, .path = stem + ".png"}});
  }
  at.x = save.left - context.px(2.0f);
  const TextButton svg = draw_text_button(context, "charts.svg", "SVG", at, false);
  if (svg.pressed) {
    context.commands.push(AskToSave{PanelPicture{.slot = Slot::charts, .path = stem + ".svg"}});
  }
  at.x = svg.left - context.px(2.0f);
  const TextButton csv = draw_text_button(context, "charts.csv", "save CSV", at, false);
  if (csv.pressed) {
    context.commands.push(AskToSave{TextFile{stem + ".csv", draw::chart_csv(shown.picture)}});
  }
  at.x = csv.left - context.px(2.0f);
  const TextButton copy = draw_text_button(context, "charts.copy", "copy CSV", at, false);
  if (copy.pressed)
    context.commands.push(CopyText{draw::chart_csv(shown.picture), shown.title + " as CSV"});
  float buttons_left = copy.left;
  if (chart.quantity == ChartQuantity::error) {
    buttons_left = draw_carry_button(context, view, {copy.left - context.px(2.0f), at.y});
  }

  // As wide as its widest line or the buttons, but no wider than allowed
  const float most = 0.42f * rest.width();
  const float width = std::max(rest.max.x - buttons_left, draw::legend_width(context, entries));
  Rect room{
      {rest.max.x - std::min(width, most), rest.min.y + draw::line_height(font) + context.px(5.0f)},
      {rest.max.x, rest.max.y - draw::line_height(font) - context.px(3.0f)}};
  if (draw::legend_height(context, entries, room.width()) > room.height()) {
    room.min.x = rest.max.x - most;
  }
  context.named_rects.add("charts.legend", room);
  const bool whole = draw::draw_legend(context, room, entries);
  if (whole) context.named_rects.add("charts.legend.whole", room);
  if (!whole && hovered(room)) {
    std::string all;
    for (const draw::LegendEntry& entry : entries) all += entry.label + "\n";
    tooltip(context, all);
  }
  return room.min.x;
}

/// Shows that counting continues, was cancelled or failed, with a button that cancels or retries
/// it.
void draw_progress(const PanelContext& context, const Rect& plot, const ChartProgress& progress,
                   ChartJobs& jobs) {
  const bool slow = progress.busy_for_s > kPatienceSeconds;
  const bool failed = !progress.error.empty();
  if (!slow && !progress.given_up && !failed) return;
  std::string words = fmt::format("modelling… {:.0f} %", 100.0 * progress.share);
  if (progress.given_up) words = "cancelled";
  if (failed && !slow && !progress.given_up) words = progress.error;
  if (progress.stale) words = "previous settings; " + words;
  ImVec2 at{plot.max.x, plot.min.y};
  if (slow || progress.given_up) {
    const char* const label = progress.given_up ? "model again" : "cancel";
    const TextButton button = draw_text_button(context, "charts.cancel", label, at, true);
    if (button.pressed && progress.given_up) jobs.again();
    if (button.pressed && !progress.given_up) jobs.give_up();
    at.x = button.left - 8.0f * context.scale;
  }
  draw::fitted_text(context, context.fonts.small, at, context.theme.warning, words,
                    at.x - plot.min.x, draw::Align::right);
}

/// Draws the notes in lines above the plot: at least one, and as many as leave the plot most of its
/// height. Returns the top of the area below them. Named rectangles: "charts.note.INDEX".
float draw_notes(const PanelContext& context, const Rect& plot,
                 const std::vector<std::vector<std::string>>& notes) {
  const FontRef& font = context.fonts.small;
  const float pitch = draw::line_height(font);
  std::string all;
  for (const auto& wordings : notes) all += (all.empty() ? "" : "\n") + wordings.front();
  Rect line{plot.min, {plot.max.x, plot.min.y + pitch}};
  for (std::size_t n = 0; n < notes.size(); ++n) {
    if (n > 0 && line.max.y > plot.min.y + 0.2f * plot.height()) break;
    draw::fitted_text(context, font, line.min, context.theme.text_dim,
                      draw::label_that_fits(font, notes[n], line.width()), line.width());
    context.named_rects.add(fmt::format("charts.note.{}", n), line);
    if (hovered(line)) tooltip(context, all, line);
    line = {{line.min.x, line.max.y}, {line.max.x, line.max.y + pitch}};
  }
  return line.min.y;
}

class ChartsPanel {
 public:
  void draw(const Snapshot& snapshot, ViewState& view, const PanelContext& context);
  bool busy() const { return busy_; }

 private:
  ChartJobs jobs_;
  bool busy_ = false;  ///< whether the job for the last frame's chart is running
  ChartChoice zoomed_;
  draw::ChartZoom zoom_;  ///< the zoom of the chart that `zoomed_` names
};

void ChartsPanel::draw(const Snapshot& snapshot, ViewState& view, const PanelContext& context) {
  if (!(zoomed_ == shown_chart(view))) zoom_ = {};
  zoomed_ = shown_chart(view);
  ChartProgress progress;
  static const ShownChart kNothingYet{.title = "CHARTS", .picture = draw::Chart{}};
  const ShownChart* const made = jobs_.newest_chart(snapshot.run, view, context, progress);
  busy_ = progress.busy;
  const ShownChart& shown = made != nullptr ? *made : kNothingYet;
  const auto [rest, plot_top] = draw_heading(context, view, shown);
  Rect plot{{rest.min.x, plot_top}, {rest.max.x, rest.max.y + context.px(4.0f)}};
  plot.max.x = draw_side(context, rest, view, shown) - context.px(10.0f);
  plot.min.y = draw_notes(context, plot, shown.notes);
  if (made == nullptr) {
    draw::text(context, context.fonts.small, plot.min, context.theme.text_faint, "modelling…");
  } else {
    const std::string* about = draw::draw_chart(context, plot, shown.picture, zoom_);
    if (about != nullptr) tooltip(context, *about);
  }
  draw_progress(context, plot, progress, jobs_);
}

}  // namespace

Panel make_charts_panel() {
  const auto state = std::make_shared<ChartsPanel>();
  Panel panel{"charts", "CHARTS", Slot::charts, std::bind_front(&ChartsPanel::draw, state)};
  panel.busy = std::bind_front(&ChartsPanel::busy, state);
  return panel;
}

}  // namespace attnscope::app
