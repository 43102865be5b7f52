/// Random device memory for the benches.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/host/device_buffer.h"
#include "reference/input_element.h"
#include "reference/rounding.h"

namespace attnscope::kernels {

/// Fills the buffer with Gaussian values in bf16 that repeat after 2^20 + 7 elements: more than a
/// row tile has.
inline void fill_gaussian(DeviceBuffer& buffer, std::uint64_t seed) {
  constexpr std::size_t kPeriod = (std::size_t{1} << 20) + 7;
  std::vector<std::uint16_t> host(buffer.bytes() / 2);
  for (std::size_t n = 0; n < host.size(); ++n) {
    const auto row = static_cast<std::uint32_t>(n / 64);
    const auto col = static_cast<std::uint32_t>(n % 64);
    host[n] = n < kPeriod ? to_bf16_bits(static_cast<double>(input_element(
                                InputKind::gaussian, seed, InputTensor::Q, 0, 0, row, col)))
                          : host[n - kPeriod];
  }
  buffer.copy_from_host(host.data());
}

}  // namespace attnscope::kernels
