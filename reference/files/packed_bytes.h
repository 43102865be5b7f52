/// Numbers and blocks of bytes, one after another, for files that are not moved to other machines:
/// numbers are in native byte order.
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

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

/// Appends each value: a text as append_block() does, any other as append() does.
template <typename... Values>
void append_all(std::string& bytes, const Values&... values) {
  const auto append_one = [&bytes](const auto& value) {
    if constexpr (std::is_convertible_v<decltype(value), std::string_view>) {
      append_block(bytes, value);
    } else {
      append(bytes, value);
    }
  };
  (append_one(values), ...);
}

/// Removes one value from the front of the bytes: a number, or a struct of numbers; a text; or a
/// list after the number of its elements. False if there are too few bytes.
template <typename Number>
bool take_one(std::string_view& bytes, Number& number) {
  static_assert(!std::is_convertible_v<Number, std::string_view>);  // it would refer to elsewhere
  const auto taken = take<Number>(bytes);
  if (taken) number = *taken;
  return taken.has_value();
}
inline bool take_one(std::string_view& bytes, std::string& text) {
  const auto block = take_block(bytes);
  if (block) text = *block;
  return block.has_value();
}
template <typename Value>
bool take_one(std::string_view& bytes, std::vector<Value>& list) {
  std::uint64_t size = 0;
  bool is_whole = take_one(bytes, size);
  while (is_whole && list.size() < size) is_whole = take_one(bytes, list.emplace_back());
  return is_whole;
}

/// Removes the values from the front of the bytes, as take_one() does.
template <typename... Values>
bool take_all(std::string_view& bytes, Values&... values) {
  return (take_one(bytes, values) && ...);
}

}  // namespace attnscope
