/// The grid of score tiles: what state each is in, and the values behind them.
#pragma once

#include "app/draw/canvas.h"
#include "app/panel.h"
#include "app/panels/score_cells.h"

namespace attnscope::app {

class ScoresPanel final : public Panel {
 public:
  std::string_view name() const override { return "scores"; }
  Slot slot() const override { return Slot::scores; }
  void draw(const Snapshot& snapshot, ViewState& view, const PanelContext& context) override;

 private:
  struct Frame;  // what the parts of one frame share

  void draw_cells(const Frame& frame) const;
  void draw_borders(const Frame& frame, float tile_px) const;
  void draw_tiles_on_chip(const Frame& frame) const;
  void draw_axes(const Frame& frame) const;
  float draw_legend(const Frame& frame, const Rect& area) const;
  void draw_inset(const Frame& frame, const Rect& area) const;
  void draw_query_row(const Frame& frame) const;
  void point_at(const Frame& frame, ViewState& view) const;

  ScoreCells cells_;
};

}  // namespace attnscope::app
