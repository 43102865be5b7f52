/// Split-KV decoding (Flash-Decoding, as flash-attention's split-KV kernels do it): for few
/// queries, the keys are split over thread blocks as well, because row tiles alone would leave most
/// SMs idle.
#pragma once

#include "sim/schedule/algorithm.h"

namespace attnscope {

/// "partial", the program of one thread block: row tile i and split s of one head,
/// FlashAttention-2's sweep, only over the column tiles of split s. O and LSE of that part go to
/// HBM in fp32 (O_split [N, splits, d], LSE_split [N, splits]); a split without a visible key gives
/// O = 0 and LSE = -inf. "combine": row tile i; merges the parts, O_i = sum over s of
/// exp(LSE_i^s - LSE_i) O_i^s, by an online softmax with LSE_i^s as the scores. Per head: reads
/// splits N d + 2 d (keys visited by each row tile) elements, then splits (N d + N) in fp32; writes
/// as many in fp32, then N d elements and N statistics. Forward only: training has enough queries.
Pass split_kv_forward_pass(const ScheduleOptions& options);

/// One thread block for each row tile and split: block i splits + s.
Index block_per_split(const TileGrid& g);

/// The column tiles of split s: equally many consecutive tiles; the last split may have fewer.
TileRange column_tiles_of_split(const TileGrid& g, std::int32_t s);

}  // namespace attnscope
