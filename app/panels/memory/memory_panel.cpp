#include "app/panels/panels.h"

#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "app/draw/canvas.h"
#include "app/draw/format.h"
#include "app/panels/memory/bandwidth.h"
#include "app/panels/memory/l2_box.h"
#include "app/panels/memory/memory_boxes.h"
#include "app/panels/parts/headings.h"
#include "app/panels/parts/snapshot_view.h"
#include "sim/snapshot/describe_op.h"

namespace attnscope::app {

namespace {

/// A load or store as the screen shows it.
struct Transfer {
  draw::Route route;
  Tensor tensor = Tensor::Q;
  std::string label;  ///< "load K 512 B"
  std::string bytes;  ///< "512 B": the arrow's ends show the rest
};

std::optional<Transfer> transfer_of(const Snapshot& snapshot, const TileOp& op, std::size_t launch,
                                    Index bytes, const SramBox& sram, const HbmBox& hbm) {
  if (!op.moves_bytes() || op.dest_count == 0 || op.source_count == 0) return std::nullopt;
  const bool load = op.kind == OpKind::load;
  const Tile& on_chip = load ? op.dests()[0] : op.sources()[0];
  const Tile& in_hbm = load ? op.sources()[0] : op.dests()[0];
  const std::optional<ImVec2> port = sram.port(on_chip);
  if (!port) return std::nullopt;
  const auto route = hbm.route(*port, in_hbm.tensor, area_of(*snapshot.run, launch, in_hbm));
  if (!route) return std::nullopt;
  Transfer transfer{load ? route->reversed() : *route};
  transfer.tensor = in_hbm.tensor;
  transfer.bytes = draw::format_bytes(bytes);
  transfer.label =
      fmt::format("{} {} {}", op_label(op), display_name(in_hbm.tensor), transfer.bytes);
  return transfer;
}

/// The launch of the next step.
std::size_t launch_of_next(const Snapshot& snapshot) {
  const auto& launches = snapshot.run->launches;
  for (std::size_t k = 0; k < launches.size(); ++k) {
    if (snapshot.step + 1 < launches[k].end) return k;
  }
  return static_cast<std::size_t>(snapshot.launch);
}

/// Whether the last operation ends a launch: the next one belongs to another kernel.
bool ends_launch(const Snapshot& snapshot) {
  return snapshot.step >= 0 &&
         launch_of_next(snapshot) != static_cast<std::size_t>(snapshot.launch);
}

/// The transfers of the last operation, and of the next one of the same launch, which is animated
/// while playing.
struct ShownTransfers {
  std::optional<Transfer> last;
  std::optional<Transfer> next;
  bool playing = false;
};

ShownTransfers shown_transfers(const Snapshot& snapshot, const PanelContext& context,
                               const SramBox& sram, const HbmBox& hbm) {
  ShownTransfers shown{.playing = context.op_fraction > 0.0f};
  if (snapshot.step >= 0 && !shown.playing) {
    shown.last = transfer_of(snapshot, snapshot.op, static_cast<std::size_t>(snapshot.launch),
                             snapshot.op_bytes, sram, hbm);
  }
  const bool has_next = snapshot.step + 1 < snapshot.run->step_count;
  if (has_next && (shown.playing || !ends_launch(snapshot))) {
    shown.next = transfer_of(snapshot, snapshot.next_op, launch_of_next(snapshot),
                             snapshot.next_op_bytes, sram, hbm);
  }
  return shown;
}

/// The places where the arrows cross a band.
std::vector<draw::Range> crossings(const ShownTransfers& shown, const PanelContext& context,
                                   const Rect& band) {
  std::vector<draw::Range> ranges;
  const float margin = context.px(9.0f);
  for (const auto* each : {&shown.last, &shown.next}) {
    if (!*each) continue;
    const draw::Range over = draw::crossing((*each)->route, {band.min.y, band.max.y});
    ranges.push_back({over.low - margin, over.high + margin});
  }
  return ranges;
}

ImU32 color_of_arrow(const PanelContext& context, const Transfer& transfer) {
  return text_color_of(context.theme, transfer.tensor);
}

void draw_arrows(const ShownTransfers& shown, const PanelContext& context) {
  const auto& [last, next, playing] = shown;
  if (last) {
    draw::draw_arrow(context, last->route, color_of_arrow(context, *last), context.px(2.5f), false);
  }
  if (!next) return;
  const ImU32 color = color_of_arrow(context, *next);
  draw::draw_arrow(context, next->route, color, context.px(2.0f), true);
  if (!playing) return;
  const ImVec2 at = next->route.at(context.op_fraction);
  const float half = context.px(7.0f);
  const Rect packet{{at.x - half, at.y - half}, {at.x + half, at.y + half}};
  draw::fill(context, packet, color, context.px(2.0f));
  draw::outline(context, packet, context.theme.highlight, context.px(1.5f), context.px(2.0f));
}

/// Labels the arrows with their bytes in the room between the boxes: beside the arrows, or side by
/// side if room is short; if two labels do not fit, only the last operation's. Returns the ranges
/// of the width that the arrows and the labels take.
std::vector<draw::Range> draw_labels(const ShownTransfers& shown, const PanelContext& context,
                                     const Rect& gap) {
  const FontRef& font = context.fonts.mono_small;
  const std::vector<draw::Range> arrows = crossings(shown, context, gap);
  std::vector<draw::Range> labels;
  const auto both = [&] {
    std::vector<draw::Range> taken = arrows;
    taken.insert(taken.end(), labels.begin(), labels.end());
    return taken;
  };
  const auto put_label = [&](const Transfer& each, const std::string& when, std::string_view name) {
    const draw::Range room{gap.min.x, gap.max.x};
    const draw::Range over = draw::crossing(each.route, {gap.min.y, gap.max.y});
    context.named_rects.add(fmt::format("memory.arrow.{}", name),
                            {{over.low, gap.min.y}, {over.high, gap.max.y}});
    const auto center_of = [&](const std::string& label, std::span<const draw::Range> taken) {
      return draw::free_center(over.low, font.measure(label).x + context.px(14.0f), room, taken);
    };
    const std::vector<draw::Range> taken = both();
    const std::string wordings[] = {
        when + each.label, fmt::format("{}{} {}", when, display_name(each.tensor), each.bytes),
        when + each.bytes};
    std::string label = wordings[0];
    std::optional<float> center;
    for (const std::vector<draw::Range>& avoided : {taken, labels}) {
      for (const std::string& words : wordings) {
        if (!center && (center = center_of(words, avoided))) label = words;
      }
    }
    if (!center && !labels.empty()) return;
    const ImVec2 at{center.value_or(over.low), gap.center().y};
    const Rect box = draw::badge(context, font, at, gap, color_of_arrow(context, each), label);
    labels.push_back({box.min.x - context.px(6.0f), box.max.x + context.px(6.0f)});
    context.named_rects.add(fmt::format("memory.label.{}", name), box);
  };
  if (shown.last) put_label(*shown.last, "", "last");
  if (shown.next) put_label(*shown.next, shown.playing ? "" : "next: ", "next");
  return both();
}

class MemoryPanel {
 public:
  void draw(const Snapshot& snapshot, ViewState& view, const PanelContext& context);
  bool busy() const { return l2_.busy(); }

