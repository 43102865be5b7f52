/// Converts doubles to and from the bytes of the storage types. Plain C++.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "reference/attention_problem.h"

namespace attnscope::kernels {

/// The values rounded to `dtype` (to nearest, ties to even), as bytes in memory.
std::vector<std::byte> stored_bytes(DType dtype, std::span<const double> values);

/// The values that the bytes represent, exactly.
std::vector<double> values_of(DType dtype, std::span<const std::byte> bytes);

}  // namespace attnscope::kernels
