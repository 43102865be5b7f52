/// What the last operation did and why: the pseudo-code with its line lit, or the CUDA source of
/// the twin kernel, and one sentence each.
#pragma once

#include "app/draw/canvas.h"
#include "app/panel.h"
#include "app/panels/source_view.h"

namespace attnscope::app {

class ExplainPanel final : public Panel {
 public:
  std::string_view name() const override { return "explain"; }
  Slot slot() const override { return Slot::explain; }
  void draw(const Snapshot& snapshot, ViewState& view, const PanelContext& context) override;

 private:
  void draw_source(const Snapshot& snapshot, const PanelContext& context, const Rect& rect);

  SourceView source_;
};

}  // namespace attnscope::app
