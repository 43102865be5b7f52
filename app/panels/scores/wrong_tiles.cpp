/// Marks the wrong tiles of scores and the wrong rows of results at this step of a broken run, over
/// the scores: the larger the error, the redder the mark.
#include <cmath>

#include "app/panels/scores/scores_frame.h"
#include "sim/studies/break_effect.h"

namespace attnscope::app {

namespace {

// Tensors with marks at the left edge, and at the upper edge
constexpr Tensor kRowTensors[] = {Tensor::O, Tensor::dQ, Tensor::dQ_accum};
constexpr Tensor kColumnTensors[] = {Tensor::dK, Tensor::dV};

/// The opacity of an error's mark: it grows with the logarithm of the error, up to 1 for errors
/// of 1 or more, or NaN.
float strength_of(double error) {
  if (error == 0.0) return 0.0f;
  if (!std::isfinite(error)) return 1.0f;
  constexpr double kDecades = 6;
  const double share = 1.0 + std::log10(error) / kDecades;
  return static_cast<float>(std::clamp(share, 0.25, 1.0));
}

float strength_of(const Deviation& deviation) {
  return deviation.has_nan ? 1.0f : strength_of(deviation.max_abs);
}

/// Opacities for the `count` rows of a tensor in tiles of `tile_size`, each from the larger of the
/// row's errors on chip and in HBM.
std::vector<float> row_strengths(const Snapshot& snapshot, Tensor tensor, Index count,
                                 Index tile_size) {
  std::vector<float> strengths(static_cast<std::size_t>(count));
  for (const bool in_hbm : {false, true}) {
    const auto tiles = deviations_at(*snapshot.effect, tensor, in_hbm, ceil_div(count, tile_size),
                                     1, snapshot.step);
    for (std::size_t row = 0; row < strengths.size(); ++row) {
      const auto size = static_cast<std::size_t>(tile_size);
      const Deviation& tile = tiles[row / size];
      if (!tile.by_row.empty() && row % size >= tile.by_row.size()) continue;  // not wrong
      strengths[row] =
          std::max(strengths[row],
                   tile.by_row.empty() ? strength_of(tile) : strength_of(tile.by_row[row % size]));
    }
  }
  return strengths;
}

/// Opacities for a tensor's tiles, [rows, cols], each from the larger of the tile's errors on chip
/// and in HBM.
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

/// Adjacent wrong rows, and the opacity of the worst one.
struct WrongRows {
  Index begin = 0, end = 0;
  float strength = 0.0f;
};

std::vector<WrongRows> wrong_rows(const std::vector<float>& strengths, const Span& visible) {
  std::vector<WrongRows> found;
  const Index past = std::min(visible.end, std::ssize(strengths));
  for (Index row = visible.begin; row < past; ++row) {
    const float strength = strengths[static_cast<std::size_t>(row)];
    if (strength == 0.0f) continue;
    if (found.empty() || found.back().end != row) found.push_back({row, row});
    found.back().end = row + 1;
    found.back().strength = std::max(found.back().strength, strength);
  }
  return found;
}

}  // namespace

void WrongTiles::update(const Snapshot& snapshot) {
  if (effect_ == snapshot.effect && step_ == snapshot.step) return;
  effect_ = snapshot.effect;
  step_ = snapshot.step;
  strengths_ = {};
  if (effect_ == nullptr) return;
  const RunInfo& run = *snapshot.run;
  const auto of = [&](Tensor tensor) -> std::vector<float>& {
    return strengths_[static_cast<std::size_t>(tensor)];
  };
  const AttentionProblem& problem = run.problem();
  for (const Tensor tensor : kScoreTensors)
    of(tensor) = strengths(snapshot, tensor, run.Tr, run.Tc);
  for (const Tensor tensor : kRowTensors) {
    of(tensor) = row_strengths(snapshot, tensor, problem.N, run.tiling().Br);
  }
  for (const Tensor tensor : kColumnTensors) {
    of(tensor) = row_strengths(snapshot, tensor, problem.N_kv, run.tiling().Bc);
  }
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

  // Rows of O and dQ at the left edge, rows of dK and dV at the top
  const float width = context.px(6.0f);
  for (const Tensor tensor : kRowTensors) {
    for (const WrongRows& rows : wrong_rows(frame.wrong->of(tensor), frame.visible().rows)) {
      const Rect edge{{frame.grid.min.x, frame.y_of(rows.begin)},
                      {frame.grid.min.x + width, frame.y_of(rows.end)}};
      draw::fill(context, edge, with_alpha(context.theme.error, rows.strength));
      context.named_rects.add(fmt::format("scores.wrong.{}.{}", to_string(tensor), rows.begin),
                              edge);
      if (!hovered(edge)) continue;
      const std::string which = rows.end == rows.begin + 1
                                    ? fmt::format("row {} differs", rows.begin)
                                    : fmt::format("rows {} to {} differ", rows.begin, rows.end - 1);
      tooltip(
          context,
          fmt::format("{}: {} from the correct run at this operation", display_name(tensor), which),
          edge);
    }
  }
  for (const Tensor tensor : kColumnTensors) {
    for (const WrongRows& keys : wrong_rows(frame.wrong->of(tensor), frame.visible().cols)) {
      draw::fill(context,
                 {{frame.x_of(keys.begin), frame.grid.min.y},
                  {frame.x_of(keys.end), frame.grid.min.y + width}},
                 with_alpha(context.theme.error, keys.strength));
    }
  }
}

}  // namespace attnscope::app
