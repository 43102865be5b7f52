/// The parts of a predicted time as a bar, to scale, with a legend.

#include <fmt/core.h>

#include <algorithm>

#include "app/draw/format.h"
#include "app/panels/ledger/ledger_panel.h"
#include "app/panels/parts/headings.h"
#include "app/panels/parts/snapshot_view.h"

namespace attnscope::app {

namespace {

/// Parts with a smaller share are left out of the bar's legend and line of text.
constexpr double kLeastPercent = 0.5;

struct BarPart {
  TimePart part = TimePart::steps;
  double seconds = 0.0;
  double percent = 0.0;
};

/// The parts that take time, in the order of the bar.
std::vector<BarPart> bar_parts(const TimePrediction& time) {
  const PartSeconds seconds = time.parts();
  std::vector<BarPart> parts;
  for (std::size_t n = 0; n < kTimeParts; ++n) {
    if (!(seconds[n] > 0)) continue;
    parts.push_back({static_cast<TimePart>(n), seconds[n], 100.0 * seconds[n] / time.seconds});
  }
  return parts;
}

std::string_view meaning(TimePart part) {
  switch (part) {
    case TimePart::overhead:
      return "launching the kernels, before any SM starts work";
    case TimePart::steps:
      return "SMs work on tiles; loads and matrix products overlap as in the calibration";
    case TimePart::waiting:
      return "all thread blocks of an SM wait for their first tiles or last stores";
    case TimePart::idle:
      return "SMs without a thread block: at the end of a launch, or when there are few blocks";
    case TimePart::l2:
      return "the bandwidth of L2 is the limit";
    case TimePart::dram:
      return "the bandwidth of DRAM is the limit";
  }
  return "";
}

std::string legend_text(const BarPart& part) {
  return fmt::format("{} {:.0f} %", part_words(part.part), part.percent);
}

std::string in_words(const BarPart& part) {
  return fmt::format("{} {:.1f} %, {} modelled: {}", part_words(part.part), part.percent,
                     draw::format_seconds(part.seconds), meaning(part.part));
}

/// Fills a part of the bar; a pattern means that SMs wait or are idle.
void fill_part(const PanelContext& context, const Rect& rect, TimePart part) {
  const Theme& theme = context.theme;
  switch (part) {
    case TimePart::overhead:
      return draw::fill(context, rect, theme.text_faint);
    case TimePart::steps:
      return draw::fill(context, rect, theme.accent);
    case TimePart::waiting:
      draw::fill(context, rect, theme.track);
      return draw::hatch(context, rect, theme.accent, context.px(5.0f));
    case TimePart::idle:
      draw::fill(context, rect, theme.track);
      return draw::dots(context, rect, theme.text_faint, context.px(5.0f));
    case TimePart::l2:
      return draw::fill(context, rect, theme.good);
    case TimePart::dram:
      return draw::fill(context, rect, theme.warning);
  }
}

void draw_bar(const PanelContext& context, const std::vector<BarPart>& parts, const Rect& bar) {
  float left = bar.min.x;
  double percent = 0.0;
  for (const BarPart& part : parts) {
    percent += part.percent;
    const float right = bar.min.x + bar.width() * static_cast<float>(percent / 100.0);
    const Rect rect{{left, bar.min.y}, {right, bar.max.y}};
    fill_part(context, rect, part.part);
    context.named_rects.add(fmt::format("ledger.time.{}", to_string(part.part)), rect);
    if (hovered(rect)) tooltip(context, in_words(part), rect);
    left = right;
  }
  draw::outline(context, bar, context.theme.card_border);
}

/// Draws the parts in a line, without the smallest ones if there is no room for all.
void draw_legend(const PanelContext& context, std::vector<BarPart> parts, const Rect& line) {
  const FontRef& font = context.fonts.small;
  const float swatch = font.size * 0.72f;
  const float gap = font.size * 0.8f;
  const auto width = [&](const BarPart& part) {
    return swatch + context.px(4.0f) + font.measure(legend_text(part)).x + gap;
  };
  const auto total = [&] {
    float sum = -gap;
    for (const BarPart& part : parts) sum += width(part);
    return sum;
  };
  std::erase_if(parts, [](const BarPart& part) { return part.percent < kLeastPercent; });
  while (!parts.empty() && total() > line.width()) {
    parts.erase(std::ranges::min_element(parts, {}, &BarPart::percent));
  }
  float x = line.min.x;
  for (const BarPart& part : parts) {
    const float middle = line.center().y;
    const Rect box{{x, middle - swatch * 0.5f}, {x + swatch, middle + swatch * 0.5f}};
    fill_part(context, box, part.part);
    draw::text(context, font, {box.max.x + context.px(4.0f), middle - font.size * 0.5f},
               context.theme.text_dim, legend_text(part));
    const float next = x + width(part);
    const Rect word{{x, line.min.y}, {next - gap, line.max.y}};
    if (hovered(word)) tooltip(context, in_words(part), word);
    x = next;
  }
}

}  // namespace

void draw_time_bar(const PanelContext& context, const PredictedTime& time, const Rect& rect,
                   float pitch) {
  if (!time.prediction) return;
  const FontRef& font = context.fonts.small;
  const std::vector<BarPart> parts = bar_parts(*time.prediction);
  const std::string basis(to_string(time.basis));
  const std::vector<std::string> wordings{fmt::format("limited by ({})", basis), basis};
  const float label_room = rect.width() * 0.4f;
  const std::string label = draw::label_that_fits(font, wordings, label_room);
  const float middle = rect.min.y + pitch * 0.5f;
  draw::text(context, font, {rect.min.x, middle - font.size * 0.5f}, context.theme.text, label);
  const Rect label_line{rect.min, {rect.min.x + label_room, rect.min.y + pitch}};
  if (hovered(label_line)) {
    tooltip(context,
            fmt::format("parts of the predicted time: {}\n{}\nSM clock {}",
                        parts_text(*time.prediction), time.about,
                        draw::format_si(time.prediction->clock_hz, "Hz")),
            label_line);
  }
  const float half = std::min(pitch * 0.36f, font.size * 0.5f);
  const float left = rect.min.x + font.measure(label).x + context.px(8.0f);
  const bool one_line = rect.height() < pitch * 1.5f;
  const float right = one_line ? left + (rect.max.x - left) * 0.4f : rect.max.x;
  draw_bar(context, parts, {{left, middle - half}, {right, middle + half}});
  const ImVec2 legend = one_line ? ImVec2{right + context.px(8.0f), rect.min.y}
                                 : ImVec2{rect.min.x, rect.min.y + pitch};
  draw_legend(context, parts, {legend, rect.max});
}

}  // namespace attnscope::app
