#include "app/panels/panels.h"

#include <fmt/core.h>

#include <algorithm>
#include <tuple>

#include "app/draw/canvas.h"
#include "app/jobs/background_job.h"
#include "app/panels/charts/charts.h"
#include "app/panels/charts/roofline_chart.h"
#include "app/panels/parts/headings.h"
#include "app/panels/parts/snapshot_view.h"

namespace attnscope::app {

namespace {

/// Draws the tabs so that they end at `right`; returns the index of the one pressed, and their left
/// edge. Named rectangles: "charts.tab.WORD".
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

/// The room below the heading: of the chart, and of the items beside it.
struct BelowHeading {
  Rect rest;
  float plot_top = 0.0f;
};

/// Title, settings and the topics. Settings that do not fit beside the title are placed under it.
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
  if (const auto topic = draw_tabs(context, at, chart_topics(), topic_of(view.chart))) {
    if (*topic != topic_of(view.chart)) view.chart = charts_of(*topic).front();
  }

  const FontRef& title = context.fonts.title;
  const float left = rect.min.x + 14.0f * context.scale;
  const std::string words = draw::fitted(title, shown.title, at.x - left);
  const float used = title.measure(words).x + 22.0f * context.scale;
  const bool beside = title.measure(shown.subtitle).x <= at.x - left - used;
  const Rect rest = draw_panel_header(context, words, beside ? shown.subtitle : "", {});
  BelowHeading below{rest, rest.min.y};
  if (!beside) {
    float tabs = 0.0f;
    for (const ChartChoice each : charts_of(topic_of(view.chart))) {
      if (context.alone) break;
      tabs += font.measure(tab_word(each)).x + 14.0f * context.scale;
    }
    draw::fitted_text(context, font, rest.min, context.theme.text_dim, shown.subtitle,
                      rest.width() - tabs);
    below.plot_top += draw::line_height(font) + 2.0f * context.scale;
  }
  if (!shown.about.empty() && hovered({rect.min, {at.x, rest.min.y}})) {
    tooltip(context, fmt::format("{} {}\n{}", shown.title, shown.subtitle, shown.about));
  }
  return below;
}

std::vector<draw::LegendEntry> legend_of(const ShownChart& shown) {
  return std::visit([](const auto& chart) { return chart.legend; }, shown.picture);
}

std::string csv_of(const ShownChart& shown) {
  if (const auto* chart = std::get_if<draw::Chart>(&shown.picture)) return draw::chart_csv(*chart);
  return draw::bar_chart_csv(std::get<draw::BarChart>(shown.picture));
}

/// The precision of flash1's O in HBM, for the error chart; returns the button's left edge.
float draw_carry_button(const PanelContext& context, ViewState& view, ImVec2 right) {
  const bool rounded = view.error_carry == Carry::problem;
  const TextButton button =
      draw_text_button(context, "charts.error_carry", "flash1: O rounded in HBM", right, rounded);
  if (button.pressed) view.error_carry = rounded ? Carry::fp32 : Carry::problem;
  return button.left;
}

/// The legend at the right, between the charts of the topic and the buttons; returns its left edge.
float draw_side(const PanelContext& context, const Rect& rest, ViewState& view,
                const ShownChart& shown) {
  const FontRef& font = context.fonts.small;
  const std::vector<draw::LegendEntry> entries = legend_of(shown);

  ImVec2 at{rest.max.x + context.px(6.0f), rest.min.y};
  const auto chosen = draw_tabs(context, at, charts_of(topic_of(view.chart)), view.chart);
  if (chosen) view.chart = *chosen;
  const float tabs_left = at.x;

  at = {rest.max.x + context.px(6.0f), rest.max.y - font.size};
  const std::string stem = fmt::format("attnscope-{}", to_string(view.chart));
  const TextButton save = draw_text_button(context, "charts.save", "PNG", at, false);
  if (save.pressed) context.commands.push(SavePicture{.slot = Slot::charts, .path = stem + ".png"});
  at.x = save.left - context.px(2.0f);
  const TextButton svg = draw_text_button(context, "charts.svg", "SVG", at, false);
  if (svg.pressed) context.commands.push(SavePicture{.slot = Slot::charts, .path = stem + ".svg"});
  at.x = svg.left - context.px(2.0f);
  const TextButton csv = draw_text_button(context, "charts.csv", "save CSV", at, false);
  if (csv.pressed) context.commands.push(SaveText{stem + ".csv", csv_of(shown)});
  at.x = csv.left - context.px(2.0f);
  const TextButton copy = draw_text_button(context, "charts.copy", "copy CSV", at, false);
  if (copy.pressed) context.commands.push(CopyText{csv_of(shown), shown.title + " as CSV"});
  float buttons_left = copy.left;
  if (view.chart == ChartChoice::error) {
    buttons_left = draw_carry_button(context, view, {copy.left - context.px(2.0f), at.y});
  }

  // As wide as its widest line, or as its lines need, if that leaves the larger part to the chart
  const float most = 0.42f * rest.width();
  const float width = std::max(
      {rest.max.x - tabs_left, rest.max.x - buttons_left, draw::legend_width(context, entries)});
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
  return std::min(room.min.x, tabs_left);
}

/// The progress of the wanted chart.
struct Progress {
  bool stale = false;  ///< the chart shown has other settings
  bool given_up = false;
  bool busy = false;
  double busy_for_s = 0.0;
  double share = 0.0;
  std::string error;
};

/// Requests the key from the job, counted by `count` on the GPU description; returns the newest
/// result, nullptr before the first, and the progress of the job.
template <typename Key, typename Value, typename Count>
const Value* ask(BackgroundJob<Key, Value>& job, const Key& key, const GpuDescription& gpu,
                 const Count& count, Progress& progress) {
  if (job.wants(key)) {
    job.start(key, [key, gpu, count](WorkControl& control) { return count(key, gpu, control); });
  }
  const Value* latest = job.latest();
  progress.stale = latest != nullptr && !(*job.latest_key() == key);
  progress.given_up = job.given_up();
  progress.busy = job.busy();
  progress.busy_for_s = job.busy_for_s();
  progress.share = job.progress();
  if (job.error()) progress.error = words(*job.error(), Reader::screen);
  return latest;
}

SweepKey sweep_key(const RunInfo& run, const ViewState& view, const Measurements& measurements) {
  SweepKey key = topic_of(view.chart) == ChartTopic::recorded
                     ? recorded_key(run.resolved(), run.resolved().asked.gpu, measurements)
                     : charted_key(run.resolved(), run.resolved().asked.gpu);
  const auto& pattern = view.choice.block_mask;
  if (pattern && pattern->kind != BlockPattern::Kind::file) key.run.block_mask = *pattern;
  key.run.what_if = run.gpu.what_if;
  const SweptQuantity quantity = swept_quantity(view.chart);
  key.predicts = quantity == SweptQuantity::time || quantity == SweptQuantity::rate;
  return key;
}

/// What a chart is drawn from besides the counts. While it stays the same, so does the chart.
struct ChartSource {
  ChartChoice chart{};
  std::weak_ptr<const RunInfo> run;  // not kept alive by a panel that may be hidden
  const Theme* theme = nullptr;
  int results = 0;  ///< the number of finished counts
  std::size_t recorded = 0, measured = 0;

