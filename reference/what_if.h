/// Changed numbers of the modelled GPU: "twice the exp rate", "half the L2".
#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "reference/tiling.h"

namespace attnscope {

/// Unset members change nothing.
struct WhatIf {
  std::optional<Index> sram_bytes;  ///< shared memory of a thread block
  std::optional<Index> l2_bytes;
  std::optional<Index> sm_count;
  // As multiples of the GPU's
  std::optional<double> sm_clock;     ///< scales the rates of the SMs, not those of L2 and DRAM
  std::optional<double> dram_rate;    ///< bandwidth
  std::optional<double> l2_rate;      ///< bandwidth
  std::optional<double> matrix_rate;  ///< tensor cores, per clock per SM
  std::optional<double> exp_rate;     ///< exponentials, per clock per SM

  bool operator==(const WhatIf&) const = default;
};

/// Limits of the multiples.
inline constexpr double kLeastMultiple = 0.05, kMostMultiple = 20.0;

}  // namespace attnscope
