/// Rounding of doubles to the storage types fp32, fp16 and bf16, to nearest, ties to even.
///
/// Each conversion rounds once, directly from the double: rounding to float first would round twice
/// and mishandle some ties. Subnormals are kept; values beyond the largest finite one become
/// infinities, as in IEEE 754; infinities and NaN are unchanged.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "reference/attention_problem.h"

namespace attnscope {

/// A hidden score is -kInfinity, and so are the maximum and LSE of a row without keys.
inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// A binary floating-point format narrower than double.
struct FloatFormat {
  int fraction_bits;  ///< stored bits of the significand
  int min_exponent;   ///< of the smallest normal number, 2^min_exponent
  double max_finite;
};

inline constexpr FloatFormat kFp32Format{23, -126, 0x1.fffffep127};
inline constexpr FloatFormat kFp16Format{10, -14, 0x1.ffcp15};
inline constexpr FloatFormat kBf16Format{7, -126, 0x1.fep127};

constexpr const FloatFormat& format_of(DType dtype) {
  return dtype == DType::fp32 ? kFp32Format : dtype == DType::fp16 ? kFp16Format : kBf16Format;
}

namespace detail {

/// Layout of an IEEE double.
inline constexpr int kDoubleFractionBits = 52;
inline constexpr std::uint64_t kDoubleSignBit = std::uint64_t{1} << 63;

/// Rounds to `format`, a compile-time constant in every call, so that the compiler removes the
/// branches below.
inline double round_to_format(const FloatFormat& format, double x) {
  const std::uint64_t bits = std::bit_cast<std::uint64_t>(x);
  const double magnitude = std::bit_cast<double>(bits & ~kDoubleSignBit);
  const double smallest_normal = std::bit_cast<double>(
      static_cast<std::uint64_t>(format.min_exponent + 1023) << kDoubleFractionBits);
  if (!(magnitude <= std::numeric_limits<double>::max())) return x;  // infinity or NaN

  // Round a subnormal result on the fixed grid 2^(min_exponent - fraction_bits)
  if (magnitude < smallest_normal) {
    const int grid_exponent = format.min_exponent - format.fraction_bits;
    const double anchor =
        std::bit_cast<double>(static_cast<std::uint64_t>(grid_exponent + kDoubleFractionBits + 1023)
                              << kDoubleFractionBits);  // its unit in the last place is the grid
    return std::copysign((magnitude + anchor) - anchor, x);
  }

  // Round the significand in place; a carry correctly increments the exponent
  const int dropped_bits = kDoubleFractionBits - format.fraction_bits;
  const std::uint64_t last_kept = (bits >> dropped_bits) & 1;
  const std::uint64_t below_half = (std::uint64_t{1} << (dropped_bits - 1)) - 1;
  const std::uint64_t kept_mask = ~((std::uint64_t{1} << dropped_bits) - 1);
  const double rounded = std::bit_cast<double>((bits + below_half + last_kept) & kept_mask);
  if (std::fabs(rounded) > format.max_finite) {
    return std::copysign(std::numeric_limits<double>::infinity(), x);
  }
  return rounded;
}

}  // namespace detail

/// The value of `x` after storage as `dtype`.
inline double round_to(DType dtype, double x) {
  switch (dtype) {
    case DType::fp32:
      return static_cast<double>(static_cast<float>(x));
    case DType::fp16:
      return detail::round_to_format(kFp16Format, x);
    case DType::bf16:
      return detail::round_to_format(kBf16Format, x);
  }
  return x;
}

/// Distance from |x| to the next larger magnitude that `dtype` stores: one unit in the last place.
inline double unit_in_last_place(DType dtype, double x) {
  const FloatFormat& format = format_of(dtype);
  if (!std::isfinite(x)) return std::numeric_limits<double>::quiet_NaN();
  const int exponent = x == 0.0 ? format.min_exponent : std::ilogb(x);
  return std::ldexp(1.0, std::max(exponent, format.min_exponent) - format.fraction_bits);
}

/// Bit pattern of `x` stored as bfloat16. Every NaN becomes the quiet NaN of its sign.
inline std::uint16_t to_bf16_bits(double x) {
  const std::uint16_t sign = std::signbit(x) ? 0x8000u : 0u;
  if (std::isnan(x)) return static_cast<std::uint16_t>(sign | 0x7fc0u);
  const float rounded = static_cast<float>(detail::round_to_format(kBf16Format, x));
  return static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(rounded) >> 16);
}

inline double from_bf16_bits(std::uint16_t bits) {
  return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16));
}

/// Bit pattern of `x` stored as IEEE half precision. Every NaN becomes the quiet NaN of its sign.
inline std::uint16_t to_fp16_bits(double x) {
  const std::uint16_t sign = std::signbit(x) ? 0x8000u : 0u;
  if (std::isnan(x)) return static_cast<std::uint16_t>(sign | 0x7e00u);
  const double magnitude = std::fabs(detail::round_to_format(kFp16Format, x));
  if (std::isinf(magnitude)) return static_cast<std::uint16_t>(sign | 0x7c00u);
  if (magnitude < 0x1p-14) {  // subnormal: a whole number of 2^-24
    return static_cast<std::uint16_t>(sign | static_cast<std::uint16_t>(magnitude * 0x1p24));
  }
  // Rebias the exponent from 1023 to 15; the rounded fraction's low 42 bits are zero
  const std::uint64_t bits = std::bit_cast<std::uint64_t>(magnitude);
  constexpr std::uint64_t kRebias = std::uint64_t{1023 - 15} << detail::kDoubleFractionBits;
  return static_cast<std::uint16_t>(sign | static_cast<std::uint16_t>((bits - kRebias) >> 42));
}

inline double from_fp16_bits(std::uint16_t bits) {
  const int exponent = (bits >> 10) & 0x1f;
  const int fraction = bits & 0x3ff;
  double magnitude = 0.0;
  if (exponent == 0) {
    magnitude = fraction * 0x1p-24;
  } else if (exponent == 0x1f) {
    magnitude = fraction == 0 ? std::numeric_limits<double>::infinity()
                              : std::numeric_limits<double>::quiet_NaN();
  } else {
    magnitude = std::ldexp(1024 + fraction, exponent - 25);
  }
  return (bits & 0x8000u) != 0 ? -magnitude : magnitude;
}

}  // namespace attnscope
