/// Kernels whose memory traffic is known exactly.
#pragma once

#include <cstddef>

#include "kernels/measure/session.h"

namespace attnscope::kernels {

/// Enqueues a kernel that reads and writes each of `bytes` bytes (a multiple of 16) once.
void enqueue_copy(const Session& session, void* to_dev, const void* from_dev, std::size_t bytes);

/// Enqueues a kernel whose `blocks` thread blocks each read all `bytes` once, bypassing L1.
void enqueue_repeated_read(const Session& session, const void* from_dev, std::size_t bytes,
                           int blocks);

/// Enqueues a kernel that writes to an address without memory.
void enqueue_bad_write(const Session& session);

}  // namespace attnscope::kernels
