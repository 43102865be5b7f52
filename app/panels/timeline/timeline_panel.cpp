#include "app/panels/panels.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "app/draw/canvas.h"
#include "app/draw/format.h"
#include "app/panels/parts/headings.h"
#include "app/panels/parts/snapshot_view.h"
#include "app/panels/timeline/timeline.h"
#include "sim/snapshot/describe_op.h"

namespace attnscope::app {

namespace {

/// The number of a thread block's operations that are visible together: at first, at most and at
/// least. They move with the playhead.
constexpr double kShownAtFirst = 120.0;
constexpr double kMostShown = 480.0;
constexpr double kLeastShown = 8.0;
constexpr std::size_t kMostLanes = 8;

Tensor tensor_of(const TileOp& op) {
  if (op.is_of_barrier()) return op.barrier().tile.tensor;
  return op.dest_count > 0 ? op.dests()[0].tensor : Tensor::Q;
}

/// The visible operations, counted from the start of a thread block.
struct Window {
  Index first = 0;
  Index count = 1;
  float x_of(const Rect& bar, Index local) const {
    return bar.min.x + bar.width() * static_cast<float>(local - first) / static_cast<float>(count);
  }
};

void draw_lane(const Snapshot& snapshot, const std::optional<Thing>& pointed,
               const PanelContext& context, const Lane& lane, const Rect& bar,
               const Window& window) {
  const Theme& theme = context.theme;
  draw::fill(context, bar, mix(theme.card, theme.track, 0.5f), context.px(2.0f));
  const Index length = lane.end - lane.begin;
  if (lane.ops.empty() && length > 0) {
    const FontRef& small = context.fonts.small;
    const Rect inner = bar.shrunk(context.px(6.0f), 0.0f);
    draw::fitted_text(context, small, {inner.min.x, inner.center().y - small.size * 0.5f},
                      theme.text_faint,
                      fmt::format("{} operations, too many to lay out", draw::format_count(length)),
                      inner.width());
    return;
  }
  const Index past =
      std::min({length, window.first + window.count, static_cast<Index>(lane.ops.size())});
  const float unit = bar.width() / static_cast<float>(window.count);
  const float gap = unit >= 4.0f ? 1.0f : 0.0f;
  for (Index local = window.first; local < past; ++local) {
    const TileOp& op = lane.ops[static_cast<std::size_t>(local)];
    if (!lane.shows(op)) continue;
    const Index step = lane.begin + local;
    const ImU32 color = color_of(theme, tensor_of(op));
    const float strength = step == snapshot.step ? 1.0f : (step < snapshot.step ? 0.72f : 0.24f);

    // Draw transfers as full bars, on-chip operations as lower ones, waits and arrivals lowest
    const float inset = bar.height() * (op.moves_bytes()     ? 0.0f
                                        : op.is_of_barrier() ? 0.4f
                                                             : 0.22f);
    const Rect box{{window.x_of(bar, local), bar.min.y + inset},
                   {window.x_of(bar, local + 1) - gap, bar.max.y - inset}};
    draw::fill(context, box, mix(theme.card, color, strength));
    if (step == snapshot.step) {
      draw::outline(context, {{box.min.x - 1, bar.min.y - 2}, {box.max.x + 1, bar.max.y + 2}},
                    theme.highlight, context.px(1.5f));
    }
    const Operation operation{step, static_cast<std::size_t>(snapshot.launch), op};
    if (!pointed || !touches(*pointed, *snapshot.run, operation)) continue;
    const Rect marked{{box.min.x, bar.min.y}, {box.max.x, bar.max.y}};
    draw_pointed(context, marked);
    context.named_rects.add("timeline.pointed", marked);
  }
}

void draw_axis(const PanelContext& context, const TimelineLanes& lanes, const Rect& bars,
               const Window& window) {
  const Theme& theme = context.theme;
  const FontRef& font = context.fonts.small;
  const float y = bars.max.y + context.px(3.0f);
  const std::string more =
      lanes.total() > lanes.lanes().size()
          ? fmt::format("{}–{} of {} · ", lanes.first(), lanes.first() + lanes.lanes().size() - 1,
                        lanes.total())
          : std::string{};
  const std::string name = more + "operation";
  const float name_width = font.measure(name).x;
  const float right = bars.max.x;
  const bool named = name_width < bars.width() * 0.8f;
  if (named) draw::text(context, font, {right, y}, theme.text_faint, name, draw::Align::right);

  // Numbers of operations, up to the name of the axis
  const float limit = named ? right - name_width - context.px(12.0f) : right;
  const Index step = window.count > 60 ? 20 : (window.count > 24 ? 10 : 4);
  for (Index local = (window.first + step - 1) / step * step; local < window.first + window.count;
       local += step) {
    const float x = window.x_of(bars, local);
    const std::string label = std::to_string(local);
    if (x + font.measure(label).x > limit) break;
    context.list->AddLine({x, bars.max.y}, {x, bars.max.y + context.px(3.0f)}, theme.text_faint);
    draw::text(context, font, {x + context.px(2.0f), y}, theme.text_faint, label);
  }
}

void point_at(const Snapshot& snapshot, ViewState& view, const PanelContext& context,
              const Lane& lane, const Rect& bar, const Window& window) {
  if (!hovered(bar)) return;
  const float share = (ImGui::GetIO().MousePos.x - bar.min.x) / bar.width();
  const Index local = window.first + static_cast<Index>(share * static_cast<float>(window.count));
  if (local < 0 || local >= static_cast<Index>(lane.ops.size())) return;
  const TileGrid& grid = snapshot.run->grids[static_cast<std::size_t>(snapshot.launch)];
  const TileOp& op = lane.ops[static_cast<std::size_t>(local)];
  if (!lane.shows(op)) return;
  const auto& lines = launch_of(snapshot).pseudo_code;
  tooltip(context,
          fmt::format("{}: operation {} of the run, {} of this lane\n{}{}\n{}\nclick: go there",
                      lane.label, lane.begin + local, local,
                      view.hides_break ? "" : dropped_prefix(op), describe_op(op, grid),
                      op.line < lines.size() ? lines[op.line].text : std::string_view{}),
          bar);
  point_at_thing(snapshot, view, context,
                 Operation{lane.begin + local, static_cast<std::size_t>(snapshot.launch), op});
}

class TimelinePanel {
 public:
  void draw(const Snapshot& snapshot, ViewState& view, const PanelContext& context);
  bool busy() const { return by_sm_ && sm_timeline_.busy(); }

