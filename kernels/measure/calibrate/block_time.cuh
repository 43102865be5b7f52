/// The times of a microbenchmark's thread block, and the data that an SM reads, in order. Plain
/// data, the same on host and device.
#pragma once

#include "reference/fixed_width.h"

namespace attnscope::kernels {

struct BlockTime {
  uint64_t begin_cycles, end_cycles;  ///< by its SM's clock
  uint64_t begin_ns, end_ns;          ///< by the GPU's timer
  uint32_t sm;                        ///< number of the SM
  uint32_t result;                    ///< written only so that the compiler removes no loop
};

/// The chunks of a region that one SM visits: chunk `first`, then every `step`-th, cyclically.
struct ChunkTurns {
  uint64_t region_bytes;  ///< offset of the region from the beginning of the data
  uint32_t first, step, chunks;
};

/// The steps of a kernel (forward_steps.cuh) to run.
struct StepKind {
  int count;         ///< steps of a block
  int masked;        ///< 0, or kBeyondAllKeys: the mask hides no key, but its cost remains
  int rescaled;      ///< whether O is rescaled in every step, if the kernel does not always do so
  int one_consumer;  ///< whether all consumers but one skip the steps
};
inline constexpr int kBeyondAllKeys = 1 << 24;

/// The bytes of a cache line, which is also the distance between two links of a chain; and the
/// distance between lines that are timed one by one, which reaches all slices of L2.
inline constexpr int kLineBytes = 128, kTimedLineStride = 37 * kLineBytes;

}  // namespace attnscope::kernels
