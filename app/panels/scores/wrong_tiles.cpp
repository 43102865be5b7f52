/// Marks the tiles that are wrong at this step over the scores of a broken run: the larger the
/// error, the redder the tile.
#include <cmath>

#include "app/panels/scores/scores_frame.h"
#include "sim/studies/break_effect.h"

namespace attnscope::app {

namespace {

// At the left edge, and at the upper one
constexpr Tensor kRowTensors[] = {Tensor::O, Tensor::dQ, Tensor::dQ_accum};
constexpr Tensor kColumnTensors[] = {Tensor::dK, Tensor::dV};

/// Opacity of the mark of an error: grows with its logarithm, up to 1 for errors from 1 on or a
/// NaN.
float strength_of(const Deviation& deviation) {
  if (!deviation.is_wrong()) return 0.0f;
  if (deviation.has_nan || !std::isfinite(deviation.max_abs)) return 1.0f;
  constexpr double kDecades = 6;
  const double share = 1.0 + std::log10(deviation.max_abs) / kDecades;
  return static_cast<float>(std::clamp(share, 0.25, 1.0));
}

/// Opacities for a tensor's tiles, [rows, cols], each by the larger of its errors on chip and in
/// HBM.
std::vector<float> strengths(const Snapshot& snapshot, Tensor tensor, Index rows, Index cols) {
  std::vector<float> strengths(static_cast<std::size_t>(rows * cols));
  for (const bool in_hbm : {false, true}) {
    const auto tiles = deviations_at(*snapshot.effect, tensor, in_hbm, rows, cols, snapshot.step);
    for (std::size_t k = 0; k < tiles.size(); ++k) {
      strengths[k] = std::max(strengths[k], strength_of(tiles[k]));
    }
  }
  return strengths;
}

}  // namespace

void WrongTiles::update(const Snapshot& snapshot) {
  if (effect_ == snapshot.effect && step_ == snapshot.step) return;
  effect_ = snapshot.effect;
  step_ = snapshot.step;
  strengths_ = {};
  if (effect_ == nullptr) return;
  const RunInfo& run = *snapshot.run;
  const auto compute = [&](Tensor tensor, Index rows, Index cols) {
    strengths_[static_cast<std::size_t>(tensor)] = strengths(snapshot, tensor, rows, cols);
  };
  for (const Tensor tensor : kScoreTensors) compute(tensor, run.Tr, run.Tc);
  for (const Tensor tensor : kRowTensors) compute(tensor, run.Tr, 1);
  for (const Tensor tensor : kColumnTensors) compute(tensor, run.Tc, 1);
}

void draw_wrong_tiles(const ScoresFrame& frame) {
  if (frame.wrong == nullptr) return;
  const RunInfo& run = frame.run();
  const PanelContext& context = frame.context;
  const Area tiles = frame.visible_tiles();
  const float line = context.px(2.0f);
  for (const Tensor tensor : kScoreTensors) {
    const auto& wrong = frame.wrong->of(tensor);
    for (Index i = tiles.rows.begin; i < tiles.rows.end; ++i) {
      for (Index j = tiles.cols.begin; j < tiles.cols.end; ++j) {
        const float strength = wrong[static_cast<std::size_t>(i * run.Tc + j)];
        if (strength == 0.0f) continue;
        const Rect rect = frame.tile_rect(i, j);
        draw::fill(context, rect, with_alpha(context.theme.error, 0.22f * strength));
        context.list->AddRect(rect.min, rect.max, with_alpha(context.theme.error, strength), 0.0f,
                              0, line);
      }
    }
  }

  // Row tiles of O and dQ at the left edge, column tiles of dK and dV at the top
  const float width = context.px(6.0f);
  for (const Tensor tensor : kRowTensors) {
    const auto& wrong = frame.wrong->of(tensor);
    for (Index i = tiles.rows.begin; i < tiles.rows.end; ++i) {
      const float strength = wrong[static_cast<std::size_t>(i)];
      if (strength == 0.0f) continue;
      const Rect rect = frame.tile_rect(i, tiles.cols.begin);
      const Rect edge{{frame.grid.min.x, rect.min.y}, {frame.grid.min.x + width, rect.max.y}};
      draw::fill(context, edge, with_alpha(context.theme.error, strength));
      context.named_rects.add(fmt::format("scores.wrong.{}.{}", to_string(tensor), i), edge);
      if (hovered(edge)) {
        tooltip(context, fmt::format("{}: differs from the run without its break at this step",
                                     display_name(tensor)));
      }
    }
  }
  for (const Tensor tensor : kColumnTensors) {
    const auto& wrong = frame.wrong->of(tensor);
    for (Index j = tiles.cols.begin; j < tiles.cols.end; ++j) {
      const float strength = wrong[static_cast<std::size_t>(j)];
      if (strength == 0.0f) continue;
      const Rect rect = frame.tile_rect(tiles.rows.begin, j);
      draw::fill(context, {{rect.min.x, frame.grid.min.y}, {rect.max.x, frame.grid.min.y + width}},
                 with_alpha(context.theme.error, strength));
    }
  }
}

}  // namespace attnscope::app
