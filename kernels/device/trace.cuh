/// A kernel's observer, its template parameter Trace: NoTrace, whose hooks compile to nothing, or
/// BlockTrace, which records. The kernel's source is the same for both; a hook follows the code
/// that it names.
#pragma once

#include "kernels/device/clocks.cuh"
#include "kernels/device/place.cuh"
#include "kernels/device/trace_buffer.cuh"

namespace attnscope::kernels::device {

/// Records nothing and costs nothing: the kernel has the same parameters, registers and
/// instructions as without hooks (tests/kernels/compile/trace_hooks_test.cpp compares the code).
struct NoTrace {
  template <typename KernelParameters>
  using Parameters = KernelParameters;

  template <typename KernelParameters>
  __device__ NoTrace(const KernelParameters&, int, int = 0) {}
  __device__ void did(TraceStep, int, int, bool = true) {}
  template <typename Tiles>
  __device__ void did_nth(TraceStep, int, const Tiles&, int, bool = true) {}
  template <typename Statistic, typename RowSum>
  __device__ void rows(int, int, const Statistic&, const Statistic&, const RowSum&, int = 0) {}
  __device__ void row(bool, int, int, float, float, float, int = 0) {}
  __device__ void end() {}
};

/// Thread 0 writes the block's events; the first of the lanes that share a row writes the row.
/// Offsets in a trace of at most kMaxTraceBytes fit in 32 bits.
class BlockTrace {
 public:
  template <typename KernelParameters>
  using Parameters = TracedParameters<KernelParameters>;

  /// `block` is the block's number within its head. A block that does the work of several has a
  /// trace for each, with its own `record`. All heads have the same number of records, stored head
  /// by head.
  template <typename TracedParameters>
  __device__ BlockTrace(const TracedParameters& parameters, int block, int record = block_index())
      : buffer_(parameters.trace), record_(record) {
    if (!writes_events()) return;
    TraceBlock& record_of_block = buffer_.blocks[record_];
    record_of_block.sm = sm_index();
    record_of_block.head_index = record_ / buffer_.blocks_per_head;
    record_of_block.block = block;
    record_of_block.begin_ns = global_timer_ns();
    record_of_block.begin_cycles = clock_cycles();
  }

  /// Records the end of a step on tile (i, j); `done` is false if it was skipped.
  __device__ void did(TraceStep step, int i, int j, bool done = true) {
    if (writes_events() && count_ < buffer_.events_per_block) {
      const uint32_t tile = static_cast<unsigned>(i) | static_cast<unsigned>(j) << 16;
      const uint32_t what = static_cast<unsigned>(step) | static_cast<unsigned>(done) << 8;
      const int64_t first = static_cast<int64_t>(record_) * buffer_.events_per_block;
      auto* const event = reinterpret_cast<uint2*>(buffer_.events + first + count_);
      event[0] = {clock_low(), tile};
      event[1] = {what, 0};
    }
    ++count_;
  }

  /// The same on column tile tiles[n], which is read here so that only a trace reads it.
  template <typename Tiles>
  __device__ void did_nth(TraceStep step, int i, const Tiles& tiles, int n, bool done = true) {
    did(step, i, tiles[n], done);
  }

  /// Records m, l and alpha of a warp's rows after column tile j. The rows are those of
  /// RowStatistic, from `first_row` of the head on; `l_of(row)`, called by all lanes, gives the
  /// whole sum. `part` is the warp if the block's warps share the keys of a tile.
  template <int kRows, typename RowSum>
  __device__ void rows(int first_row, int j, const float (&m)[kRows], const float (&alpha)[kRows],
                       const RowSum& l_of, int part = 0) {
    if (buffer_.row_step == 0) return;
    const int lane = thread_index() % 32;
#pragma unroll
    for (int row = 0; row < kRows; ++row) {
      const float l = l_of(row);
      const int query = first_row + row * 8 + lane / 4;
      this->row(lane % 4 == 0, query, j, m[row], l, alpha[row], part);
    }
  }

  /// The same for one row, from the lane that `writes`.
  __device__ void row(bool writes, int query, int j, float m, float l, float alpha, int part = 0) {
    if (!writes || buffer_.row_step == 0 || query % buffer_.row_step != 0) return;
    const int kept = query / buffer_.row_step;
    if (kept >= buffer_.rows_per_head) return;
    const int head_index = record_ / buffer_.blocks_per_head;
    const int place = (head_index * buffer_.rows_per_head + kept) * buffer_.column_tiles + j;
    buffer_.rows[place + part * buffer_.rows_of_part] = {m, l, alpha};
  }

  __device__ void end() {
    if (!writes_events()) return;
    TraceBlock& record_of_block = buffer_.blocks[record_];
    record_of_block.end_cycles = clock_cycles();
    record_of_block.end_ns = global_timer_ns();
    record_of_block.event_count = static_cast<uint32_t>(count_);
  }

 private:
  __device__ static bool writes_events() {
    return thread_index() == 0;
  }

  const TraceBuffer& buffer_;
  const int record_;
  int count_ = 0;
};

}  // namespace attnscope::kernels::device
