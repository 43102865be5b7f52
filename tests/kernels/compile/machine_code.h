/// Instructions in the machine code of compute capability 9.0, which NVIDIA does not document: each
/// takes 16 bytes, of which the low 12 bits are the opcode, and a branch contains its distance.
#pragma once

#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/compile/compiler.h"

namespace attnscope::kernels {

/// The opcodes of some instructions, in their usual form of operands.
namespace opcode {
inline constexpr unsigned kFfma = 0x223, kFadd = 0x221, kFmul = 0x220, kFmnmx = 0x209,
                          kMufu = 0x308, kF2fp = 0x23e, kLop3 = 0x212, kShfl = 0xf89, kLds = 0x984,
                          kSts = 0x388, kLdsm = 0x83b, kBar = 0xb1d, kHmma = 0x23c, kLdg = 0x981,
                          kStg = 0x986, kRed = 0x9a6, kBra = 0x947,
                          kHgmma = 0x9f0,  ///< both operands in shared memory
    kHgmmaRegisters = 0xdf0;               ///< A in registers
}  // namespace opcode

/// The contents of the section ".text.ENTRY" of an ELF file; empty if there is none.
inline std::string_view code_of(std::string_view cubin, std::string_view entry) {
  const auto read = [&](std::size_t at, auto value) {
    if (at + sizeof(value) <= cubin.size()) std::memcpy(&value, cubin.data() + at, sizeof(value));
    return value;
  };
  const auto headers = read(0x28, std::uint64_t{0});
  const auto header_bytes = read(0x3a, std::uint16_t{0});
  const auto count = read(0x3c, std::uint16_t{0});
  const auto names_section = read(0x3e, std::uint16_t{0});
  const auto begin_of = [&](std::size_t section) {
    return read(headers + section * header_bytes + 0x18, std::uint64_t{0});
  };
  const std::string wanted = ".text." + std::string(entry);
  for (std::size_t section = 0; section < count; ++section) {
    const auto name = read(headers + section * header_bytes, std::uint32_t{0});
    const auto bytes = read(headers + section * header_bytes + 0x20, std::uint64_t{0});
    const std::string_view text = cubin.substr(begin_of(names_section) + name);
    if (text.substr(0, text.find('\0')) == wanted) return cubin.substr(begin_of(section), bytes);
  }
  return {};
}

/// The number of times each opcode occurs in the longest loop, between a backward branch and its
/// target.
inline std::map<unsigned, int> longest_loop(std::string_view code) {
  constexpr std::ptrdiff_t kBytes = 16;
  const auto word = [&](std::ptrdiff_t n, std::ptrdiff_t byte) {
    std::uint64_t value = 0;
    std::memcpy(&value, code.data() + n * kBytes + byte, sizeof(value));
    return value;
  };
  const auto opcode_at = [&](std::ptrdiff_t n) {
    return static_cast<unsigned>(word(n, 0) & 0xfff);
  };
  const auto count = static_cast<std::ptrdiff_t>(code.size()) / kBytes;
  std::ptrdiff_t begin = 0, end = 0;
  for (std::ptrdiff_t n = 0; n < count; ++n) {
    if (opcode_at(n) != opcode::kBra) continue;
    // The distance is in units of 4 bytes from the next instruction: its low 8 bits are stored from
    // bit 16 on, the others from bit 34 on
    const std::uint64_t high = word(n, 0) >> 34U | word(n, 8) << 30U;
    const auto distance = static_cast<std::int32_t>(high << 8U | (word(n, 0) >> 16U & 0xffU));
    const std::ptrdiff_t target = n + 1 + distance / 4;
    if (target >= 0 && target < n && n - target > end - begin) {
      begin = target;
      end = n;
    }
  }
  std::map<unsigned, int> found;
  for (std::ptrdiff_t n = begin; n < end; ++n) ++found[opcode_at(n)];
  return found;
}

/// Opcodes of the code, in order.
inline std::vector<unsigned> opcodes_of(const CompiledKernel& kernel) {
  std::vector<unsigned> opcodes;
  const std::string_view code = code_of(kernel.cubin, kernel.entry);
  for (std::size_t at = 0; at + 16 <= code.size(); at += 16) {
    std::uint16_t low = 0;
    std::memcpy(&low, code.data() + at, sizeof(low));
    opcodes.push_back(low & 0xfffU);
  }
  return opcodes;
}

}  // namespace attnscope::kernels
