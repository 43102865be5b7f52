/// The grid of score tiles: what state each is in, and the values behind them.
#pragma once

#include "app/panel.h"
#include "app/panels/score_cells.h"

namespace attnscope::app {

class ScoresPanel final : public Panel {
 public:
  std::string_view name() const override { return "scores"; }
  Slot slot() const override { return Slot::scores; }
  void draw(const Snapshot& snapshot, ViewState& view, const PanelContext& context) override;

 private:
  ScoreCells cells_;
};

}  // namespace attnscope::app