  bool operator==(const ChartSource& other) const {
    const bool same_run = !run.owner_before(other.run) && !other.run.owner_before(run);
    return same_run && chart == other.chart && theme == other.theme && results == other.results &&
           recorded == other.recorded && measured == other.measured;
  }
};

/// The background counts for the charts, one job per topic.
class ChartJobs {
 public:
  void give_up() {
    std::apply([](auto&... job) { (job.give_up(), ...); }, jobs_);
  }
  void again() {
    std::apply([](auto&... job) { (job.again(), ...); }, jobs_);
  }

  /// Requests the chart that the view selects; returns the newest chart of its topic, nullptr
  /// before the first. It lives until the next call.
  const ShownChart* newest_chart(const std::shared_ptr<const RunInfo>& run, const ViewState& view,
                                 const PanelContext& context, Progress& progress);

 private:
  /// The last chart if it was made from the same source, else a new one from `make()`.
  template <typename Make>
  const ShownChart* made_from(ChartSource source, const Make& make) {
    if (!chart_ || !(source_ == source)) chart_ = make();
    source_ = std::move(source);
    return &*chart_;
  }

  ChartSource source_;
  std::optional<ShownChart> chart_;
  std::tuple<BackgroundJob<SweepKey, SizeSweep>, BackgroundJob<ErrorKey, std::vector<AccuracyCase>>,
             BackgroundJob<TheoremKey, TheoremPoints>,
             BackgroundJob<FusionKey, std::vector<FusionStep>>,
             BackgroundJob<ModelKey, std::vector<ModelCurve>>, BackgroundJob<ResolvedRun, Roofline>>
      jobs_;
};

const ShownChart* ChartJobs::newest_chart(const std::shared_ptr<const RunInfo>& asked_run,
                                          const ViewState& view, const PanelContext& context,
                                          Progress& progress) {
  const RunInfo& run = *asked_run;
  const GpuDescription& gpu = run.gpu;
  const std::string& asked_gpu = run.resolved().asked.gpu;
  const Theme& theme = context.theme;
  const Measurements& runs = context.measurements;
  const ChartTopic topic = topic_of(view.chart);
  auto& [sizes, errors, theorems, fusion, models, rooflines] = jobs_;
  const auto chart = [&](auto& job, const auto& key, const auto& count,
                         const auto& make) -> const ShownChart* {
    const auto* counted = ask(job, key, gpu, count, progress);
    if (counted == nullptr) return nullptr;
    return made_from(
        {view.chart, asked_run, &theme, job.results(), runs.recorded.size(), runs.measured.size()},
        [&] { return make(*job.latest_key(), *counted); });
  };
  if (view.chart == ChartChoice::error) {
    return chart(errors, error_key(run.problem(), run.pass_kind(), view.error_carry), count_errors,
                 [&](const ErrorKey& key, const std::vector<AccuracyCase>& counted) {
                   return error_chart(key, counted, theme);
                 });
  }
  if (topic == ChartTopic::roofline) {
    return chart(rooflines, run.resolved(), predict_roofline,
                 [&](const ResolvedRun&, const Roofline& roofline) {
                   return roofline_chart(roofline, gpu, runs, theme);
                 });
  }
  if (topic == ChartTopic::sizes || topic == ChartTopic::recorded) {
    SweepKey asked = sweep_key(run, view, runs);
    SweepKey predicted = asked;
    predicted.predicts = true;
    // A sweep that predicts has everything that another one has
    if (sizes.latest_key() != nullptr && *sizes.latest_key() == predicted) asked = predicted;
    return chart(sizes, asked, run_size_sweep, [&](const SweepKey&, const SizeSweep& sweep) {
      return size_chart(sweep, view.chart, gpu, runs, theme);
    });
  }
  if (topic == ChartTopic::theorems) {
    TheoremKey asked = theorem_key(*io_axis_of(view.chart), run.pass_kind(), run.problem(), gpu);
    asked.run.gpu = asked_gpu;
    return chart(theorems, asked, count_theorems,
                 [&](const TheoremKey& key, const TheoremPoints& points) {
                   return theorem_chart(key, points, gpu, runs, theme);
                 });
  }
  if (topic == ChartTopic::fusion) {
    FusionKey asked = view.chart == ChartChoice::fusion_figure2
                          ? figure2_key(asked_gpu)
                          : fusion_key(run.problem(), run.tiling(), asked_gpu);
    asked.what_if.sram_bytes = gpu.what_if.sram_bytes;
    return chart(fusion, asked, count_fusion,
                 [&](const FusionKey& key, const std::vector<FusionStep>& steps) {
                   return fusion_chart(key, steps, theme);
                 });
  }
  const bool inference = view.chart == ChartChoice::model_inference;
  return chart(models, ModelKey{inference ? ModelMode::inference : ModelMode::training, asked_gpu},
               count_models, [&](const ModelKey& key, const std::vector<ModelCurve>& curves) {
                 return model_chart(key, curves, gpu, theme);
               });
}

/// Shows that counting continues, was cancelled or failed, with a button that cancels or retries
/// it.
void draw_progress(const PanelContext& context, const Rect& plot, const Progress& progress,
                   ChartJobs& jobs) {
  const bool slow = progress.busy_for_s > kPatienceSeconds;
  const bool failed = !progress.error.empty();
  if (!slow && !progress.given_up && !failed) return;
  std::string words = fmt::format("modelling… {:.0f} %", 100.0 * progress.share);
  if (progress.given_up) words = "given up";
  if (failed && !slow && !progress.given_up) words = progress.error;
  if (progress.stale) words = "of the last settings; " + words;
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

class ChartsPanel {
 public:
  void draw(const Snapshot& snapshot, ViewState& view, const PanelContext& context);
  bool busy() const { return busy_; }

 private:
  ChartJobs jobs_;
  bool busy_ = false;  ///< whether the job of the last frame's chart runs
  ChartChoice zoomed_ = ChartChoice::bytes;
  draw::ChartZoom zoom_;  ///< of that chart
};

void ChartsPanel::draw(const Snapshot& snapshot, ViewState& view, const PanelContext& context) {
  if (zoomed_ != view.chart) zoom_ = {};
  zoomed_ = view.chart;
  Progress progress;
  static const ShownChart kNothingYet{.title = "CHARTS", .picture = draw::Chart{}};
  const ShownChart* const made = jobs_.newest_chart(snapshot.run, view, context, progress);
  busy_ = progress.busy;
  const ShownChart& shown = made != nullptr ? *made : kNothingYet;
  const auto [rest, plot_top] = draw_heading(context, view, shown);
  Rect plot{{rest.min.x, plot_top}, {rest.max.x, rest.max.y + context.px(4.0f)}};
  plot.max.x = draw_side(context, rest, view, shown) - context.px(10.0f);
  if (made == nullptr) {
    draw::text(context, context.fonts.small, rest.min, context.theme.text_faint, "modelling…");
  } else if (const auto* chart = std::get_if<draw::Chart>(&shown.picture)) {
    const draw::ChartPoint* near = draw::draw_chart(context, plot, *chart, zoom_);
    if (near != nullptr) tooltip(context, near->about);
  } else {
    const std::string* about =
        draw::draw_bar_chart(context, plot, std::get<draw::BarChart>(shown.picture), zoom_.x);
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
