/// The running softmax of the chosen query row: formulas, live numbers, results.
#pragma once

#include "app/panel.h"

namespace attnscope::app {

class OnlineSoftmaxPanel final : public Panel {
 public:
  std::string_view name() const override { return "online_softmax"; }
  Slot slot() const override { return Slot::online_softmax; }
  bool shown(const ViewState& view) const override { return view.softmax_tab == SoftmaxTab::row; }
  void draw(const Snapshot& snapshot, ViewState& view, const PanelContext& context) override;
};

}  // namespace attnscope::app
