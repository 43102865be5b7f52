#include "app/panels/timeline/timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "app/draw/canvas.h"
#include "app/draw/format.h"
#include "app/panels/parts/headings.h"
#include "app/panels/parts/snapshot_view.h"
#include "app/report/measured_trace.h"
#include "app/report/report_text.h"

namespace attnscope::app {

namespace {

/// Blocks narrower than this are drawn without separate steps.
constexpr float kLeastStepPixels = 0.4f;

std::string time_text(Index ps) {
  return draw::format_seconds(static_cast<double>(ps) * 1e-12);
}

/// The headings above and below, the longest wording first; each names the recording's GPU.
std::vector<std::string> headings(const SmRunPair& pair) {
  const KernelTrace& trace = pair.trace;
  const std::string modelled = fmt::format("above: modelled, lower bound on {}, {}", pair.gpu,
                                           time_text(pair.modelled.end_ps));
  const std::string brief =
      fmt::format("above: modelled, lower bound, {}", time_text(pair.modelled.end_ps));
  const std::string& device = trace.header.device.name;
  const std::string_view date = std::string_view(trace.header.date).substr(0, 10);
  const std::string recorded = fmt::format("below: recorded on {}, {}, warm L2, {}", device, date,
                                           time_text(pair.recorded.end_ps));
  const std::string brief_recorded =
      fmt::format("below: recorded on {}, {}", device, time_text(pair.recorded.end_ps));
  const std::string_view launch = launch_words(trace.launch);
  return {fmt::format("{} · {} · {}", launch, modelled, recorded),
          fmt::format("{} · {} · {}", launch, brief, recorded),
          fmt::format("{} · {}", brief, recorded), fmt::format("{} · {}", brief, brief_recorded),
          fmt::format("above: modelled · below: recorded on {}", device)};
}

/// Why this bound is not the ledger's.
constexpr std::string_view kAboutBounds =
    "Lower bound: each SM has an equal share of the datasheet's bandwidth and peak rates, which "
    "its resident thread blocks divide among them.\nThe ledger's lower bound assumes that the "
    "whole GPU works on the pass: it is shorter where SMs stay idle here.";

bool is_block(const SmBlock& block, Index batch, Index head, Index index) {
  return block.batch == batch && block.head == head && block.block == index;
}

/// The recorded block that corresponds to the one under the playhead; nullptr when another problem
/// ran.
const SmBlock* current_block(const Snapshot& snapshot, const SmRunPair& pair) {
  if (!pair.same_run) return nullptr;
  const auto& blocks = pair.recorded.blocks;
  const auto found = std::ranges::find_if(blocks, [&](const SmBlock& block) {
    return is_block(block, snapshot.run->batch, snapshot.run->head, snapshot.block);
  });
  return found == blocks.end() ? nullptr : &*found;
}

/// Data that the parts share in one frame.
struct Frame {
  const Snapshot& snapshot;
  const PanelContext& context;
  Rect bars;  ///< the lanes, without their labels
  Index end_ps = 1;
  draw::ZoomedAxis time = {};        ///< the visible part
  const SmBlock* current = nullptr;  ///< recorded

