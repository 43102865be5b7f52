/// Kernels whose memory traffic is known exactly.
#pragma once

#include <cstddef>

#include "kernels/measure/session.h"

namespace attnscope::kernels {

/// Reads and writes each of `bytes` (a multiple of 16) once.
void enqueue_copy(const Session& session, void* to_dev, const void* from_dev, std::size_t bytes);

/// Each of `blocks` thread blocks reads all `bytes` once, bypassing L1.
void enqueue_repeated_read(const Session& session, const void* from_dev, std::size_t bytes,
                           int blocks);

/// Writes to an address without memory.
void enqueue_bad_write(const Session& session);

}  // namespace attnscope::kernels
