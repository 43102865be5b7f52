#include "app/panels/panels.h"

#include <fmt/core.h>

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "app/draw/canvas.h"
#include "app/draw/format.h"
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
  std::string bytes;  ///< "512 B": the arrow's ends say the rest
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

/// Arrows between HBM and SRAM for the last operation and the next one, with their bytes. `gap` is
/// the room between the two boxes, for the labels.
void draw_transfers(const Snapshot& snapshot, const PanelContext& context, const SramBox& sram,
                    const HbmBox& hbm, const Rect& gap) {
  const FontRef& font = context.fonts.mono_small;

  // Transfers of the last operation, and of the next one, which is animated while playing
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

  // Both arrows
  if (last) draw::draw_arrow(context, last->route, color_of_arrow(*last), context.px(2.5f), false);
  if (next) draw::draw_arrow(context, next->route, color_of_arrow(*next), context.px(2.0f), true);
  if (playing && next) {
    const ImVec2 at = next->route.at(context.op_fraction);
    const float half = context.px(7.0f);
    const Rect packet{{at.x - half, at.y - half}, {at.x + half, at.y + half}};
    draw::fill(context, packet, color_of_arrow(*next), context.px(2.0f));
    draw::outline(context, packet, context.theme.highlight, context.px(1.5f), context.px(2.0f));
  }

  // Place the labels beside their arrows, or side by side if room is short; if both do not
  // fit, label only the last operation
  std::vector<draw::Range> arrows;
  std::vector<draw::Range> labels;
  const auto reserve = [&](const Transfer& each, std::string_view name) {
    const float margin = context.px(9.0f);
    const draw::Range over = draw::crossing(each.route, {gap.min.y, gap.max.y});
    arrows.push_back({over.low - margin, over.high + margin});
    context.named_rects.add(name, {{over.low, gap.min.y}, {over.high, gap.max.y}});
  };
  const auto put_label = [&](const Transfer& each, const std::string& when, std::string_view name) {
    const draw::Range room{gap.min.x, gap.max.x};
    const float wish = draw::crossing(each.route, {gap.min.y, gap.max.y}).low;
    const auto center_of = [&](const std::string& label, std::span<const draw::Range> taken) {
      return draw::free_center(wish, font.measure(label).x + context.px(14.0f), room, taken);
    };
    std::vector<draw::Range> taken = arrows;
    taken.insert(taken.end(), labels.begin(), labels.end());
    std::string label = when + each.label;
    std::optional<float> center = center_of(label, taken);
    if (!center && (center = center_of(when + each.bytes, taken))) label = when + each.bytes;
    if (!center) center = center_of(label, labels);
    if (!center && (center = center_of(when + each.bytes, labels))) label = when + each.bytes;
    if (!center && !labels.empty()) return;
    const ImVec2 at{center.value_or(wish), gap.center().y};
    const Rect box = draw::badge(context, font, at, gap, color_of_arrow(each), label);
    labels.push_back({box.min.x - context.px(6.0f), box.max.x + context.px(6.0f)});
    context.named_rects.add(name, box);
  };
  if (last) reserve(*last, "memory.arrow.last");
  if (next) reserve(*next, "memory.arrow.next");
  if (last) put_label(*last, "", "memory.label.last");
  if (next) put_label(*next, playing ? "" : "next: ", "memory.label.next");
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

  // SRAM above, HBM below; between them L2, and room for the arrows' labels above it
  l2_.update(snapshot.run);
  const float margin = context.px(4.0f);
  const float l2_height = L2Box::height(context, rest.height());
  const float l2_room = l2_height > 0.0f ? l2_height + margin : 0.0f;
  const float gap = context.fonts.mono_small.size + context.px(20.0f) + l2_room;
  const float boxes = rest.height() - gap;
  if (boxes < context.px(80.0f)) return;
  const float border = rest.min.y + boxes * (context.presenter ? 0.52f : 0.46f);
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
  const float bottom = lower.min.y - margin;
  const Rect l2{{upper.min.x, bottom - l2_height}, {upper.max.x, bottom}};
  if (l2_height > 0.0f) l2_.draw_frame(context, l2);
  sram.draw_operation();
  draw_transfers(snapshot, context, sram, hbm,
                 {{rest.min.x, border + margin}, {rest.max.x, bottom - l2_room}});
  if (l2_height > 0.0f) l2_.draw_text(snapshot, context, l2);
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
