/// Finds the operation of a run that a click on a thing jumps to. The operations are regenerated
/// from the schedule, block by block: milliseconds for small runs, a second for millions of
/// operations. Call it in the background.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>

#include "app/seek/thing.h"

namespace attnscope::app {

enum class SeekDirection : std::uint8_t { later, earlier };

/// The first operation after step `from` that touches the thing, or the last one before it; nothing
/// if there is none. A thing that is an operation is found from anywhere. `progress` is called with
/// the fraction of the run that was searched. Throws Cancelled as soon as `cancel` is true.
std::optional<Index> find_operation(const RunInfo& run, const Thing& thing, Index from,
                                    SeekDirection direction, const std::atomic<bool>& cancel,
                                    const std::function<void(double)>& progress = {});

}  // namespace attnscope::app
