/// The 64-bit FNV-1a hash (Fowler, Noll, Vo), which identifies contents.
#pragma once

#include <fmt/core.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace attnscope {

class Fnv1a {
 public:
  /// Adds the number's four bytes, the lowest first.
  void add(std::uint32_t number) {
    for (int shift = 0; shift < 32; shift += 8) hash_ = (hash_ ^ (number >> shift & 0xff)) * kPrime;
  }
  /// Adds the number's eight bytes, the lowest first.
  void add(std::uint64_t number) {
    add(static_cast<std::uint32_t>(number));
    add(static_cast<std::uint32_t>(number >> 32U));
  }
  void add(std::string_view bytes) {
    for (const char byte : bytes) hash_ = (hash_ ^ static_cast<unsigned char>(byte)) * kPrime;
  }
  std::uint64_t value() const { return hash_; }

 private:
  static constexpr std::uint64_t kPrime = 0x100000001b3;
  std::uint64_t hash_ = 0xcbf29ce484222325;
};

/// A hash as written in files: 16 hexadecimal digits.
inline std::string hash_text(std::uint64_t hash) {
  return fmt::format("{:016x}", hash);
}

}  // namespace attnscope
