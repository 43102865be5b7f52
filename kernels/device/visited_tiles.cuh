/// Which tiles of the other axis a thread block visits: row tile i the column tiles j, or column
/// tile j the row tiles i. The twin of the simulator's TileRange.
#pragma once

#include "kernels/forward_parameters.h"

namespace attnscope::kernels::device {

/// all: every tile that the mask leaves. listed: those of them that a block mask keeps.
enum class Visits { all, listed };

/// Ascending tiles at the positions [first, past_last). With Visits::all a tile is its position,
/// and all of this is gone from the compiled loop; else positions are those of the list.
template <Visits kVisits>
struct VisitedTiles {
  int first, past_last;
  const int* list = nullptr;

  __device__ bool empty() const { return first >= past_last; }
  __device__ int operator[](int position) const {
    return kVisits == Visits::all ? position : __ldg(list + position);
  }
  /// The first of them; 0 where there is none.
  __device__ int first_tile() const {
    if constexpr (kVisits == Visits::all) return first;
    return empty() ? 0 : (*this)[first];
  }
  /// Tiles from here to the next position; the last of a list has an entry behind it.
  __device__ int step(int position) const {
    return kVisits == Visits::all ? 1 : (*this)[position + 1] - (*this)[position];
  }
};

/// The tiles `first` up to `past_last`, or those that the lists name for tile `of`.
template <Visits kVisits>
__device__ inline VisitedTiles<kVisits> visited_tiles(const TileLists& lists, int of, int first,
                                                      int past_last) {
  if constexpr (kVisits == Visits::all) return {first, past_last};
  return {__ldg(lists.offsets + of), __ldg(lists.offsets + of + 1), lists.tiles};
}

}  // namespace attnscope::kernels::device
