/// One element of a generated input, for plain C++ and for CUDA device code, with bit-identical
/// results.
///
/// The value depends only on (kind, seed, tensor, b, h, row, col), never on N, the tiling or the
/// thread. It is an integer times a power of two, both exact in fp32, without transcendental
/// functions or expressions that a compiler could contract.
///
/// gaussian  The sum of twelve uniform 10-bit integers (variance 2^20 - 1), smoothed below its unit
///           by eight further bits: mean 0, variance 1 within 1e-6, |x| < 6, never 0.
/// outlier   gaussian, but about one row in eight of Q and of K is 16 times larger. Logits are of
///           order 1, 16 or 256, for a pair of plain, mixed or outlier rows; finite in fp16.
/// needle    Rows come in blocks of sixteen. Block s of K holds one needle at a row that the seed
///           chooses: 4 u_s + gaussian / 2; u_s is a vector of random signs, one for all heads
///           of the batch entry. The queries of block t are u_s + gaussian / 2 with s = t / 2:
///           their needle is halfway back, visible under a causal mask from block 1 on, with a
///           logit of about 4 sqrt(d). All else is gaussian.
#pragma once

#include "reference/fixed_width.h"

#include "reference/host_device.h"
#include "reference/philox.h"

namespace attnscope {

enum class InputKind : uint8_t { gaussian, outlier, needle };

/// These numbers are part of the generator's key and must never change.
enum class InputTensor : uint32_t { Q = 0, K = 1, V = 2, dO = 3 };

inline constexpr uint32_t kNeedleBlockRows = 16;

namespace detail {

/// Streams of random words for purposes other than elements; no tensor uses these counters.
enum class InputStream : uint32_t { outlier_rows = 16, needle_row = 20, needle_signs = 21 };

ATTNSCOPE_HOST_DEVICE constexpr PhiloxWords input_words(uint64_t seed, uint32_t stream, uint32_t b,
                                                        uint32_t h, uint32_t row, uint32_t col) {
  return philox4x32_10({{row, col | (stream << 16), h, b}}, static_cast<uint32_t>(seed),
                       static_cast<uint32_t>(seed >> 32));
}

/// A Gaussian integer, in units of 2^-19.
ATTNSCOPE_HOST_DEVICE constexpr int32_t gaussian_integer(const PhiloxWords& words) {
  int32_t sum = 0;
  int32_t low_bits = 0;
  for (int w = 0; w < 4; ++w) {
    const uint32_t word = words.word[w];
    sum += static_cast<int32_t>((word & 1023u) + ((word >> 10) & 1023u) + ((word >> 20) & 1023u));
    low_bits = low_bits * 4 + static_cast<int32_t>(word >> 30);
  }
  constexpr int32_t kTwiceMean = 12 * 1023 * 256 + 255;
  return 2 * (sum * 256 + low_bits) - kTwiceMean;
}

ATTNSCOPE_HOST_DEVICE constexpr bool is_outlier_row(uint64_t seed, InputTensor tensor, uint32_t b,
                                                    uint32_t h, uint32_t row) {
  const uint32_t stream =
      static_cast<uint32_t>(InputStream::outlier_rows) + static_cast<uint32_t>(tensor);
  return (input_words(seed, stream, b, h, row, 0).word[0] & 7u) == 0;
}

ATTNSCOPE_HOST_DEVICE constexpr bool is_needle_row(uint64_t seed, uint32_t b, uint32_t row) {
  const uint32_t stream = static_cast<uint32_t>(InputStream::needle_row);
  const PhiloxWords words = input_words(seed, stream, b, 0, row / kNeedleBlockRows, 0);
  return row % kNeedleBlockRows == words.word[0] % kNeedleBlockRows;
}

/// u_s[col] of the needle in block s: 1 or -1.
ATTNSCOPE_HOST_DEVICE constexpr int32_t needle_sign(uint64_t seed, uint32_t b, uint32_t block,
                                                    uint32_t col) {
  const uint32_t stream = static_cast<uint32_t>(InputStream::needle_signs);
  return (input_words(seed, stream, b, 0, block, col).word[0] & 1u) != 0 ? 1 : -1;
}

}  // namespace detail

/// Element (b, h, row, col) of a tensor before it is rounded to the problem's precision. `h` counts
/// query heads for Q and dO, KV heads for K and V. Requires col < 65,536.
ATTNSCOPE_HOST_DEVICE constexpr float input_element(InputKind kind, uint64_t seed,
                                                    InputTensor tensor, uint32_t b, uint32_t h,
                                                    uint32_t row, uint32_t col) {
  constexpr int32_t kOne = 1 << 20;  // the unit below is 2^-20
  constexpr int32_t kOutlierFactor = 16;
  const int32_t half_gaussian = detail::gaussian_integer(
      detail::input_words(seed, static_cast<uint32_t>(tensor), b, h, row, col));
  int32_t value = 2 * half_gaussian;

  const bool is_score_operand = tensor == InputTensor::Q || tensor == InputTensor::K;
  if (kind == InputKind::outlier && is_score_operand) {
    if (detail::is_outlier_row(seed, tensor, b, h, row)) value *= kOutlierFactor;
  } else if (kind == InputKind::needle && is_score_operand) {
    const uint32_t block = row / kNeedleBlockRows;
    if (tensor == InputTensor::Q) {
      value = half_gaussian + detail::needle_sign(seed, b, block / 2, col) * kOne;
    } else if (detail::is_needle_row(seed, b, row)) {
      value = half_gaussian + detail::needle_sign(seed, b, block, col) * 4 * kOne;
    }
  }
  return static_cast<float>(value) * 0x1p-20f;  // exact: at most 24 significant bits
}

}  // namespace attnscope
