/// The tiles along the other axis that a thread block visits, in ascending order: the column tiles
/// j of row tile i, or the row tiles i of column tile j. The counterpart of the simulator's
/// TileRange.
#pragma once

#include "kernels/forward_parameters.cuh"

namespace attnscope::kernels::device {

/// all: every tile that the mask leaves visible. listed: only those that a block mask or packed
/// sequences keep.
enum class Visits { all, listed };

/// Usage: for (int n = tiles.first; tiles.has(n); ++n) use(tiles[n]);
template <Visits kVisits>
struct VisitedTiles;

/// [first, past_last): a position is the tile's index itself.
template <>
struct VisitedTiles<Visits::all> {
  int first, past_last;

  __device__ bool has(int position) const { return position < past_last; }
  __device__ int operator[](int position) const { return position; }
  __device__ int first_tile() const { return first; }
  /// The distance to the next tile.
  __device__ int step(int /*position*/) const { return 1; }
};

/// Positions in a list that ends with -1. The list is read from memory at each use, so that a loop
/// keeps neither its end nor a tile in registers.
template <>
struct VisitedTiles<Visits::listed> {
  const int* list;
  static constexpr int first = 0;

  __device__ bool has(int position) const { return (*this)[position] >= 0; }
  __device__ int operator[](int position) const { return __ldg(list + position); }
  /// The first tile; 0 if there is none.
  __device__ int first_tile() const { return max((*this)[first], 0); }
  __device__ int step(int position) const { return (*this)[position + 1] - (*this)[position]; }
};

/// The tiles of a list that are less than a bound.
struct ListedTilesBefore {
  VisitedTiles<Visits::listed> tiles;
  int past_last;
  static constexpr int first = 0;

  __device__ bool has(int position) const {
    const int tile = tiles[position];
    return 0 <= tile && tile < past_last;
  }
  __device__ int operator[](int position) const { return tiles[position]; }
};

/// The tiles that are less than `past_last`, at the same positions.
__device__ inline VisitedTiles<Visits::all> tiles_before(const VisitedTiles<Visits::all>& tiles,
                                                         int past_last) {
  return {tiles.first, min(tiles.past_last, past_last)};
}
__device__ inline ListedTilesBefore tiles_before(const VisitedTiles<Visits::listed>& tiles,
                                                 int past_last) {
  return {tiles, past_last};
}

/// The tiles from `first` up to `past_last`, or those in the lists (kernels/tile_lists.h) of tile
/// `of`.
template <Visits kVisits>
__device__ inline VisitedTiles<kVisits> visited_tiles(const int* lists, int of, int first,
                                                      int past_last) {
  if constexpr (kVisits == Visits::all) {
    return {first, past_last};
  } else {
    return {lists + __ldg(lists + of)};
  }
}

}  // namespace attnscope::kernels::device
