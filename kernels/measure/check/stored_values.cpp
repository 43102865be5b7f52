#include "kernels/measure/check/stored_values.h"

#include <cstring>

#include "reference/rounding.h"

namespace attnscope::kernels {

namespace {

template <typename Stored, typename Convert>
std::vector<std::byte> encode(std::span<const double> values, Convert convert) {
  std::vector<std::byte> bytes(values.size() * sizeof(Stored));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const Stored stored = convert(values[i]);
    std::memcpy(&bytes[i * sizeof stored], &stored, sizeof stored);
  }
  return bytes;
}

template <typename Stored, typename Convert>
std::vector<double> decode(std::span<const std::byte> bytes, Convert convert) {
  std::vector<double> values(bytes.size() / sizeof(Stored));
  for (std::size_t i = 0; i < values.size(); ++i) {
    Stored stored;
    std::memcpy(&stored, &bytes[i * sizeof stored], sizeof stored);
    values[i] = convert(stored);
  }
  return values;
}

}  // namespace

std::vector<std::byte> stored_bytes(DType dtype, std::span<const double> values) {
  switch (dtype) {
    case DType::fp16:
      return encode<std::uint16_t>(values, to_fp16_bits);
    case DType::bf16:
      return encode<std::uint16_t>(values, to_bf16_bits);
    case DType::fp32:
      break;
  }
  return encode<float>(values, [](double value) { return static_cast<float>(value); });
}

std::vector<double> values_of(DType dtype, std::span<const std::byte> bytes) {
  switch (dtype) {
    case DType::fp16:
      return decode<std::uint16_t>(bytes, from_fp16_bits);
    case DType::bf16:
      return decode<std::uint16_t>(bytes, from_bf16_bits);
    case DType::fp32:
      break;
  }
  return decode<float>(bytes, [](float value) { return static_cast<double>(value); });
}

}  // namespace attnscope::kernels
