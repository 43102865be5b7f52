/// A launch by the model alone, on every SM of the GPU.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "app/draw/canvas.h"
#include "app/draw/format.h"
#include "app/panels/parts/snapshot_view.h"
#include "app/panels/timeline/timeline.h"
#include "app/report/report_text.h"

namespace attnscope::app {

namespace {

std::string time_text(Index ps) {
  return draw::format_seconds(static_cast<double>(ps) * 1e-12);
}

/// The line above, the longest wording first.
std::vector<std::string> headings(const ModelledLaunch& modelled, std::string_view launch,
                                  const GpuDescription& gpu) {
  const std::string blocks =
      fmt::format("{} thread blocks on {} of {} SMs",
                  draw::format_count(static_cast<Index>(modelled.run.blocks.size())),
                  modelled.busy_sms, gpu.sm_count);
  const std::string bound = fmt::format("modelled, lower bound {}", time_text(modelled.run.end_ps));
  return {fmt::format("{} · {} · at most {} at once on an SM · {} on {}", launch_words(launch),
                      blocks, modelled.run.slots, bound, gpu.display_name),
          fmt::format("{} · {} · {}", launch_words(launch), blocks, bound),
          fmt::format("{} · {}", blocks, bound), blocks};
}

/// Where the SMs and the time are in one frame.
struct Lanes {
  Rect bars;           ///< without their labels
  float pitch = 1.0f;  ///< of an SM
  Index end_ps = 1;
  draw::ZoomedAxis time = {};

  float y_of(Index sm) const { return bars.min.y + pitch * static_cast<float>(sm); }
  float x_of(Index ps) const {
    const double share = static_cast<double>(ps) / static_cast<double>(end_ps);
    return bars.min.x + bars.width() * static_cast<float>(time.position(share));
  }
};

void draw_blocks(const Snapshot& snapshot, const PanelContext& context,
                 const ModelledLaunch& modelled, const Lanes& lanes, Index shown_sms) {
  const Theme& theme = context.theme;
  const float margin = lanes.pitch >= 4.0f ? 0.5f : 0.0f;
  const float height = (lanes.pitch - 2.0f * margin) / static_cast<float>(modelled.run.slots);
  const ImU32 other = mix(theme.card, theme.accent, 0.55f);
  context.list->PushClipRect(lanes.bars.min, lanes.bars.max, true);
  for (const SmBlock& block : modelled.run.blocks) {
    if (block.sm >= shown_sms) break;  // ascending
    const float y = lanes.y_of(block.sm) + margin + height * static_cast<float>(block.slot);
    Rect rect{{lanes.x_of(block.begin_ps), y}, {lanes.x_of(block.end_ps), y + height}};
    if (rect.width() > 3.0f) rect.max.x -= 1.0f;  // the next block on this SM is another one
    const bool current = block.batch == snapshot.run->batch && block.head == snapshot.run->head &&
                         block.block == snapshot.block;
    draw::fill(context, rect, current ? theme.highlight : other);
    if (!hovered(rect)) continue;
    tooltip(context,
            fmt::format("modelled: SM {}, thread block {} of batch {}, head {}\n{} to {}", block.sm,
                        block.block, block.batch, block.head, time_text(block.begin_ps),
                        time_text(block.end_ps)),
            rect);
  }
  context.list->PopClipRect();
}

/// Numbers of SMs at the left, as close as they fit, and the time below.
void draw_axes(const PanelContext& context, const Lanes& lanes, Index shown_sms) {
  const FontRef& font = context.fonts.small;
  const ImU32 faint = context.theme.text_faint;
  constexpr Index kSteps[] = {1, 2, 5, 10, 20, 50, 100};
  const auto fits = [&](Index step) {
    return lanes.pitch * static_cast<float>(step) >= font.size * 1.3f;
  };
  const auto* const found = std::ranges::find_if(kSteps, fits);
  const Index step = found != std::end(kSteps) ? *found : shown_sms;
  for (Index sm = 0; sm < shown_sms; sm += step) {
    const float y = lanes.y_of(sm) + (lanes.pitch - font.size) * 0.5f;
    draw::text(context, font, {lanes.bars.min.x - context.px(8.0f), std::max(y, lanes.bars.min.y)},
               faint, fmt::format("SM {}", sm), draw::Align::right);
  }
  constexpr int kTicks = 4;
  for (int tick = 0; tick <= kTicks; ++tick) {
    const double share = lanes.time.share(static_cast<double>(tick) / kTicks);
    const Index ps = std::llround(share * static_cast<double>(lanes.end_ps));
    const draw::Align align = tick == 0        ? draw::Align::left
                              : tick == kTicks ? draw::Align::right
                                               : draw::Align::center;
    draw::text(context, font, {lanes.x_of(ps), lanes.bars.max.y + context.px(3.0f)}, faint,
               ps == 0 ? std::string("time 0") : time_text(ps), align);
  }
}

}  // namespace

void ModelledTimeline::draw(const Snapshot& snapshot, const PanelContext& context,
                            const Rect& rect) {
  const ModelledLaunchKey key{snapshot.run,
                              snapshot.in_backward() ? PassKind::backward : PassKind::forward,
                              std::string(launch_of(snapshot).name)};
  if (job_.wants(key)) {
    time_ = {};
    job_.start(key, [key](WorkControl&) { return modelled_launch(key); });
  }
  const FontRef& font = context.fonts.small;
  const float line = draw::line_height(font);
  const bool fresh = job_.latest() != nullptr && *job_.latest_key() == key;
  if (!fresh) {
    const std::string why = job_.error() ? "unavailable: " + words(*job_.error(), Reader::screen)
                                         : std::string("laying out thread blocks…");
    draw::wrapped_text(context, font, rect.min, context.theme.text_faint, why, rect.width(), 2);
    return;
  }
  const ModelledLaunch& modelled = *job_.latest();
  const GpuDescription& gpu = snapshot.run->gpu;
  const std::vector<std::string> about = headings(modelled, key.launch, gpu);
  draw::text(context, font, rect.min, context.theme.text_dim,
             draw::label_that_fits(font, about, rect.width()));
  const float label_width = font.measure("SM 888").x + context.px(8.0f);
  const Rect bars{{rect.min.x + label_width, rect.min.y + line + context.px(2.0f)},
                  {rect.max.x, rect.max.y - line - context.px(3.0f)}};
  if (bars.height() < line) return;

  // All SMs, or as many as can be told apart
  constexpr float kLeastPitch = 1.5f;
  const auto fit = static_cast<Index>(bars.height() / kLeastPitch);
  const Index shown_sms = std::min(gpu.sm_count, std::max<Index>(fit, 1));
  const float pitch = std::min(bars.height() / static_cast<float>(shown_sms), font.size * 2.0f);
  constexpr double kLeastTime = 1e-4;
  draw::zoom_by_wheel(bars, &time_, nullptr, {kLeastTime});
  const Lanes lanes{bars, pitch, std::max<Index>(modelled.run.end_ps, 1), time_};
  const Rect used{bars.min, {bars.max.x, lanes.y_of(shown_sms)}};
  draw::fill(context, used, mix(context.theme.card, context.theme.track, 0.5f));
  draw_blocks(snapshot, context, modelled, lanes, shown_sms);
  draw_axes(context, lanes, shown_sms);
  context.named_rects.add("timeline.modelled", used);
}

}  // namespace attnscope::app
