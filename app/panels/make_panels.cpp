#include "app/panels/panels.h"

namespace attnscope::app {

Panels make_panels() {
  Panels panels;
  panels.push_back(make_memory_panel());
  panels.push_back(make_warps_panel());
  panels.push_back(make_scores_panel());
  panels.push_back(make_online_softmax_panel());
  panels.push_back(make_why_online_panel());
  panels.push_back(make_explain_panel());
  panels.push_back(make_ledger_panel());
  panels.push_back(make_timeline_panel());
  panels.push_back(make_charts_panel());
  return panels;
}

}  // namespace attnscope::app
