#include "app/panels/scores_frame.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace attnscope::app {

namespace {

/// Most cells along an axis.
constexpr Index kMaxCells = 64;

}  // namespace

std::vector<CellSpan> cut_axis(Index size, Index tile_size, Index max_cells) {
  std::vector<CellSpan> spans;
  const Index tiles = ceil_div(size, tile_size);

  // Many tiles: several whole ones share a cell
  if (tiles > max_cells) {
    const Index per_cell = ceil_div(tiles, max_cells);
    for (Index tile = 0; tile < tiles; tile += per_cell) {
      const Index past = std::min(tile + per_cell, tiles);
      spans.push_back({tile * tile_size, std::min(past * tile_size, size), tile});
    }
    return spans;
  }

  // Few: each is cut into equal stretches of elements
  const Index pieces = std::max<Index>(max_cells / tiles, 1);
  const Index step = std::max<Index>(ceil_div(std::min(tile_size, size), pieces), 1);
  for (Index tile = 0; tile < tiles; ++tile) {
    const Index past = std::min((tile + 1) * tile_size, size);
    for (Index begin = tile * tile_size; begin < past; begin += step) {
      spans.push_back({begin, std::min(begin + step, past), tile});
    }
  }
  return spans;
}

ScoreCells::ScoreCells(const RunInfo& run)
    : rows(cut_axis(run.problem().N, run.tiling().Br, kMaxCells)),
      cols(cut_axis(run.problem().N_kv, run.tiling().Bc, kMaxCells)),
      means(rows.size() * cols.size(), std::numeric_limits<double>::quiet_NaN()),
      exact(std::ssize(rows) == run.problem().N && std::ssize(cols) == run.problem().N_kv) {
  if (run.reference_scores.values.empty()) return;
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  double low = kInfinity;
  double high = -kInfinity;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    for (std::size_t c = 0; c < cols.size(); ++c) {
      double sum = 0.0;
      Index visible = 0;
      for (Index row = rows[r].begin; row < rows[r].end; ++row) {
        for (Index col = cols[c].begin; col < cols[c].end; ++col) {
          const double value = run.reference_scores.at(row, col);
          if (!std::isfinite(value)) continue;
          sum += value;
          ++visible;
        }
      }
      double& mean = means[r * cols.size() + c];
      mean = visible > 0 ? sum / static_cast<double>(visible) : -kInfinity;
      if (visible == 0) continue;
      low = std::min(low, mean);
      high = std::max(high, mean);
    }
  }
  if (low <= high) range = {low, high};
}

}  // namespace attnscope::app