 private:
  L2Box l2_;
};

void MemoryPanel::draw(const Snapshot& snapshot, ViewState& view, const PanelContext& context) {
  const RunInfo& run = *snapshot.run;
  const std::string& gpu = run.gpu.display_name.empty() ? run.gpu.name : run.gpu.display_name;
  const Rect rest = draw_memory_tabs(context, view, "modelled · " + gpu);

  // SRAM above, HBM below; between them L2, with room above it for the arrows' labels, and below it
  // for a bandwidth
  l2_.update(snapshot.run);
  const float margin = context.px(4.0f);
  const float l2_height = L2Box::height(context, rest.height());
  const float below = std::max(margin, L2Box::height_below(context, rest.height()));
  const float l2_room = l2_height > 0.0f ? l2_height + below : 0.0f;
  const float gap = context.fonts.mono_small.size + context.px(20.0f) + l2_room;
  const float boxes = rest.height() - gap;
  if (boxes < context.px(80.0f)) return;
  const bool is_low = rest.height() < 20.0f * draw::line_height(context.fonts.small);
  const float border = rest.min.y + boxes * (context.presenter || is_low ? 0.5f : 0.46f);
  const float outset = context.px(2.0f);
  const Rect upper{{rest.min.x - outset, rest.min.y}, {rest.max.x + outset, border}};
  const SramBox sram(snapshot, context, upper);
  const HbmBox hbm(snapshot, context, view,
                   {{rest.min.x - outset, border + gap}, {rest.max.x + outset, rest.max.y}});
  const Rect& lower = hbm.rect();
  context.named_rects.add("memory.sram", upper);
  context.named_rects.add("memory.hbm", lower);
  sram.draw();
  hbm.draw();
  const float bottom = lower.min.y - (l2_height > 0.0f ? below : margin);
  const Rect l2{{upper.min.x, bottom - l2_height}, {upper.max.x, bottom}};
  if (l2_height > 0.0f) l2_.draw_frame(context, l2);
  sram.draw_operation();
  const ShownTransfers shown = shown_transfers(snapshot, context, sram, hbm);
  draw_arrows(shown, context);
  const Rect above_l2{{rest.min.x, border + margin},
                      {rest.max.x, l2_height > 0.0f ? l2.min.y - margin : bottom}};
  const std::vector<draw::Range> taken = draw_labels(shown, context, above_l2);
  if (l2_height > 0.0f) l2_.draw_text(snapshot, context, l2);
  const Bandwidths* bandwidths = l2_height > 0.0f ? l2_.bandwidths(snapshot) : nullptr;
  if (bandwidths != nullptr) {
    const float tip = context.px(1.0f);
    const Rect below_l2{{rest.min.x, l2.max.y + tip}, {rest.max.x, lower.min.y - tip}};
    draw_bandwidth(context, "l2", bandwidths->of_l2, above_l2, taken);
    draw_bandwidth(context, "dram", bandwidths->of_dram, below_l2,
                   crossings(shown, context, below_l2));
  }
  if (const auto pointed = pointed_highlight(snapshot, view)) {
    sram.draw_pointed_slots(*pointed);
    hbm.draw_pointed_tiles(*pointed);
  }
  sram.point_at(view);
  hbm.point_at(view);
}

}  // namespace

Panel make_memory_panel() {
  const auto memory = std::make_shared<MemoryPanel>();
  Panel panel{"memory", "MEMORY", Slot::memory, std::bind_front(&MemoryPanel::draw, memory)};
  panel.busy = std::bind_front(&MemoryPanel::busy, memory);
  panel.shown = [](const ViewState& view) { return view.memory_tab == MemoryTab::memory; };
  return panel;
}

}  // namespace attnscope::app
