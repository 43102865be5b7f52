#include "app/draw/text.h"
#include "app/panels/panel_tabs.h"
#include "app/panels/panels.h"
#include "sim/snapshot/snapshot.h"

namespace attnscope::app {

void Panel::draw(const Snapshot& snapshot, ViewState& view, const PanelContext& context) const {
  if (snapshot.run != nullptr && snapshot.run->algorithm != nullptr) {
    return draw_run(snapshot, view, context);
  }
  const Rect rest = draw_panel_header(context, title, {}, {});
  if (snapshot.error) {
    draw::wrapped_text(context, context.fonts.ui, rest.min, context.theme.error,
                       words(*snapshot.error, Reader::screen), rest.width(), 4);
  } else {
    draw::text(context, context.fonts.ui, rest.min, context.theme.text_faint,
               "Nothing to show yet");
  }
}

Panels make_panels() {
  return {make_memory_panel(),         make_warps_panel(),      make_scores_panel(),
          make_online_softmax_panel(), make_why_online_panel(), make_explain_panel(),
          make_ledger_panel(),         make_timeline_panel(),   make_charts_panel()};
}

}  // namespace attnscope::app
