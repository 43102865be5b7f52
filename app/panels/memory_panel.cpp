#include "app/panels/memory_panel.h"

#include "app/panels/hbm_box.h"
#include "app/panels/panel_tabs.h"
#include "app/panels/snapshot_view.h"
#include "app/panels/sram_box.h"
#include "app/panels/transfer_arrows.h"

namespace attnscope::app {

void MemoryPanel::draw(const Snapshot& snapshot, ViewState& view, const PanelContext& context) {
  if (!has_run(snapshot, context, "MEMORY")) return;
  const RunInfo& run = *snapshot.run;
  const std::string& gpu = run.gpu.display_name.empty() ? run.gpu.name : run.gpu.display_name;
  const Rect rest = draw_memory_tabs(context, view, "modelled · " + gpu);

  // SRAM above, HBM below, room for the arrows' labels between them
  const float gap = context.fonts.mono_small.size + context.px(context.presenter ? 22.0f : 30.0f);
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
  sram.draw_operation();
  draw_transfers(
      snapshot, context, sram, hbm,
      {{rest.min.x, border + context.px(4.0f)}, {rest.max.x, lower.min.y - context.px(4.0f)}});
  sram.point_at();
  hbm.point_at();
}

}  // namespace attnscope::app
