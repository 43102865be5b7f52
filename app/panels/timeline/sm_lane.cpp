#include "app/panels/timeline/sm_lane.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace attnscope::app {

namespace {

/// Blocks whose steps are narrower than this on average are drawn without separate steps.
constexpr float kLeastStepPixels = 0.4f;
/// Blocks and rows smaller than this are drawn without a gap to the next one.
constexpr float kLeastWithGapPixels = 4.0f;
constexpr float kGapPixels = 1.0f;
/// The strength of a tensor's colour in a recorded step of a lit block, and of a dimmed one.
constexpr float kLitStep = 0.9f;
constexpr float kDimmedStep = 0.5f;
constexpr ImU32 kNothing = 0;  ///< not drawn, so that the panel's card shows through

/// A row of pixels, filled from left to right: each pixel once, neighbours of the same colour
/// together.
class Strip {
 public:
  Strip(const draw::Canvas& canvas, float left, float right, float top, float bottom, ImU32 ground)
      : canvas_(canvas),
        top_(top),
        bottom_(bottom),
        right_(right),
        ground_(ground),
        begin_(left),
        end_(left) {}

  /// Fills up to the pixel that `to` is in. Pixels that have been filled are not filled again.
  void fill(float from, float to, ImU32 color) {
    const float begin = pixel(from);
    const float end = pixel(to);
    if (end <= end_ || end <= begin) return;
    if (begin > end_) extend(begin, ground_);
    extend(end, color);
  }
  void finish() {
    if (right_ > end_) extend(right_, ground_);
    flush();
  }

 private:
  float pixel(float x) const { return std::round(std::clamp(x, begin_, right_)); }
  void extend(float end, ImU32 color) {
    if (color != color_) flush();
    color_ = color;
    end_ = end;
  }
  void flush() {
    if (end_ > begin_ && color_ != kNothing) {
      draw::fill(canvas_, {{begin_, top_}, {end_, bottom_}}, color_);
    }
    begin_ = end_;
  }

  draw::Canvas canvas_;
  float top_, bottom_, right_;
  ImU32 ground_;
  float begin_;  ///< where the pixels that are not drawn yet begin
  float end_;    ///< where they end
  ImU32 color_ = kNothing;
};

/// The blocks of one slot, with gaps to the next block and to the next row where there is room.
class SlotRow {
 public:
  SlotRow(const draw::Canvas& canvas, const Rect& row, bool with_gap)
      : canvas_(canvas),
        gap_(with_gap ? kGapPixels : 0.0f),
        inside_(canvas, row.min.x, row.max.x, row.min.y, row.max.y - gap_, ground()),
        below_(canvas, row.min.x, row.max.x, row.max.y - gap_, row.max.y, ground()) {}

  void add(const SmTimeAxis& axis, const SmBlock& block, const SmHighlight& highlight) {
    const float left = axis.x_of(block.begin_ps);
    const float right = axis.x_of(block.end_ps);
    const bool narrow = right - left < kLeastWithGapPixels;
    const float inner = narrow ? right : right - kGapPixels;
    add_inside(axis, block, highlight, left, inner, narrow);
    if (!narrow) inside_.fill(inner, right, kNothing);
    if (gap_ > 0.0f) below_.fill(left, right, kNothing);
  }
  void finish() {
    inside_.finish();
    if (gap_ > 0.0f) below_.finish();
  }

 private:
  ImU32 ground() const { return sm_colors(canvas_.theme, false).idle; }

  void add_inside(const SmTimeAxis& axis, const SmBlock& block, const SmHighlight& highlight,
                  float left, float right, bool narrow) {
    const Theme& theme = canvas_.theme;
    const bool current = highlight.block && block.is(*highlight.block);
    const bool dimmed = highlight.block && !current;
    const SmColors colors = sm_colors(theme, dimmed);
    const auto steps = static_cast<float>(block.steps.size());
    if (block.steps.empty() ? narrow : right - left < kLeastStepPixels * steps) {
      inside_.fill(left, right, colors.steps);
      return;
    }
    if (block.steps.empty()) {
      const float first = std::min(axis.x_of(block.first_step_ps), right);
      const float last = std::min(axis.x_of(block.last_step_end_ps), right);
      inside_.fill(left, first, colors.waiting);
      inside_.fill(first, last, colors.steps);
      inside_.fill(last, right, colors.waiting);
      return;
    }
    for (const SmStep& step : block.steps) {
      if (step.waiting) continue;  // keep the lane's colour: the block is waiting
      const bool here = current && step.i == highlight.i && step.j == highlight.j;
      const float strength = dimmed ? kDimmedStep : kLitStep;
      inside_.fill(axis.x_of(step.begin_ps), std::min(axis.x_of(step.end_ps), right),
                   mix(theme.card, color_of(theme, step.tensor), here ? 1.0f : strength));
    }
  }

