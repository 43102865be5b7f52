#include "app/panels/transfer_arrows.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>

#include "app/draw/format.h"
#include "app/draw/shapes.h"

namespace attnscope::app {

namespace {

/// A load or store as the screen shows it.
struct Transfer {
  draw::Curve curve;
  Tensor tensor = Tensor::Q;
  std::string label;
};

std::optional<Transfer> transfer_of(const Snapshot& snapshot, const TileOp& op, std::size_t launch,
                                    Index bytes, const SramBox& sram, const HbmBox& hbm) {
  if (!op.moves_bytes() || op.dest_count == 0 || op.source_count == 0) return std::nullopt;
  const bool load = op.kind == OpKind::load;
  const Tile& on_chip = load ? op.dests()[0] : op.sources()[0];
  const Tile& in_hbm = load ? op.sources()[0] : op.dests()[0];
  const std::optional<ImVec2> port = sram.port(on_chip.tensor, on_chip.slot);
  const std::optional<Rect> part =
      hbm.part_rect(in_hbm.tensor, extent_of(snapshot, in_hbm, launch));
  if (!port || !part) return std::nullopt;
  const ImVec2 far = part->center();
  Transfer transfer;
  transfer.curve = load ? draw::vertical_curve(far, *port) : draw::vertical_curve(*port, far);
  transfer.tensor = in_hbm.tensor;
  const std::string_view verb =
      load ? "load" : (op.kind == OpKind::atomic_add ? "atomic add" : "store");
  transfer.label = fmt::format("{} {} {}", verb, display_name(in_hbm.tensor),
                               draw::format_bytes(static_cast<double>(bytes)));
  return transfer;
}

/// The launch that the step after this one belongs to.
std::size_t launch_of_next(const Snapshot& snapshot) {
  const auto& launches = snapshot.run->launches;
  for (std::size_t k = 0; k < launches.size(); ++k) {
    if (snapshot.step + 1 < launches[k].end) return k;
  }
  return static_cast<std::size_t>(snapshot.launch);
}

bool overlap(const Rect& a, const Rect& b) {
  return a.min.x < b.max.x && b.min.x < a.max.x && a.min.y < b.max.y && b.min.y < a.max.y;
}

}  // namespace

void draw_transfers(const Snapshot& snapshot, const PanelContext& context, const SramBox& sram,
                    const HbmBox& hbm, const Rect& gap) {
  const draw::Canvas canvas = canvas_of(context);
  const FontRef& font = context.fonts.mono_small;
  const float beside = canvas.px(14.0f);
  const auto label_center = [&](const Transfer& transfer, std::string_view label) {
    const ImVec2 middle = transfer.curve.at(0.5f);
    const float half = font.measure(label).x * 0.5f + canvas.px(7.0f);
    return ImVec2{middle.x + beside + half, gap.center().y};
  };

  // What the last operation moved, and what the next one will move, or is moving while playing
  const bool playing = context.op_fraction > 0.0f;
  std::optional<Transfer> last;
  std::optional<Transfer> next;
  if (snapshot.step >= 0 && !playing) {
    last = transfer_of(snapshot, snapshot.op, static_cast<std::size_t>(snapshot.launch),
                       snapshot.op_bytes, sram, hbm);
  }
  if (snapshot.step + 1 < snapshot.run->step_count) {
    next = transfer_of(snapshot, snapshot.next_op, launch_of_next(snapshot), snapshot.next_op_bytes,
                       sram, hbm);
  }
  const auto color_of_arrow = [&](const Transfer& each) {
    return text_color_of(context.theme, each.tensor);
  };

  // Both arrows, then their labels over them
  if (last) draw::draw_arrow(canvas, last->curve, color_of_arrow(*last), canvas.px(2.5f), false);
  if (next) draw::draw_arrow(canvas, next->curve, color_of_arrow(*next), canvas.px(2.0f), true);
  hbm.draw_words();
  std::optional<Rect> taken;
  if (last) {
    taken = draw::badge(canvas, font, label_center(*last, last->label), gap, color_of_arrow(*last),
                        last->label);
  }
  if (!next) return;
  const ImU32 color = color_of_arrow(*next);
  if (playing) {
    const ImVec2 at = next->curve.at(context.op_fraction);
    const float half = canvas.px(7.0f);
    const Rect packet{{at.x - half, at.y - half}, {at.x + half, at.y + half}};
    draw::fill(canvas, packet, color, canvas.px(2.0f));
    draw::outline(canvas, packet, context.theme.highlight, canvas.px(1.5f), canvas.px(2.0f));
  }
  const std::string label = playing ? next->label : "next: " + next->label;
  ImVec2 center = label_center(*next, label);
  const float half = font.measure(label).x * 0.5f + canvas.px(7.0f);
  center.x = std::clamp(center.x, gap.min.x + half, std::max(gap.min.x + half, gap.max.x - half));
  const Rect wanted{{center.x - half, gap.min.y}, {center.x + half, gap.max.y}};
  if (taken && overlap(*taken, wanted)) {
    // On the side of the other label where there is room
    const float right = taken->max.x + canvas.px(6.0f) + half;
    const float left = taken->min.x - canvas.px(6.0f) - half;
    center.x = right + half <= gap.max.x ? right : left;
  }
  draw::badge(canvas, font, center, gap, color, label);
}

}  // namespace attnscope::app
