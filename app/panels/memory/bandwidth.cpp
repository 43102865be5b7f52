#include "app/panels/memory/bandwidth.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "app/draw/format.h"
#include "app/panels/parts/snapshot_view.h"
#include "app/report/kernel_time.h"
#include "sim/device/calibration.h"

namespace attnscope::app {

namespace {

/// The measured rate, or the rate to which a what-if changed it.
Bandwidth measured(std::string between, const Calibration& calibration, std::string_view quantity,
                   double bytes_per_s) {
  const MeasuredQuantity& own = *calibration.find(quantity);
  const bool changed = bytes_per_s != own.value;
  std::string basis = fmt::format("measured on {}, {}: {}", calibration.device.name,
                                  std::string_view(calibration.date).substr(0, 10), own.how);
  if (changed) {
    basis = fmt::format("what if: {:.3g} times the {} {}", bytes_per_s / own.value,
                        draw::format_bandwidth(own.value), basis);
  }
  return {std::move(between), bytes_per_s, changed ? "what if" : "measured", std::move(basis)};
}

std::string datasheet_line(const GpuDescription& gpu) {
  const auto from = gpu.provenance.find("dram_bytes_per_s");
  const std::string source = from != gpu.provenance.end() ? from->second.source : "";
  return fmt::format("{}: {}", draw::format_bandwidth(gpu.dram_bytes_per_s),
                     source.empty() ? "from the GPU's description" : source);
}

void draw_double_arrow(const draw::Canvas& canvas, float x, const Rect& band, ImU32 color) {
  const float half = canvas.px(4.0f);
  const float head = std::min(canvas.px(6.0f), 0.4f * band.height());
  const float shaft = canvas.px(1.0f);
  draw::fill(canvas, {{x - shaft, band.min.y + head}, {x + shaft, band.max.y - head}}, color);
  canvas.list->AddTriangleFilled({x, band.min.y}, {x + half, band.min.y + head},
                                 {x - half, band.min.y + head}, color);
  canvas.list->AddTriangleFilled({x, band.max.y}, {x - half, band.max.y - head},
                                 {x + half, band.max.y - head}, color);
}

}  // namespace

std::vector<std::string> Bandwidth::wordings() const {
  const std::string brief =
      bytes_per_s ? fmt::format("{}, {}", draw::format_bandwidth(*bytes_per_s), kind) : kind;
  return {fmt::format("{} {}", between, brief), brief};
}

std::string Bandwidth::about() const {
  return fmt::format("{}, reads of all SMs together\n{}", wordings().front(), basis);
}

Bandwidths bandwidths_of(const GpuDescription& gpu) {
  const std::string dram = dram_name(gpu);
  const auto rates = calibrated_rates(gpu);
  const auto calibration = load_calibration(gpu.name);
  if (rates && calibration && calibration.value()) {
    const Calibration& own = *calibration.value();
    Bandwidths both{
        measured("L2 to the SMs", own, "l2_read_bytes_per_s", rates->l2_read_bytes_per_s),
        measured(dram + " to L2", own, "dram_read_bytes_per_s", rates->dram_read_bytes_per_s)};
    both.of_dram.basis += "\nat its peak " + datasheet_line(gpu);
    return both;
  }
  const bool changed = gpu.what_if.dram_rate.has_value();
  return {{"L2 to the SMs", std::nullopt, "not measured",
           "This GPU is not calibrated, and no datasheet gives L2's bandwidth."},
          {dram + " to L2", gpu.dram_bytes_per_s, changed ? "what if" : "datasheet",
           datasheet_line(gpu)}};
}

void draw_bandwidth(const PanelContext& context, std::string_view name, const Bandwidth& bandwidth,
                    const Rect& band, std::span<const draw::Range> taken) {
  const FontRef& font = context.fonts.small;
  if (band.height() < font.size) return;
  const float arrow = context.px(18.0f);
  for (const std::string& words : bandwidth.wordings()) {
    const float width = font.measure(words).x + arrow;
    const auto center = draw::free_center(band.max.x, width, {band.min.x, band.max.x}, taken);
    if (!center) continue;
    const Rect place{{*center - 0.5f * width, band.min.y}, {*center + 0.5f * width, band.max.y}};
    draw::text(context, font, {place.min.x, band.center().y - font.size * 0.5f},
               context.theme.text_dim, words);
    draw_double_arrow(context, place.max.x - 0.35f * arrow, band, context.theme.text_faint);
    context.named_rects.add(fmt::format("memory.bandwidth.{}", name), place);
    if (hovered(place)) tooltip(context, bandwidth.about(), place);
    return;
  }
}

}  // namespace attnscope::app
