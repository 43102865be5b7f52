/// Small read-only arrays of a problem in device memory: slopes, boundaries of sequences, lists of
/// tiles. Internal to libattnscope_kernels.so.
#pragma once

#include <cstddef>
#include <span>

namespace attnscope::kernels {

/// The bytes in memory of the current device, 256-byte aligned: uploaded at the first call, kept
/// for the next one with the same content, so that repeated passes pay for it once. What was not
/// asked for lately is freed, after the work on it. Throws CudaError.
const void* device_table(const void* data, std::size_t bytes);

/// The same as elements; null where there are none.
template <typename Element>
const Element* device_table(std::span<const Element> elements) {
  if (elements.empty()) return nullptr;
  return static_cast<const Element*>(device_table(elements.data(), elements.size_bytes()));
}

}  // namespace attnscope::kernels
