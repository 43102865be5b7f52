/// The bits of dropout, for plain C++ and for CUDA device code. Whether an element of P is dropped
/// depends only on (seed, b, h, query, key), never on the tiling, the thread or the pass, so the
/// backward pass draws the same bits as the forward pass.
#pragma once

#include "reference/fixed_width.h"

#include "reference/host_device.h"
#include "reference/philox.h"

namespace attnscope {

/// The words of the elements (b, h, query, 4 quad) up to (b, h, query, 4 quad + 3); `h` counts
/// query heads. The constant keeps these words distinct from those of inputs with the same seed.
ATTNSCOPE_HOST_DEVICE constexpr PhiloxWords dropout_words(uint64_t seed, uint32_t b, uint32_t h,
                                                          uint32_t query, uint32_t quad) {
  constexpr uint32_t kDropoutStream = 0x64726F70u;  // "drop"
  return philox4x32_10({{quad, query, h, b}}, static_cast<uint32_t>(seed),
                       static_cast<uint32_t>(seed >> 32) ^ kDropoutStream);
}

/// The word of element (b, h, query, key).
ATTNSCOPE_HOST_DEVICE constexpr uint32_t dropout_word(uint64_t seed, uint32_t b, uint32_t h,
                                                      uint32_t query, uint32_t key) {
  return dropout_words(seed, b, h, query, key / 4).word[key % 4];
}

/// An element is dropped if its word is below this. `probability` is in [0, 1).
ATTNSCOPE_HOST_DEVICE constexpr uint32_t dropout_threshold(double probability) {
  return static_cast<uint32_t>(probability * 4294967296.0);
}

}  // namespace attnscope
