/// Lengths of queries and keys that forward and backward kernels are tested at.
#pragma once

#include <cstdint>
#include <span>
#include <utility>

#include "reference/attention_problem.h"

namespace attnscope::kernels {

using Size = std::pair<Index, Index>;  ///< N, N_kv

inline constexpr Size kSizes[] = {
    {64, 64},   {1, 1},     {1, 147},   {1, 239},   {3, 799},   {100, 100},
    {113, 203}, {128, 217}, {113, 211}, {108, 256}, {256, 512}, {512, 256},
    {239, 1},   {799, 3},   {97, 97},   {200, 384}, {384, 384},
};
/// The sizes of the tests in the flash-attention sources that are not listed above.
inline constexpr Size kMoreSizes[] = {
    {64, 128},  {128, 128}, {200, 200}, {127, 512}, {127, 513}, {203, 113},
    {217, 128}, {211, 113}, {256, 108}, {512, 127}, {513, 127}, {768, 768},
};
inline constexpr Size kLongSizes[] = {{1023, 1024}, {1024, 1023}, {1024, 1024}, {1025, 1025}};

/// Calls check(size, mask, seed) for each size, without a mask and under a causal one, with seeds
/// from `seed` on.
template <typename Check>
void at_sizes(std::span<const Size> sizes, std::uint64_t seed, const Check& check) {
  for (const Size& size : sizes) {
    for (const Mask& mask : {Mask::none(), Mask::causal()}) check(size, mask, seed++);
  }
}

}  // namespace attnscope::kernels
