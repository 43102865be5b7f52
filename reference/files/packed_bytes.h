/// Numbers and blocks of bytes, one after another, for files that are not moved to other machines:
/// numbers are in native byte order.
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

namespace attnscope {

/// Appends the number, or a struct of numbers.
template <typename Number>
void append(std::string& bytes, const Number& number) {
  static_assert(std::is_trivially_copyable_v<Number> && !std::is_pointer_v<Number>);
  bytes.append(reinterpret_cast<const char*>(&number), sizeof number);
}

/// Appends the block after its size.
inline void append_block(std::string& bytes, std::string_view block) {
  append(bytes, static_cast<std::uint64_t>(block.size()));
  bytes += block;
}

/// Removes from the front of the bytes what append() wrote; nothing if there are too few.
template <typename Number>
std::optional<Number> take(std::string_view& bytes) {
  static_assert(std::is_trivially_copyable_v<Number> && !std::is_pointer_v<Number>);
  if (bytes.size() < sizeof(Number)) return std::nullopt;
  Number number;
  std::memcpy(&number, bytes.data(), sizeof number);
  bytes.remove_prefix(sizeof number);
  return number;
}

/// The same for append_block().
inline std::optional<std::string_view> take_block(std::string_view& bytes) {
  const auto size = take<std::uint64_t>(bytes);
  if (!size || *size > bytes.size()) return std::nullopt;
  const std::string_view block = bytes.substr(0, *size);
  bytes.remove_prefix(*size);
  return block;
}

}  // namespace attnscope
