#include "app/panel.h"
#include "app/panels/memory_panel.h"
#include "app/panels/scores_panel.h"

namespace attnscope::app {

Panels make_panels() {
  Panels panels;
  panels.push_back(std::make_unique<MemoryPanel>());
  panels.push_back(std::make_unique<ScoresPanel>());
  return panels;
}

}  // namespace attnscope::app
