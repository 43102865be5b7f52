/// The records of a traced kernel: when each step of each thread block began and ended,
/// and m, l and alpha of chosen rows. Plain data, the same on host and device.
#pragma once

#include "reference/fixed_width.h"

namespace attnscope::kernels {

/// A step of a thread block's program, in the kernel's source. Operations of the schedule that a
/// kernel computes in one loop are one step.
// clang-format off
enum class TraceStep : uint8_t {
  wait,             ///< for copies and for the block's other warps
  load_Qi, load_Kj, load_Vj, load_Oi, load_dOi,  ///< for asynchronous copies: the start
  load_statistics,  ///< mi, li; backward: LSEi, Di (mi, li)
  scores, mask,
  update_max,       ///< m and alpha
  rescale,          ///< l and O, by alpha
  exponentiate,     ///< P and its row sums
  accumulate,       ///< O + P V
  normalize,        ///< O / l; forward: with LSE if the algorithm has it
  store_Oi, store_LSEi,
  store_statistics, ///< li, mi
  product_dP, softmax_gradient, accumulate_dV, accumulate_dK,
  row_dot,          ///< Di = rowsum(dOi * Oi)
  product_dQ,       ///< dQi's part of this tile
  load_dQi, store_dQi,
  add_dQi,          ///< the product, and its atomic adds
  store_dKj, store_dVj,
};
// clang-format on
inline constexpr int kTraceStepCount = 28;

/// One step, as executed by the first warp of the block; other warps do the same on their rows. A
/// step begins when the one before it ends, and ends when its last instruction has been issued;
/// work still in flight belongs to the step that waits for it.
struct TraceEvent {
  uint32_t end_cycles;  ///< low 32 bits of the SM's clock
  uint16_t i;
  uint16_t j;
  TraceStep step;
  uint8_t done;  ///< 0: skipped, since alpha is 1 in all rows of the warp
  uint16_t reserved[3];
};
static_assert(sizeof(TraceEvent) == 16);

/// One thread block. `ns` is the GPU's global timer, which advances in coarse steps; cycles are
/// counted by the SM.
struct TraceBlock {
  uint64_t begin_ns;
  uint64_t end_ns;
  uint64_t begin_cycles;
  uint64_t end_cycles;
  int32_t sm;
  int32_t head_index;    ///< b H + h
  int32_t block;         ///< within the head
  uint32_t event_count;  ///< more than events_per_block: the rest was dropped
};
static_assert(sizeof(TraceBlock) == 48);

/// A row after column tile j, or one warp's part of it if several warps share the tile's keys. m is
/// the maximum of Q K^T before scaling. NaN: no such tile.
struct TraceRow {
  float m;
  float l;
  float alpha;
};

/// The device memory that a kernel writes to.
struct TraceBuffer {
  TraceBlock* blocks = nullptr;  ///< [B, H, blocks_per_head]
  TraceEvent* events = nullptr;  ///< [B, H, blocks_per_head, events_per_block]
  TraceRow* rows = nullptr;      ///< [row_parts, B, H, rows_per_head, column_tiles]
  int32_t events_per_block = 0;
  int32_t blocks_per_head = 1;
  int32_t row_step = 0;  ///< rows 0, row_step, 2 row_step, ... of each head; 0: none
  int32_t rows_per_head = 0;
  int32_t column_tiles = 0;
  int32_t rows_of_part = 0;  ///< entries of `rows` between one part and the next
};

/// The parameters of a kernel, and the buffer that it records into.
template <typename KernelParameters>
struct TracedParameters : KernelParameters {
  TraceBuffer trace;
};

}  // namespace attnscope::kernels
