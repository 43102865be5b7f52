/// Why the softmax is online: the naive one, which overflows, beside the safe and the online one,
/// on the chosen query row, with every operation rounded.
#pragma once

#include "app/panel.h"

namespace attnscope::app {

class WhyOnlinePanel final : public Panel {
 public:
  std::string_view name() const override { return "why_online"; }
  Slot slot() const override { return Slot::online_softmax; }
  bool shown(const ViewState& view) const override {
    return view.softmax_tab == SoftmaxTab::why_online;
  }
  void draw(const Snapshot& snapshot, ViewState& view, const PanelContext& context) override;
};

}  // namespace attnscope::app