  draw::Canvas canvas_;
  float gap_;
  Strip inside_;
  Strip below_;
};

}  // namespace

SmColors sm_colors(const Theme& theme, bool dimmed) {
  const float strength = dimmed ? 0.85f : 1.0f;
  return {.steps = mix(theme.card, theme.accent, strength),
          .waiting = mix(theme.card, theme.accent, strength * 0.5f),
          .idle = mix(theme.card, theme.track, 0.25f)};
}

std::vector<draw::LegendEntry> sm_legend(const draw::Canvas& canvas, const SmRunPair& pair,
                                         bool highlights, float width) {
  const SmColors colors = sm_colors(canvas.theme, highlights);
  const std::string_view steps = pair.trace ? "predicted: steps" : "steps of a block";
  using enum draw::LegendEntry::Sample;
  std::vector<draw::LegendEntry> entries = {{std::string(steps), colors.steps, surface},
                                            {"waits for tiles or stores", colors.waiting, surface},
                                            {"idle SM", colors.idle, surface}};
  if (highlights) entries.push_back({"this block", canvas.theme.highlight, line});
  if (pair.trace) entries.push_back({"recorded: colour of the tensor", 0, none});
  const auto fits = [&] {
    return draw::legend_height(canvas, entries, width) <= 1.01f * canvas.fonts.small.size;
  };
  if (!fits()) entries[1].label = "waits";
  if (!fits() && pair.trace) entries.back().label = "recorded: tensors";
  if (!fits()) entries.clear();
  return entries;
}

float SmTimeAxis::x_of(Index ps) const {
  const double share = static_cast<double>(ps) / static_cast<double>(end_ps);
  return bars.min.x + bars.width() * static_cast<float>(shown.position(share));
}

Index SmTimeAxis::ps_at(float x) const {
  const double share = shown.share(static_cast<double>(x - bars.min.x) / bars.width());
  return std::llround(share * static_cast<double>(end_ps));
}

Rect sm_block_rect(const SmTimeAxis& axis, const SmRun& run, const SmBlock& block,
                   const Rect& bar) {
  const float height = bar.height() / static_cast<float>(run.slots);
  const float y = bar.min.y + height * static_cast<float>(block.slot);
  return {{axis.x_of(block.begin_ps), y}, {axis.x_of(block.end_ps), y + height}};
}

void draw_sm_lane(const draw::Canvas& canvas, const SmTimeAxis& axis, const SmRun& run, Index sm,
                  const Rect& bar, const SmHighlight& highlight) {
  const float height = bar.height() / static_cast<float>(run.slots);
  std::vector<SlotRow> rows;
  rows.reserve(static_cast<std::size_t>(run.slots));
  for (Index slot = 0; slot < run.slots; ++slot) {
    const float top = bar.min.y + height * static_cast<float>(slot);
    const Rect row{{std::round(bar.min.x), std::round(top)},
                   {std::round(bar.max.x), std::round(top + height)}};
    rows.emplace_back(canvas, row, height >= kLeastWithGapPixels && slot + 1 < run.slots);
  }
  const SmBlock* outlined = nullptr;
  for (const SmBlock& block : run.of_sm(sm)) {
    rows[static_cast<std::size_t>(block.slot)].add(axis, block, highlight);
    if (highlight.block && block.is(*highlight.block)) outlined = &block;
  }
  for (SlotRow& row : rows) row.finish();
  if (outlined == nullptr) return;
  const Rect room = bar.shrunk(-canvas.px(2.0f), -canvas.px(2.0f));  // for the width of the outline
  canvas.list->PushClipRect(room.min, room.max, true);
  draw::outline(canvas, sm_block_rect(axis, run, *outlined, bar), canvas.theme.highlight,
                canvas.px(1.5f));
  canvas.list->PopClipRect();
}

}  // namespace attnscope::app
