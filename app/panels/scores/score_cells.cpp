#include <algorithm>
#include <cmath>
#include <limits>

#include "app/panels/scores/scores_frame.h"

namespace attnscope::app {

namespace {

/// Largest number of cells along an axis, not counting those cut by an edge of the part or of a
/// tile.
constexpr Index kMaxCells = 64;

/// For each column, the sum and the number of the visible elements in a range of rows. An element
/// with S = -inf is hidden. Plain loops over arrays, which the compiler vectorises: this runs on
/// the drawing thread, over the whole tensor, when a run arrives.
struct ColumnSums {
  explicit ColumnSums(Index cols)
      : sums(static_cast<std::size_t>(cols)), visible(static_cast<std::size_t>(cols)) {}

  void clear() {
    std::ranges::fill(sums, 0.0);
    std::ranges::fill(visible, 0.0);
  }

  void add_row(const double* values, const double* S, std::size_t begin, std::size_t end) {
    constexpr double kMost = std::numeric_limits<double>::max();
    double* const sum = sums.data();
    double* const count = visible.data();
    for (std::size_t col = begin; col < end; ++col) {
      const bool finite = std::abs(S[col]) <= kMost;
      sum[col] += finite ? values[col] : 0.0;
      count[col] += finite ? 1.0 : 0.0;
    }
  }

  std::vector<double> sums, visible;
};

/// The mean of the visible elements in each cell, row by row; -inf if all are hidden.
std::vector<double> means_of(const ValueTile& values, const ValueTile& S,
                             const std::vector<CellSpan>& rows, const std::vector<CellSpan>& cols) {
  std::vector<double> means;
  if (rows.empty() || cols.empty()) return means;
  means.reserve(rows.size() * cols.size());
  const auto begin = static_cast<std::size_t>(cols.front().begin);
  const auto end = static_cast<std::size_t>(cols.back().end);
  ColumnSums columns(values.cols);
  for (const CellSpan& row_span : rows) {
    columns.clear();
    for (Index row = row_span.begin; row < row_span.end; ++row) {
      const Index at = row * values.cols;
      columns.add_row(values.values.data() + at, S.values.data() + at, begin, end);
    }
    for (const CellSpan& col_span : cols) {
      double sum = 0.0;
      double visible = 0.0;
      for (auto col = static_cast<std::size_t>(col_span.begin);
           col < static_cast<std::size_t>(col_span.end); ++col) {
        sum += columns.sums[col];
        visible += columns.visible[col];
      }
      means.push_back(visible > 0.0 ? sum / visible : -std::numeric_limits<double>::infinity());
    }
  }
  return means;
}

/// The magnitude that this share of the finite values does not exceed, from a sample of at most
/// 2^16 values.
double quantile(const std::vector<double>& values, double share) {
  constexpr std::size_t kMostLookedAt = std::size_t{1} << 16;
  const std::size_t stride = values.size() / kMostLookedAt * 2 + 1;  // odd: samples every column
  std::vector<double> sample;
  for (std::size_t k = 0; k < values.size(); k += stride) {
    if (std::isfinite(values[k])) sample.push_back(std::abs(values[k]));
  }
  if (sample.empty()) return 0.0;
  const auto at = static_cast<std::ptrdiff_t>(share * static_cast<double>(sample.size() - 1));
  std::ranges::nth_element(sample, sample.begin() + at);
  return sample[static_cast<std::size_t>(at)];
}

/// The means of the whole tensor in cells of the same size, taken from `cells` if it covers all.
ValueTile whole_cells(const RunInfo& run, const ScoreCells& cells) {
  const ValueTile& values = run.scores(cells.tensor).values;
  const auto rows = cut_axis({0, values.rows}, values.rows, run.tiling().Br, cells.size.rows);
  const auto cols = cut_axis({0, values.cols}, values.cols, run.tiling().Bc, cells.size.cols);
  const bool are_all = rows.size() == cells.rows.size() && cols.size() == cells.cols.size();
  return {std::ssize(rows), std::ssize(cols),
          are_all ? cells.means : means_of(values, run.scores(Tensor::S).values, rows, cols)};
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

ScoreCells::ScoreCells(const RunInfo& run, Tensor shown, const Area& part)
    : tensor(shown),
      size{cell_size(part.rows, run.tiling().Br), cell_size(part.cols, run.tiling().Bc)},
      rows(cut_axis(part.rows, run.problem().N, run.tiling().Br, size.rows)),
      cols(cut_axis(part.cols, run.problem().N_kv, run.tiling().Bc, size.cols)) {
  const ValueTile& values = run.scores(tensor).values;
  if (values.values.empty()) {
    means.assign(rows.size() * cols.size(), std::numeric_limits<double>::quiet_NaN());
  } else {
    means = means_of(values, run.scores(Tensor::S).values, rows, cols);
  }
}

draw::ValueRange score_scale(const RunInfo& run, const ScoreCells& cells) {
  constexpr double kShare = 0.98;
  const ValueTile& values = run.scores(cells.tensor).values;
  if (values.values.empty()) return {};
  if (cells.tensor == Tensor::S && cells.is_exact()) return draw::range_of(values);
  const ValueTile whole = whole_cells(run, cells);
  if (cells.tensor == Tensor::S) return draw::range_of(whole);
  const double high = quantile(whole.values, kShare);
  return {cells.tensor == Tensor::P ? 0.0 : -high, high};
}

Tensor shown_scores(const Snapshot& snapshot, ScoresTab chosen) {
  const RunInfo& run = *snapshot.run;
  const std::vector<ScoresTab> tabs = scores_tabs(run);
  if (chosen != ScoresTab::latest && std::ranges::find(tabs, chosen) != tabs.end()) {
    return kScoreTensors[static_cast<std::size_t>(chosen) - 1];
  }
  // Flash algorithms compute S, P and their gradients tile by tile, so show S, the first
  std::optional<Tensor> latest;
  for (const Tensor tensor : kScoreTensors) {
    const std::int32_t complete = run.scores(tensor).complete_from;
    if (complete < 0) continue;
    const bool whole_rows = run.algorithm->softmax == SoftmaxForm::whole_rows;
    if (!latest || (whole_rows && complete <= snapshot.step)) latest = tensor;
  }
  return latest.value_or(Tensor::S);
}

std::vector<ScoresTab> scores_tabs(const RunInfo& run) {
  std::vector<ScoresTab> tabs{ScoresTab::latest};
  for (std::size_t k = 0; k < kScoreTensors.size(); ++k) {
    const bool in_pass = run.score_matrices[k].complete_from >= 0;
    if (in_pass) tabs.push_back(static_cast<ScoresTab>(k + 1));
  }
  return tabs;
}

}  // namespace attnscope::app