 private:
  Window zoom(const Snapshot& snapshot, const Rect& bars);

  TimelineLanes lanes_;
  SmTimeline sm_timeline_;
  bool by_sm_ = false;            ///< whether the last frame showed the tab "SMs"
  double shown_ = kShownAtFirst;  ///< operations side by side, in lanes that are long enough
  draw::ZoomedAxis part_;         ///< the visible part of the longest lane
  Index longest_ = 0;             ///< operations of that lane
  Index step_ = -1;               ///< the step in the last frame
};

/// Zooms and scrolls with the wheel; brings the playhead back to the middle when it moves.
Window TimelinePanel::zoom(const Snapshot& snapshot, const Rect& bars) {
  const Index longest = lanes_.longest();
  const auto operations = static_cast<double>(longest);
  const bool moved = longest_ != longest || step_ != snapshot.step;
  if (longest_ != longest) {
    shown_ = kShownAtFirst;
    part_ = {0.0, std::min(shown_ / operations, 1.0)};
  }
  longest_ = longest;
  step_ = snapshot.step;
  for (const Lane& lane : lanes_.lanes()) {
    if (!moved || snapshot.step < lane.begin || snapshot.step >= lane.end) continue;
    const auto local = static_cast<double>(snapshot.step - lane.begin);
    part_.scroll(part_.position(local / operations) - 0.5);
  }
  const draw::ZoomLimits limits{kLeastShown / operations, kMostShown / operations};
  if (draw::zoom_by_wheel(bars, &part_, nullptr, limits)) {
    shown_ = part_.size() * operations;
    const ImGuiIO& io = ImGui::GetIO();
    if (io.KeyCtrl && io.MouseWheel != 0.0f) lanes_.scroll(io.MouseWheel > 0.0f ? -1 : 1);
  }
  Window window;
  window.count = std::max<Index>(std::llround(part_.size() * operations), 1);
  window.first = std::clamp<Index>(std::llround(part_.begin * operations), 0,
                                   std::max<Index>(longest - window.count, 0));
  return window;
}

void TimelinePanel::draw(const Snapshot& snapshot, ViewState& view, const PanelContext& context) {
  const RunInfo& run = *snapshot.run;
  const TileGrid& grid = run.grids[static_cast<std::size_t>(snapshot.launch)];
  const bool one_block = launch_of(snapshot).blocks_per_head(grid) == 1;
  const bool by_agents = launch_of(snapshot).by_agents();
  const std::string order = by_agents   ? "order of the model, not time: agents overlap"
                            : one_block ? "modelled order, one block's outer loop"
                                        : "modelled order of each thread block";
  const std::string heights = " · full height: load or store, lower: on chip";
  const bool shows_sms = view.timeline_tab == TimelineTab::sms;
  const std::string brief = by_agents ? order : "modelled order";
  const std::vector<std::string> wordings =
      shows_sms ? std::vector<std::string>{"SMs over time, model and GPU", "model and GPU", ""}
                : std::vector<std::string>{order + heights, brief + heights, order,
                                           "modelled order", "modelled"};
  const FontRef& title = context.fonts.title;
  const float room = context.rect.width() - title.measure("TIMELINE").x -
                     text_button_width(context, "operations") - text_button_width(context, "SMs") -
                     context.px(50.0f);
  const auto [chosen, rest] = draw_tabbed_header(
      context, "timeline", "TIMELINE", draw::widest_that_fits(title, wordings, room),
      {"operations", "SMs"}, static_cast<int>(view.timeline_tab));
  view.timeline_tab = static_cast<TimelineTab>(chosen);
  by_sm_ = view.timeline_tab == TimelineTab::sms;
  if (by_sm_) return sm_timeline_.draw(snapshot, context, rest);
  const Fonts& fonts = context.fonts;

  // As many lanes as fit, around the one under the playhead
  const float axis = draw::line_height(fonts.small) + context.px(3.0f);
  const float least = fonts.small.size * 1.25f;
  const auto fit = static_cast<std::size_t>(std::max((rest.height() - axis) / least, 1.0f));
  lanes_.update(snapshot, std::min(fit, kMostLanes));
  if (lanes_.lanes().empty()) return;
  const float pitch = std::min((rest.height() - axis) / static_cast<float>(lanes_.lanes().size()),
                               fonts.small.size * 2.6f);
  float label_width = 0.0f;
  for (const Lane& lane : lanes_.lanes()) {
    label_width = std::max(label_width, fonts.small.measure(lane.label).x);
  }
  const float left = rest.min.x + label_width + context.px(10.0f);
  const Rect bars{{left, rest.min.y},
                  {rest.max.x, rest.min.y + pitch * static_cast<float>(lanes_.lanes().size())}};
  const Window window = zoom(snapshot, bars);
  const auto& lanes = lanes_.lanes();  // zoom() may have scrolled them
  float y = rest.min.y;
  for (std::size_t k = 0; k < lanes.size(); ++k) {
    const Lane& lane = lanes[k];
    const float margin = std::max(pitch * 0.12f, 1.0f);
    const Rect bar{{left, y + margin}, {rest.max.x, y + pitch - margin}};
    const bool current = snapshot.step >= lane.begin && snapshot.step < lane.end &&
                         (lane.agent == Agent::block || snapshot.op.agent == lane.agent);
    draw::text(context, fonts.small, {rest.min.x, y + (pitch - fonts.small.size) * 0.5f},
               current ? context.theme.text : context.theme.text_faint, lane.label);
    context.named_rects.add(fmt::format("timeline.lane.{}", lanes_.first() + k), bar);
    draw_lane(snapshot, view.pointed, context, lane, bar, window);
    point_at(snapshot, view, context, lane, bar, window);
    y += pitch;
  }
  draw_axis(context, lanes_, bars, window);
  if (shown_ == kShownAtFirst) return;
  const ImVec2 corner{left - context.px(4.0f), bars.max.y + context.px(5.0f)};
  if (draw_text_button(context, "timeline.fit", "fit", corner, /*lit=*/true).pressed) longest_ = 0;
}

}  // namespace

Panel make_timeline_panel() {
  const auto state = std::make_shared<TimelinePanel>();
  Panel panel{"timeline", "TIMELINE", Slot::timeline, std::bind_front(&TimelinePanel::draw, state)};
  panel.busy = std::bind_front(&TimelinePanel::busy, state);
  return panel;
}

}  // namespace attnscope::app
