#include "app/panel.h"
#include "app/panels/explain_panel.h"
#include "app/panels/memory_panel.h"
#include "app/panels/online_softmax_panel.h"
#include "app/panels/panels.h"
#include "app/panels/scores_panel.h"
#include "app/panels/timeline_panel.h"
#include "app/panels/warps_panel.h"
#include "app/panels/why_online_panel.h"

namespace attnscope::app {

Panels make_panels() {
  Panels panels;
  panels.push_back(std::make_unique<MemoryPanel>());
  panels.push_back(std::make_unique<WarpsPanel>());
  panels.push_back(std::make_unique<ScoresPanel>());
  panels.push_back(std::make_unique<OnlineSoftmaxPanel>());
  panels.push_back(std::make_unique<WhyOnlinePanel>());
  panels.push_back(std::make_unique<ExplainPanel>());
  panels.push_back(make_ledger_panel());
  panels.push_back(std::make_unique<TimelinePanel>());
  panels.push_back(make_charts_panel());
  return panels;
}

}  // namespace attnscope::app
