/// Finds the operation of a run that a click on a thing jumps to. The operations are regenerated
/// from the schedule, block by block: milliseconds for small runs, a second for millions of
/// operations, so that the search belongs on a thread of its own.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "app/seek/thing.h"

namespace attnscope::app {

/// The steps of a thread block of a launch.
struct BlockSteps {
  std::size_t launch = 0;
  Index block = 0;  ///< within the head
  Span steps;
};
/// Every thread block of the launch, in order.
std::vector<BlockSteps> blocks_of(const RunInfo& run, std::size_t launch);

/// Calls `see` for the operations of the block with these steps, in order, until it returns false.
/// Throws Cancelled once `cancel`, which may be null, is true.
void for_each_operation(const RunInfo& run, const BlockSteps& block, const Span& steps,
                        const std::atomic<bool>* cancel,
                        const std::function<bool(const Operation&)>& see);

enum class SeekDirection : std::uint8_t { later, earlier };

/// The first operation after step `from` that touches the thing, or the last one before it; nothing
/// if there is none. A thing that is an operation is found from anywhere. `progress` is called with
/// the fraction of the run that was searched. Throws Cancelled once `cancel` is true.
std::optional<Index> find_operation(const RunInfo& run, const Thing& thing, Index from,
                                    SeekDirection direction, const std::atomic<bool>& cancel,
                                    const std::function<void(double)>& progress = {});

}  // namespace attnscope::app
