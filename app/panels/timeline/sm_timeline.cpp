#include "app/panels/timeline/timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "app/draw/canvas.h"
#include "app/draw/format.h"
#include "app/draw/tooltip.h"
#include "app/draw/wordings.h"
#include "app/panels/parts/headings.h"
#include "app/panels/parts/snapshot_view.h"
#include "app/panels/timeline/sm_lane.h"

namespace attnscope::app {

namespace {

/// The block that both runs highlight: the picked one, else the one under the playhead if the pair
/// belongs to the run on the screen.
std::optional<BlockId> current_block(const Snapshot& snapshot, const SmRunPair& pair,
                                     const std::optional<BlockId>& picked) {
  if (picked) return picked;
  if (!pair.same_run || launch_of(snapshot).name != pair.launch) return std::nullopt;
  return BlockId{snapshot.run->batch, snapshot.run->head, snapshot.block};
}

/// Data that the parts share in one frame.
struct Frame {
  const PanelContext& context;
  SmTimeAxis axis;
  SmHighlight highlight;
  std::optional<BlockId> clicked = {};
};

void point_at(Frame& frame, const SmBlock& block, std::string_view kind, const Rect& rect) {
  if (ImGui::IsMouseClicked(ImGuiMouseButton_Left)) {
    frame.clicked = BlockId{block.batch, block.head, block.block};
  }
  const Index ps = frame.axis.ps_at(ImGui::GetIO().MousePos.x);
  std::string text = fmt::format("{}: SM {}, thread block {} of batch {}, head {}\n{} to {}", kind,
                                 block.sm, block.block, block.batch, block.head,
                                 sm_time_text(block.begin_ps), sm_time_text(block.end_ps));
  if (block.steps.empty()) {
    text += fmt::format("\nsteps from {} to {}", sm_time_text(block.first_step_ps),
                        sm_time_text(block.last_step_end_ps));
  }
  for (const SmStep& step : block.steps) {
    if (ps < step.begin_ps || ps >= step.end_ps) continue;
    text += fmt::format("\n{} (i = {}, j = {}): {}", step.what, step.i, step.j,
                        sm_time_text(step.end_ps - step.begin_ps));
    break;
  }
  tooltip(frame.context, text + "\nclick: pick this block in both runs", rect);
}

void draw_run(Frame& frame, const SmRun& run, std::string_view kind, Index sm, const Rect& bar) {
  draw_sm_lane(frame.context, frame.axis, run, sm, bar, frame.highlight);
  if (!hovered(bar)) return;
  for (const SmBlock& block : run.of_sm(sm)) {
    const Rect rect = sm_block_rect(frame.axis, run, block, bar);
    if (rect.contains(ImGui::GetIO().MousePos)) point_at(frame, block, kind, rect);
  }
}

/// A lane of `pitch` pixels for each of these SMs.
struct LanePlan {
  std::vector<Index> sms;
  float pitch = 0.0f;
  bool can_show_all = false;  ///< true: all SMs have room, but only in thin lanes
};

/// The SM of the current block in each run.
std::vector<Index> sms_of_current(const Frame& frame, const SmRunPair& pair) {
  std::vector<Index> sms;
  for (const SmRun* run : {&pair.recorded, &pair.upper}) {
    const SmBlock* block = frame.highlight.block ? run->find(*frame.highlight.block) : nullptr;
    if (block != nullptr) sms.push_back(block->sm);
  }
  return sms;
}

/// `count` SMs around the first SM in `current`.
std::vector<Index> shown_sms(const std::vector<Index>& current, Index count, Index all) {
  const Index middle = current.empty() ? 0 : current.front();
  std::vector<Index> shown(static_cast<std::size_t>(count));
  std::iota(shown.begin(), shown.end(), std::clamp<Index>(middle - count / 2, 0, all - count));
  if (current.size() == 2 && count > 1 && std::ranges::find(shown, current[1]) == shown.end()) {
    (current[1] < shown.front() ? shown.front() : shown.back()) = current[1];
  }
  return shown;
}

/// Plans thin lanes for all SMs, or thick ones for the current block's SMs and those around them.
LanePlan plan_lanes(const Frame& frame, const SmRunPair& pair, bool shows_all) {
  const float font = frame.context.fonts.small.size;
  const bool both = pair.trace.has_value();
  const float height = frame.axis.bars.height();
  const float thick = font * (both ? 1.5f : 1.1f);
  const float thin = frame.context.px(both ? 4.0f : 2.5f);
  const float of_all = height / static_cast<float>(pair.sm_count);
  LanePlan plan;
  plan.can_show_all = of_all >= thin && of_all < thick;
  const bool all = of_all >= thick || (plan.can_show_all && shows_all);
  const Index fit = std::clamp<Index>(static_cast<Index>(height / thick), 1, pair.sm_count);
  plan.sms = shown_sms(sms_of_current(frame, pair), all ? pair.sm_count : fit, pair.sm_count);
  plan.pitch = std::min(height / static_cast<float>(plan.sms.size()), font * (both ? 4.0f : 2.5f));
  return plan;
}

/// Draws "SM 31" beside the lanes: each label that fits, and always the current block's SM.
void draw_lane_labels(const Frame& frame, const LanePlan& plan, const std::vector<Index>& current) {
  const FontRef& font = frame.context.fonts.small;
  const float room = font.size * 1.05f;
  constexpr std::size_t kSteps[] = {1, 2, 4, 8, 16, 32, 64};
  std::size_t every = 1;
  for (const std::size_t step : kSteps) {
    every = step;
    if (plan.pitch * static_cast<float>(step) >= room) break;
  }
  std::vector<std::size_t> labelled;
  const auto add = [&](std::size_t lane) {
    const bool free = std::ranges::none_of(labelled, [&](std::size_t other) {
      const std::size_t apart = lane > other ? lane - other : other - lane;
      return static_cast<float>(apart) * plan.pitch < room;
    });
    if (free) labelled.push_back(lane);
  };
  for (const Index sm : current) {
    const auto found = std::ranges::find(plan.sms, sm);
    if (found != plan.sms.end()) add(static_cast<std::size_t>(found - plan.sms.begin()));
  }
  const std::size_t lit = labelled.size();
  for (std::size_t lane = 0; lane < plan.sms.size(); lane += every) add(lane);
  for (std::size_t k = 0; k < labelled.size(); ++k) {
    const float middle =
        frame.axis.bars.min.y + plan.pitch * (static_cast<float>(labelled[k]) + 0.5f);
    draw::text(frame.context, font,
               {frame.context.rect.min.x + frame.context.px(14.0f), middle - font.size * 0.5f},
               k < lit ? frame.context.theme.text : frame.context.theme.text_faint,
               fmt::format("SM {}", plan.sms[labelled[k]]));
  }
}

void draw_lanes(Frame& frame, const SmRunPair& pair, const LanePlan& plan) {
  const bool both = pair.trace.has_value();
  const float margin = std::max(plan.pitch * 0.06f, 0.5f);
  float y = frame.axis.bars.min.y;
  for (const Index sm : plan.sms) {
    const float end = y + plan.pitch - margin;
    const float middle = both ? y + plan.pitch * 0.5f : end;
    const float gap = both ? 0.5f : 0.0f;
    const Rect upper{{frame.axis.bars.min.x, y + margin}, {frame.axis.bars.max.x, middle - gap}};
    frame.context.named_rects.add(fmt::format("timeline.sm.{}.predicted", sm), upper);
    draw_run(frame, pair.upper, upper_word(pair.kind), sm, upper);
    y += plan.pitch;
    if (!both) continue;
    const Rect lower{{frame.axis.bars.min.x, middle + gap}, {frame.axis.bars.max.x, end}};
    frame.context.named_rects.add(fmt::format("timeline.sm.{}.recorded", sm), lower);
    draw_run(frame, pair.recorded, "recorded", sm, lower);
  }
  draw_lane_labels(frame, plan, sms_of_current(frame, pair));
}

void draw_axis(const Frame& frame, float y) {
  const FontRef& font = frame.context.fonts.small;
  const auto time_at = [&](int tick, int ticks) {
    const double share = frame.axis.shown.share(static_cast<double>(tick) / ticks);
    return static_cast<Index>(std::llround(share * static_cast<double>(frame.axis.end_ps)));
  };
  const auto label_of = [](Index ps) { return ps == 0 ? std::string("time 0") : sm_time_text(ps); };

  // As many ticks as fit
  int ticks = 4;
  const auto room_needed = [&] {
    float widest = 0.0f;
    for (int tick = 0; tick <= ticks; ++tick) {
      widest = std::max(widest, font.measure(label_of(time_at(tick, ticks))).x);
    }
    return (widest + font.size) * (static_cast<float>(ticks) + 0.5f);
  };
  while (ticks > 1 && room_needed() > frame.axis.bars.width()) ticks /= 2;
  for (int tick = 0; tick <= ticks; ++tick) {
    const Index ps = time_at(tick, ticks);
    const draw::Align align = tick == 0       ? draw::Align::left
                              : tick == ticks ? draw::Align::right
                                              : draw::Align::center;
    draw::text(frame.context, font, {frame.axis.x_of(ps), y}, frame.context.theme.text_faint,
               label_of(ps), align);
  }
}

/// Whether counters or the time of exactly this run were recorded.
bool is_recorded(const RunInfo& run, const Measurements& measurements) {
  const MeasuredRun* seen = measurements.find(run.totals, run.gpu);
  return seen != nullptr && difference(run.totals, run.gpu, seen->row, seen->provenance.on).none();
}

std::vector<std::string> offer_labels(const FoundSmRun& found) {
  std::vector<std::string> labels;
  for (const std::string& offer : found.offers) {
    labels.push_back("Show the recorded trace of " + offer);
  }
  labels.emplace_back("Show another trace");
  return labels;
}

/// Draws words about both runs so that they end at `bottom`: in as many lines as leave half of the
/// height to the lanes; leaves out the last parts of words that do not fit. Returns the height
/// used.
float draw_below_lanes(const PanelContext& context, const Rect& rect, float bottom,
                       const std::string& words) {
  constexpr std::string_view kSeparators[] = {" · ", "; ", ", "};
  const FontRef& font = context.fonts.small;
  const float line = draw::line_height(font);
  const int most = std::max(static_cast<int>((bottom - rect.center().y) / line), 1);
  const std::vector<std::string> wordings = draw::wordings_of(words, kSeparators);
  const std::string shown = draw::wording_in_lines(font, wordings, rect.width(), most);
  const std::size_t lines = draw::wrapped(font, shown, rect.width()).size();
  const float height = static_cast<float>(lines) * line;
  draw::draw_wording(context, font, {rect.min.x, bottom - height}, context.theme.text, wordings,
                     rect.width(), most);
  return height;
}

/// Shows the whole label in a tooltip while the mouse is over the button whose label is shorter.
void explain_label(const PanelContext& context, const std::string& whole,
                   const std::string& shown) {
  const std::optional<Rect> button = context.named_rects.find("timeline.other");
  if (shown != whole && button) draw::explain_shortened(context.fonts.small, whole, *button);
}

}  // namespace

void SmTimeline::draw(const Snapshot& snapshot, const PanelContext& context, const Rect& rect) {
  const SearchKey key{{snapshot.run},
                      snapshot.in_backward() ? PassKind::backward : PassKind::forward,
                      asked_for_ == RunOfWork{snapshot.run}};
  if (runs_.wants(key)) {
    time_ = {};
    picked_.reset();
    const SmRunKey search{snapshot.run, key.pass, key.other};
    runs_.start(key, [waiting = search](WorkControl& control) mutable {
      const SmRunKey asked = std::exchange(waiting, {});  // the run is released afterwards
      return find_sm_run(asked, &control.cancel_flag());
    });
  }
  const bool fresh = runs_.latest() != nullptr && *runs_.latest_key() == key;
  if (!fresh) {
    const std::string why = runs_.error() ? "unavailable: " + words(*runs_.error(), Reader::screen)
                                          : std::string("predicting…");
    const FontRef& font = context.fonts.small;
    draw::draw_wording(context, font, rect.min, context.theme.text_faint,
                       draw::wordings_of(why, "; "), rect.width(),
                       static_cast<int>(rect.height() / draw::line_height(font)));
    return;
  }
  const FoundSmRun& found = *runs_.latest();
  if (!found.pair) return draw_offer(snapshot, context, rect, found);
  Rect room = rect;
  if (!found.pair->same_run) room.min.y += draw_other_label(context, rect, *found.pair);
  if (!found.offers.empty()) room.max.y = draw_other_offer(snapshot, context, rect, found);
  draw_pair(snapshot, context, room, *found.pair);
}

/// Draws a button for another run's trace in the last line; returns its top.
float SmTimeline::draw_other_offer(const Snapshot& snapshot, const PanelContext& context,
                                   const Rect& rect, const FoundSmRun& found) {
  const FontRef& font = context.fonts.small;
  const float top = rect.max.y - draw::line_height(font);
  const float padding = context.px(12.0f);
  const std::vector<std::string> labels = offer_labels(found);
  const float half = 0.62f * rect.width();
  const float room = half - padding;
  const std::string label = draw::label_that_fits(font, labels, room);
  const TextButton button = draw_text_button(context, "timeline.other", label,
                                             {rect.max.x + context.px(6.0f), top}, false);
  if (button.pressed) asked_for_ = {snapshot.run};
  explain_label(context, labels.front(), label);
  std::vector<std::string> reasons = draw::wordings_of(found.why_none, ": ");
  reasons.emplace_back("No trace recorded.");
  if (is_recorded(*snapshot.run, context.measurements)) {
    reasons = {"Counters and time of this run were recorded, but no trace.",
               "Recorded: counters and time, no trace.", "No trace recorded."};
  }
  draw::draw_wording(context, font, {rect.min.x, top}, context.theme.text_faint, reasons,
                     button.left - rect.min.x - context.px(8.0f));
  return top;
}

void SmTimeline::draw_pair(const Snapshot& snapshot, const PanelContext& context, const Rect& rect,
                           const SmRunPair& pair) {
  // From top to bottom: a line about both runs, the lanes, the axis, the legend, lines about block
  // and row
  const FontRef& font = context.fonts.small;
  const float line = draw::line_height(font);
  const std::optional<BlockId> current = current_block(snapshot, pair, picked_);
  float bottom = rect.max.y - line;
  const auto add_lines = [&](const std::string& words) {
    if (!words.empty()) bottom -= draw_below_lanes(context, rect, bottom + line, words);
  };
  add_lines(compare_row(snapshot, pair));
  if (current) add_lines(compare_block(pair, *current));
  constexpr float kLeastLines = 7.0f;  // lower lanes need the room of the legend
  const auto legend = bottom - rect.min.y < kLeastLines * line
                          ? std::vector<draw::LegendEntry>()
                          : sm_legend(context, pair, current.has_value(), rect.width());
  if (!legend.empty()) {
    const Rect place{{rect.min.x, bottom}, {rect.max.x, bottom + line}};
    draw::draw_legend(context, place, legend);
    context.named_rects.add("timeline.legend", place);
    bottom -= line;
  }
  const float label_width = font.measure("SM 888").x + context.px(8.0f);
  const Rect bars{{rect.min.x + label_width, rect.min.y + line + context.px(2.0f)},
                  {rect.max.x, bottom}};
  constexpr double kLeastTime = 1e-4;
  draw::zoom_by_wheel(bars, &time_, nullptr, {kLeastTime});
  Frame frame{context,
              {bars, std::max<Index>({pair.upper.end_ps, pair.recorded.end_ps, 1}), time_},
              {current, snapshot.i, snapshot.j}};
  const LanePlan plan = plan_lanes(frame, pair, shows_all_);
  float heading_end = rect.max.x;
  if (plan.can_show_all) {
    const std::string label =
        shows_all_ ? "taller lanes" : fmt::format("all {} SMs", pair.sm_count);
    const TextButton button = draw_text_button(context, "timeline.all_sms", label,
                                               {rect.max.x + context.px(6.0f), rect.min.y}, false);
    if (button.pressed) shows_all_ = !shows_all_;
    heading_end = button.left - context.px(8.0f);
  }
  const std::vector<std::string> titles = sm_headings(pair);
  const float title_room = heading_end - rect.min.x;
  draw::text(context, font, rect.min, context.theme.text_dim,
             draw::label_that_fits(font, titles, title_room));
  const Rect heading{rect.min, {heading_end, rect.min.y + line}};
  if (hovered(heading)) {
    tooltip(context, fmt::format("{}\n{}", titles.front(), about_upper(pair.kind)), heading);
  }
  draw_lanes(frame, pair, plan);
  draw_axis(frame, bottom);
  if (!frame.clicked) return;
  const bool again = picked_ && pair.upper.find(*picked_) == pair.upper.find(*frame.clicked);
  picked_ = again ? std::nullopt : frame.clicked;
}

void SmTimeline::draw_offer(const Snapshot& snapshot, const PanelContext& context, const Rect& rect,
                            const FoundSmRun& found) {
  const FontRef& font = context.fonts.small;
  const float used = draw::wrapped_text(context, font, rect.min, context.theme.text_dim,
                                        found.why_none, rect.width(), 3);
  const std::vector<std::string> labels = offer_labels(found);
  const float padding = context.px(12.0f);
  const float room = rect.width() - padding;
  const std::string label = draw::label_that_fits(font, labels, room);
  const ImVec2 at{rect.min.x + font.measure(label).x + padding,
                  rect.min.y + used + context.px(8.0f)};
  if (draw_text_button(context, "timeline.other", label, at, true).pressed) {
    asked_for_ = {snapshot.run};
  }
  explain_label(context, labels.front(), label);
}

float SmTimeline::draw_other_label(const PanelContext& context, const Rect& rect,
                                   const SmRunPair& pair) {
  const FontRef& font = context.fonts.small;
  const TextButton hide = draw_text_button(context, "timeline.hide", "hide",
                                           {rect.max.x + context.px(6.0f), rect.min.y}, false);
  if (hide.pressed) asked_for_ = {};
  const float width = hide.left - rect.min.x - context.px(8.0f);
  const std::string label = other_label(pair);
  const std::size_t lines = draw::wrapped(font, label, width).size();
  const Rect room{rect.min, {rect.min.x + width, rect.max.y}};
  context.named_rects.add("timeline.other_label", room);
  return draw::wrapped_text(context, font, rect.min, context.theme.warning, label, width,
                            static_cast<int>(lines));
}

}  // namespace attnscope::app
