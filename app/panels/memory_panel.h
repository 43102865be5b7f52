/// What lies in SRAM and in HBM, and what the last and the next operation move between them.
#pragma once

#include "app/panel.h"

namespace attnscope::app {

class MemoryPanel final : public Panel {
 public:
  std::string_view name() const override { return "memory"; }
  Slot slot() const override { return Slot::memory; }
  bool shown(const ViewState& view) const override { return view.memory_tab == MemoryTab::memory; }
  void draw(const Snapshot& snapshot, ViewState& view, const PanelContext& context) override;
};

}  // namespace attnscope::app
