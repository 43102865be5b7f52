/// Compares the record of a traced kernel with its schedule's stream, thread block by thread block.
/// A kernel prefetches, folds operations into one loop and may reorder those of one tile, so three
/// things are compared, each exactly: the tiles of every kind of step in their order, the order of
/// all copies to the chip, and the order in which tiles are computed. Beyond its schedule a kernel
/// masks the keys that pad the last column tile, and starts loads of column tiles that are padding
/// alone: those are left out. With score functions, and where warps share a tile's keys, each
/// warp masks its own part of a tile if that part has a hidden key; only the first warp's masks are
/// compared.
/// flash2's forward pass with Hopper's instructions computes the scores of the next tile before it
/// adds P V of a tile to O: its tiles must come in that order. Its schedule has agents; only the
/// first consumer records: its own steps, and the producer's loads that it waits for. It skips
/// tiles that are hidden from its rows. In the backward pass for wide heads, two groups of warps
/// share the products of a tile: only those of the recording group are compared in their order.
#pragma once

#include <string>
#include <vector>

#include "kernels/measure/trace/kernel_trace.h"

namespace attnscope {

/// How trace and schedule differ, one line each ("block 2 of head 0: rescale l_i, O_i: 3 recorded,
/// 4 in the schedule"); empty when they agree. Steps that are skipped because alpha is 1 count as
/// executed. `splits` is the number that split_kv uses.
std::vector<std::string> differences_from_schedule(const KernelTrace& trace, Index splits = 1);

/// The number of operations in the traced launch's schedule, over all of its blocks.
Index scheduled_operations(const KernelTrace& trace, Index splits = 1);

}  // namespace attnscope
