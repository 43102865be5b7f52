#include <limits>

#include "app/panels/scores_frame.h"

namespace attnscope::app {

namespace {

/// Most cells along an axis, apart from those that an edge of the part or of a tile cuts.
constexpr Index kMaxCells = 64;

/// The mean of the scores in each cell, C order.
std::vector<double> means_of(const ValueTile& scores, const std::vector<CellSpan>& rows,
                             const std::vector<CellSpan>& cols) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  std::vector<double> means;
  means.reserve(rows.size() * cols.size());
  for (const CellSpan& row_span : rows) {
    for (const CellSpan& col_span : cols) {
      double sum = 0.0;
      Index visible = 0;
      for (Index row = row_span.begin; row < row_span.end; ++row) {
        for (Index col = col_span.begin; col < col_span.end; ++col) {
          const double value = scores.at(row, col);
          if (!std::isfinite(value)) continue;
          sum += value;
          ++visible;
        }
      }
      means.push_back(visible > 0 ? sum / static_cast<double>(visible) : -kInfinity);
    }
  }
  return means;
}

}  // namespace

Index cell_size(const Span& part, Index tile_size) {
  const Index tiles = ceil_div(part.end, tile_size) - part.begin / tile_size;
  if (tiles > kMaxCells) return ceil_div(tiles, kMaxCells) * tile_size;
  return std::max<Index>(ceil_div(std::min(tile_size, part.size()), kMaxCells / tiles), 1);
}

std::vector<CellSpan> cut_axis(const Span& part, Index count, Index tile_size, Index cell) {
  std::vector<CellSpan> spans;
  const Index stretch =
      std::max(cell, tile_size);  // whole cells, in one tile or several whole ones
  for (Index begin = part.begin / stretch * stretch; begin < part.end; begin += stretch) {
    const Index past = std::min(begin + stretch, count);
    const Index skipped = std::max<Index>(part.begin - begin, 0) / cell * cell;
    for (Index at = begin + skipped; at < std::min(past, part.end); at += cell) {
      spans.push_back({at, std::min(at + cell, past), at / tile_size});
    }
  }
  return spans;
}

ScoreCells::ScoreCells(const RunInfo& run, const Area& part)
    : size{cell_size(part.rows, run.tiling().Br), cell_size(part.cols, run.tiling().Bc)},
      rows(cut_axis(part.rows, run.problem().N, run.tiling().Br, size.rows)),
      cols(cut_axis(part.cols, run.problem().N_kv, run.tiling().Bc, size.cols)) {
  if (run.reference_scores.values.empty()) {
    means.assign(rows.size() * cols.size(), std::numeric_limits<double>::quiet_NaN());
  } else {
    means = means_of(run.reference_scores, rows, cols);
  }
}

draw::ValueRange score_scale(const RunInfo& run, const Shape& cell) {
  const ValueTile& scores = run.reference_scores;
  if (scores.values.empty() || cell == Shape{1, 1}) return draw::range_of(scores);
  const auto rows = cut_axis({0, scores.rows}, scores.rows, run.tiling().Br, cell.rows);
  const auto cols = cut_axis({0, scores.cols}, scores.cols, run.tiling().Bc, cell.cols);
  return draw::range_of({std::ssize(rows), std::ssize(cols), means_of(scores, rows, cols)});
}

}  // namespace attnscope::app
