#include "sim/ops/tile_loop.h"

namespace attnscope {

void TileLoop::open_section() {
  section_ = -1;
  if (!program_.counts_only() || range_.empty()) return;
  // The last iterations of a run of equal tiles look ahead into the next run
  equal_ = equal_tiles_(g_, fixed_, range_, range_.first) - (period_ - 1);
  if (equal_ <= period_) return;
  program_.mark();
  section_ = 0;
}

void TileLoop::advance() {
  ++range_.first;
  if (section_ < 0) return open_section();
  --equal_;
  if (++section_ < period_) return;

  // A period is complete: count the rest of the run, or run another period
  const Index times = equal_ / period_;
  const bool repeats = times > 0 && program_.repeatable();
  program_.repeat(repeats ? times : 0);
  if (repeats) {
    range_.first += static_cast<std::int32_t>(times * period_);
    equal_ -= times * period_;
  }
  if (equal_ <= period_) return open_section();
  program_.mark();
  section_ = 0;
}

TileLoop columns_of_row(const TileGrid& g, std::int32_t i, const TileRange& columns,
                        Program& program, Index period) {
  const auto equal = [](const TileGrid& grid, std::int32_t row, const TileRange& range,
                        std::int32_t position) { return grid.equal_columns(row, range, position); };
  return {g, i, columns, equal, program, period};
}

TileLoop rows_of_column(const TileGrid& g, std::int32_t j, const TileRange& rows, Program& program,
                        Index period) {
  const auto equal = [](const TileGrid& grid, std::int32_t column, const TileRange& range,
                        std::int32_t position) { return grid.equal_rows(column, range, position); };
  return {g, j, rows, equal, program, period};
}

TileLoop whole_columns(const TileGrid& g, Program& program) {
  const auto equal = [](const TileGrid& grid, std::int32_t /*fixed*/, const TileRange& range,
                        std::int32_t position) {
    return grid.equal_whole_columns(range.at(position), true);
  };
  return {g, 0, g.column_tiles(), equal, program};
}

TileLoop equal_parts(const TileGrid& g, std::int32_t count, Program& program) {
  const auto equal = [](const TileGrid& /*grid*/, std::int32_t /*fixed*/, const TileRange& range,
                        std::int32_t position) { return Index{range.past_last} - position; };
  return {g, 0, {0, count}, equal, program};
}

}  // namespace attnscope