  float x_of(Index ps) const {
    const double share = static_cast<double>(ps) / static_cast<double>(end_ps);
    return bars.min.x + bars.width() * static_cast<float>(time.position(share));
  }
  bool is_current(const SmBlock& block) const {
    return current != nullptr && is_block(block, current->batch, current->head, current->block);
  }
};

void point_at(const Frame& frame, const SmBlock& block, std::string_view kind, const Rect& rect) {
  if (!hovered(rect)) return;
  const double share = frame.time.share(
      static_cast<double>(ImGui::GetIO().MousePos.x - frame.bars.min.x) / frame.bars.width());
  const Index ps = std::llround(share * static_cast<double>(frame.end_ps));
  std::string text = fmt::format("{}: SM {}, thread block {} of batch {}, head {}\n{} to {}", kind,
                                 block.sm, block.block, block.batch, block.head,
                                 time_text(block.begin_ps), time_text(block.end_ps));
  for (const SmStep& step : block.steps) {
    if (ps < step.begin_ps || ps >= step.end_ps) continue;
    text += fmt::format("\n{} (i = {}, j = {}): {}", step.what, step.i, step.j,
                        time_text(step.end_ps - step.begin_ps));
    break;
  }
  tooltip(frame.context, text, rect);
}

void draw_block(const Frame& frame, const SmBlock& block, const Rect& rect) {
  const Theme& theme = frame.context.theme;
  const bool current = frame.is_current(block);
  const float strength = frame.current == nullptr || current ? 0.8f : 0.4f;
  const float step_width =
      rect.width() / static_cast<float>(std::max<std::size_t>(block.steps.size(), 1));
  if (step_width < kLeastStepPixels) {
    draw::fill(frame.context, rect, mix(theme.card, theme.accent, strength * 0.6f));
  } else {
    for (const SmStep& step : block.steps) {
      if (step.waiting) continue;  // keep the lane's colour: the block is waiting
      const bool here = current && step.i == frame.snapshot.i && step.j == frame.snapshot.j;
      draw::fill(frame.context,
                 {{frame.x_of(step.begin_ps), rect.min.y}, {frame.x_of(step.end_ps), rect.max.y}},
                 mix(theme.card, color_of(theme, step.tensor), here ? 1.0f : strength));
    }
  }
  draw::outline(frame.context, rect, current ? theme.highlight : theme.card_border,
                current ? frame.context.px(1.5f) : 1.0f);
}

void draw_run(const Frame& frame, const SmRun& run, std::string_view kind, Index sm,
              const Rect& bar) {
  const Theme& theme = frame.context.theme;
  draw::fill(frame.context, bar, mix(theme.card, theme.track, 0.5f));
  const float height = bar.height() / static_cast<float>(run.slots);
  if (!frame.time.is_whole()) frame.context.list->PushClipRect(bar.min, bar.max, true);
  for (const SmBlock& block : run.blocks) {
    if (block.sm != sm) continue;
    const float y = bar.min.y + height * static_cast<float>(block.slot);
    const Rect rect{{frame.x_of(block.begin_ps), y}, {frame.x_of(block.end_ps), y + height}};
    if (rect.max.x < bar.min.x || rect.min.x > bar.max.x) continue;
    draw_block(frame, block, rect);
    if (hovered(bar)) point_at(frame, block, kind, rect);
  }
  if (!frame.time.is_whole()) frame.context.list->PopClipRect();
}

void draw_lanes(const Frame& frame, const SmRunPair& pair) {
  if (pair.sms.empty()) return;
  const FontRef& font = frame.context.fonts.small;
  const float least = font.size * 1.5f;
  const auto fit = static_cast<std::size_t>(std::max(frame.bars.height() / least, 1.0f));
  const std::size_t count = std::min(fit, pair.sms.size());
  const float pitch = std::min(frame.bars.height() / static_cast<float>(count), font.size * 4.0f);

  // The lanes around the SM of the block under the playhead
  std::size_t first = 0;
  if (frame.current != nullptr) {
    const auto at = static_cast<std::size_t>(std::ranges::lower_bound(pair.sms, frame.current->sm) -
                                             pair.sms.begin());
    first = std::min(at > count / 2 ? at - count / 2 : 0, pair.sms.size() - count);
  }
  float y = frame.bars.min.y;
  for (std::size_t n = first; n < first + count; ++n, y += pitch) {
    const Index sm = pair.sms[n];
    const bool current = frame.current != nullptr && frame.current->sm == sm;
    draw::text(frame.context, font,
               {frame.context.rect.min.x + frame.context.px(14.0f), y + (pitch - font.size) * 0.5f},
               current ? frame.context.theme.text : frame.context.theme.text_faint,
               fmt::format("SM {}", sm));
    const float margin = std::max(pitch * 0.06f, 1.0f);
    const float middle = y + pitch * 0.5f;
    draw_run(frame, pair.modelled, "modelled", sm,
             {{frame.bars.min.x, y + margin}, {frame.bars.max.x, middle - 0.5f}});
    draw_run(frame, pair.recorded, "recorded", sm,
             {{frame.bars.min.x, middle + 0.5f}, {frame.bars.max.x, y + pitch - margin}});
  }
}

void draw_axis(const Frame& frame, float y) {
  constexpr int kTicks = 4;
  for (int tick = 0; tick <= kTicks; ++tick) {
    const double share = frame.time.share(static_cast<double>(tick) / kTicks);
    const Index ps = std::llround(share * static_cast<double>(frame.end_ps));
    const draw::Align align = tick == 0        ? draw::Align::left
                              : tick == kTicks ? draw::Align::right
                                               : draw::Align::center;
    draw::text(frame.context, frame.context.fonts.small, {frame.x_of(ps), y},
               frame.context.theme.text_faint, ps == 0 ? std::string("time 0") : time_text(ps),
               align);
  }
}

void draw_pair(const Snapshot& snapshot, const PanelContext& context, const Rect& rect,
               const SmRunPair& pair, draw::ZoomedAxis& time) {
  // A line about both runs, the lanes, the axis, a line about the row
  const FontRef& font = context.fonts.small;
  const float line = draw::line_height(font);
  const std::vector<std::string> about = headings(pair);
  draw::text(context, font, rect.min, context.theme.text_dim,
             draw::label_that_fits(font, about, rect.width()));
  const Rect heading{rect.min, {rect.max.x, rect.min.y + line}};
  if (hovered(heading)) {
    tooltip(context, fmt::format("{}\n{}", about.front(), kAboutBounds), heading);
  }
  const std::string row = compare_row(snapshot, pair);
  float bottom = rect.max.y - line;
  if (!row.empty()) {
    draw::fitted_text(context, font, {rect.min.x, bottom}, context.theme.text, row, rect.width());
    bottom -= line;
  }
  const float label_width = font.measure("SM 888").x + context.px(8.0f);
  const Rect bars{{rect.min.x + label_width, rect.min.y + line + context.px(2.0f)},
                  {rect.max.x, bottom}};
  constexpr double kLeastTime = 1e-4;
  draw::zoom_by_wheel(bars, &time, nullptr, {kLeastTime});
  const Frame frame{snapshot, context,
                    bars,     std::max<Index>({pair.modelled.end_ps, pair.recorded.end_ps, 1}),
                    time,     current_block(snapshot, pair)};
  draw_lanes(frame, pair);
  draw_axis(frame, bottom);
}

}  // namespace

std::string other_label(const SmRunPair& pair) {
  return "Not the run on the screen: " + describe(pair.trace);
}

std::string compare_row(const Snapshot& snapshot, const SmRunPair& pair) {
  const SoftmaxRow& model = snapshot.softmax_row;
  if (!pair.same_run || !model.known || model.j < 0) return {};
  const TracedRow* row = find_row(pair.trace, snapshot.run->batch, snapshot.run->head, model.query);
  if (row == nullptr || static_cast<std::size_t>(model.j) >= row->states.size()) return {};
  const kernels::TraceRow& seen = row->states[static_cast<std::size_t>(model.j)];
  std::string text = fmt::format("row {} after column tile {}:", model.query, model.j);
  const auto add = [&text](std::string_view name, const std::optional<double>& modelled,
                           float recorded) {
    text += fmt::format(" {} {} modelled, {} recorded ·", name,
                        modelled ? draw::format_value(*modelled) : "not yet",
                        std::isnan(recorded) ? "unavailable" : draw::format_value(recorded));
  };
  add("m", model.m, seen.m);
  add("l", model.l, seen.l);
  add("alpha", model.alpha, seen.alpha);
  text.resize(text.size() - std::string_view(" ·").size());
  return text;
}

void SmTimeline::draw(const Snapshot& snapshot, const PanelContext& context, const Rect& rect) {
  if (asked_for_ != snapshot.run) asked_for_ = nullptr;
  const SmRunKey key{snapshot.run, snapshot.in_backward() ? PassKind::backward : PassKind::forward,
                     asked_for_ != nullptr};
  if (runs_.wants(key)) {
    time_ = {};
    runs_.start(key, [key](WorkControl&) { return find_sm_run(key); });
  }
  const bool fresh = runs_.latest() != nullptr && *runs_.latest_key() == key;
  if (!fresh) {
    const std::string why = runs_.error() ? "unavailable: " + words(*runs_.error(), Reader::screen)
                                          : std::string("reading recorded traces…");
    draw::wrapped_text(context, context.fonts.small, rect.min, context.theme.text_faint, why,
                       rect.width(), 3);
    return;
  }
  const FoundSmRun& found = *runs_.latest();
  if (!found.pair) return draw_offer(snapshot, context, rect, found);
  const float top = found.pair->same_run ? 0.0f : draw_other_label(context, rect, *found.pair);
  draw_pair(snapshot, context, {{rect.min.x, rect.min.y + top}, rect.max}, *found.pair, time_);
}

void SmTimeline::draw_offer(const Snapshot& snapshot, const PanelContext& context, const Rect& rect,
                            const FoundSmRun& found) {
  const FontRef& font = context.fonts.small;
  const float used = draw::wrapped_text(context, font, rect.min, context.theme.text_dim,
                                        found.why_none, rect.width(), 3);
  std::vector<std::string> labels;
  for (const std::string& offer : found.offers) {
    labels.push_back("Show the recorded trace of " + offer);
  }
  const float padding = context.px(12.0f);
  const std::string label = draw::label_that_fits(font, labels, rect.width() - padding);
  const ImVec2 at{rect.min.x + font.measure(label).x + padding,
                  rect.min.y + used + context.px(8.0f)};
  if (draw_text_button(context, "timeline.other", label, at, true).pressed) {
    asked_for_ = snapshot.run;
  }
}

float SmTimeline::draw_other_label(const PanelContext& context, const Rect& rect,
                                   const SmRunPair& pair) {
  const FontRef& font = context.fonts.small;
  const TextButton hide = draw_text_button(context, "timeline.hide", "hide",
                                           {rect.max.x + context.px(6.0f), rect.min.y}, false);
  if (hide.pressed) asked_for_ = nullptr;
  const float width = hide.left - rect.min.x - context.px(8.0f);
  const std::string label = other_label(pair);
  const std::size_t lines = draw::wrapped(font, label, width).size();
  const Rect room{rect.min, {rect.min.x + width, rect.max.y}};
  context.named_rects.add("timeline.other_label", room);
  return draw::wrapped_text(context, font, rect.min, context.theme.warning, label, width,
                            static_cast<int>(lines));
}

}  // namespace attnscope::app
