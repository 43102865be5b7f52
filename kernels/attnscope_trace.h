/* What an instrumented kernel records of its thread blocks: a part of the C interface
 * kernels/attnscope_kernels.h, which includes it. */
#ifndef ATTNSCOPE_TRACE_H
#define ATTNSCOPE_TRACE_H

#include <stdint.h>

/* C's own customs: NOLINTBEGIN(modernize-use-using, readability-identifier-naming) */

/* A step of a thread block, as executed by its first warp. This struct never grows. */
typedef struct attnscope_trace_event {
  uint32_t end_cycles; /* low 32 bits of the SM's clock; begins where the previous step ends */
  uint16_t i;          /* row tile; 0 where the step has none */
  uint16_t j;          /* column tile; 0 where the step has none */
  uint8_t step;        /* index into attnscope_trace_step_name() */
  uint8_t done;        /* 0: skipped, since alpha is 1 in all rows of the warp */
  uint16_t reserved[3];
} attnscope_trace_event;

/* A thread block of the traced launch. This struct never grows. */
typedef struct attnscope_trace_block {
  uint64_t begin_ns; /* the GPU's global timer, which ticks in steps */
  uint64_t end_ns;
  uint64_t begin_cycles; /* the SM's clock */
  uint64_t end_cycles;
  int32_t sm;
  int32_t head_index; /* b H + h */
  int32_t block;      /* within the head */
  uint32_t event_count;
} attnscope_trace_block;

/* A row of Q after a column tile, or one warp's part of it if several warps share the tile's keys;
 * NaN where the row has no such tile. This struct never grows. */
typedef struct attnscope_trace_row {
  float m; /* maximum of Q K^T so far, before the scale */
  float l;
  float alpha;
} attnscope_trace_row;

/* The records of the instrumented build of a pass's main launch. Its arrays belong to
 * the session, until its next trace. */
typedef struct attnscope_trace {
  uint32_t struct_size;
  int32_t reserved;
  const char* launch; /* "forward", "partial" or "backward" */
  int64_t block_rows; /* the tiling that ran */
  int64_t block_cols;
  const attnscope_trace_block* blocks;
  uint64_t block_count;
  const attnscope_trace_event* events; /* of block b: event_count from b * events_per_block on */
  uint64_t events_per_block;
  const attnscope_trace_row* rows; /* [row_parts, B, H, rows_per_head, column_tiles] */
  uint64_t row_step;               /* rows 0, row_step, ... of each head; 0: none */
  uint64_t rows_per_head;
  uint64_t column_tiles;
  double time_s;       /* one pass with the instrumented build, by CUDA events */
  double plain_time_s; /* one pass without */
  /* Warps that share the keys of each column tile (split_kv): warp w of P has keys
   * [w Bc / P, (w + 1) Bc / P) and its own m, l and alpha. 1: one warp has the whole row. A caller
   * without this field receives no rows of more than one part. */
  uint64_t row_parts;
} attnscope_trace;

/* NOLINTEND(modernize-use-using, readability-identifier-naming) */

#endif
