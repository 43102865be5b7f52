/// The warps of the thread block: which holds what of the tiles of the operation under the
/// playhead, and what goes through shared memory, split-Q beside sliced-K.
#pragma once

#include "app/panel.h"

namespace attnscope::app {

class WarpsPanel final : public Panel {
 public:
  std::string_view name() const override { return "warps"; }
  Slot slot() const override { return Slot::memory; }
  bool shown(const ViewState& view) const override { return view.memory_tab == MemoryTab::warps; }
  void draw(const Snapshot& snapshot, ViewState& view, const PanelContext& context) override;
};

}  // namespace attnscope::app
