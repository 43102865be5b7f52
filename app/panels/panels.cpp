#include "app/panels/panels.h"

#include "app/panels/ledger/ledger_panel.h"

namespace attnscope::app {

Panels make_panels() {
  return {make_memory_panel(),  make_warps_panel(),          make_gpu_panel(),
          make_scores_panel(),  make_online_softmax_panel(), make_why_online_panel(),
          make_explain_panel(), make_ledger_panel(),         make_timeline_panel(),
          make_charts_panel()};
}

}  // namespace attnscope::app
