#include "app/panels/score_cells.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace attnscope::app {

std::vector<CellSpan> cut_axis(Index size, Index tile_size, Index max_cells) {
  std::vector<CellSpan> spans;
  const Index tiles = ceil_div(size, tile_size);

  // Many tiles: several whole ones share a cell
  if (tiles > max_cells) {
    const Index per_cell = ceil_div(tiles, max_cells);
    for (Index tile = 0; tile < tiles; tile += per_cell) {
      const Index past = std::min(tile + per_cell, tiles);
      spans.push_back({tile * tile_size, std::min(past * tile_size, size), tile, past});
    }
    return spans;
  }

  // Few: each is cut into equal stretches of elements
  const Index pieces = std::max<Index>(max_cells / tiles, 1);
  const Index step = std::max<Index>(ceil_div(std::min(tile_size, size), pieces), 1);
  for (Index tile = 0; tile < tiles; ++tile) {
    const Index past = std::min((tile + 1) * tile_size, size);
    for (Index begin = tile * tile_size; begin < past; begin += step) {
      spans.push_back({begin, std::min(begin + step, past), tile, tile + 1});
    }
  }
  return spans;
}

void ScoreCells::update(const std::shared_ptr<const RunInfo>& run) {
  if (run == run_) return;
  run_ = run;
  rows_ = cut_axis(run->problem().N, run->tiling().Br, kMaxCells);
  cols_ = cut_axis(run->problem().N_kv, run->tiling().Bc, kMaxCells);
  means_.assign(rows_.size() * cols_.size(), std::numeric_limits<double>::quiet_NaN());
  exact_ = static_cast<Index>(rows_.size()) == run->problem().N &&
           static_cast<Index>(cols_.size()) == run->problem().N_kv;
  range_ = {};
  if (!run->reference_scores.values.empty()) fill_means(*run);
}

void ScoreCells::fill_means(const RunInfo& run) {
  double low = std::numeric_limits<double>::infinity();
  double high = -low;
  for (std::size_t r = 0; r < rows_.size(); ++r) {
    for (std::size_t c = 0; c < cols_.size(); ++c) {
      double sum = 0.0;
      Index visible = 0;
      for (Index row = rows_[r].begin; row < rows_[r].end; ++row) {
        for (Index col = cols_[c].begin; col < cols_[c].end; ++col) {
          const double value = run.reference_scores.at(row, col);
          if (!std::isfinite(value)) continue;
          sum += value;
          ++visible;
        }
      }
      const double mean = visible > 0 ? sum / static_cast<double>(visible)
                                      : -std::numeric_limits<double>::infinity();
      means_[r * cols_.size() + c] = mean;
      if (visible == 0) continue;
      low = std::min(low, mean);
      high = std::max(high, mean);
    }
  }
  if (low <= high) range_ = {low, high};
}

}  // namespace attnscope::app
