/// Philox4x32-10, the counter-based generator of Salmon, Moraes, Dror and Shaw, "Parallel random
/// numbers: as easy as 1, 2, 3" (SC 2011), section 4.3: a keyed bijection of 128-bit counters.
/// Integers only, so the results on the host and on CUDA devices are bit-identical.
#pragma once

#include "reference/fixed_width.h"

#include "reference/host_device.h"

namespace attnscope {

/// Four 32-bit words: a counter, or the random words that it maps to.
struct PhiloxWords {
  uint32_t word[4];
};

/// The ten-round block function. `key_lo` and `key_hi` are the two words of the key.
ATTNSCOPE_HOST_DEVICE constexpr PhiloxWords philox4x32_10(PhiloxWords counter, uint32_t key_lo,
                                                          uint32_t key_hi) {
  constexpr uint64_t kMultiplier0 = 0xD2511F53u;
  constexpr uint64_t kMultiplier1 = 0xCD9E8D57u;
  constexpr uint32_t kWeyl0 = 0x9E3779B9u;  // golden ratio
  constexpr uint32_t kWeyl1 = 0xBB67AE85u;  // sqrt(3) - 1
  constexpr int kRounds = 10;

  for (int round = 0; round < kRounds; ++round) {
    const uint64_t product0 = kMultiplier0 * counter.word[0];
    const uint64_t product1 = kMultiplier1 * counter.word[2];
    counter = {{static_cast<uint32_t>(product1 >> 32) ^ counter.word[1] ^ key_lo,
                static_cast<uint32_t>(product1),
                static_cast<uint32_t>(product0 >> 32) ^ counter.word[3] ^ key_hi,
                static_cast<uint32_t>(product0)}};
    key_lo += kWeyl0;
    key_hi += kWeyl1;
  }
  return counter;
}

}  // namespace attnscope
