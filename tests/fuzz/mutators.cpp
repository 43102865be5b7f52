/// Mutators of bytes and of text.
#include <algorithm>
#include <array>

#include "tests/fuzz/fuzz_target.h"

namespace attnscope::fuzz {

namespace {

constexpr std::string_view kWords[] = {"\x93NUMPY\x01\x00",
                                       "'descr': ",
                                       "'fortran_order': ",
                                       "'shape': ",
                                       "True",
                                       "False",
                                       "(1, 1, 4, 2), }",
                                       "(4,)",
                                       "()",
                                       "'<f2'",
                                       "'<f4'",
                                       "'<f8'",
                                       "'|b1'",
                                       "'<i8'",
                                       "'>f8'",
                                       "9223372036854775807",
                                       "9223372036854775808",
                                       "-9223372036854775808",
                                       "18446744073709551615",
                                       "4611686018427387904",
                                       "4294967296",
                                       "2147483648",
                                       "134217728",
                                       "-1",
                                       "0",
                                       "1",
                                       "64",
                                       "1e308",
                                       "5e-324",
                                       "0x10",
                                       "nan",
                                       "inf",
                                       "1.5",
                                       ",",
                                       ":",
                                       "+",
                                       "=",
                                       "none",
                                       "causal",
                                       "window:",
                                       ":top-left",
                                       "random:",
                                       "uniform:",
                                       "local-global:",
                                       "butterfly",
                                       "0.5",
                                       "standard",
                                       "largest",
                                       "KiB",
                                       "MB",
                                       "seq-len=",
                                       "algorithm=flash1,flash2",
                                       "pass",
                                       "mask",
                                       "\xc2\x85",
                                       "\xff",
                                       "\xe2"};

/// Replaces the decimal number at or after a random position in the text.
std::string replace_number(std::string text, Random& random) {
  const std::size_t from = text.find_first_of("0123456789", random.below(text.size() + 1));
  if (from == text.npos) return text;
  const std::size_t to = std::min(text.find_first_not_of("0123456789", from), text.size());
  constexpr std::string_view kNumbers[] = {"0",
                                           "1",
                                           "2",
                                           "7",
                                           "63",
                                           "64",
                                           "65",
                                           "1024",
                                           "16777216",
                                           "134217728",
                                           "134217729",
                                           "2147483647",
                                           "4294967295",
                                           "9007199254740993",
                                           "9223372036854775807",
                                           "9223372036854775808",
                                           "18446744073709551616"};
  return text.replace(from, to - from, random.pick(kNumbers));
}

}  // namespace

std::string mutate_bytes(std::string_view input, Random& random) {
  std::string text(input);
  for (std::size_t changes = 1 + random.below(4); changes > 0; --changes) {
    const std::size_t at = random.below(text.size() + 1);
    switch (random.below(8)) {
      case 0:
        if (at < text.size()) text[at] = static_cast<char>(random.below(256));
        break;
      case 1:
        if (at < text.size()) text[at] = static_cast<char>(text[at] ^ (1 << random.below(8)));
        break;
      case 2:
        text.insert(at, random.pick(kWords));
        break;
      case 3:
        text.erase(at, 1 + random.below(16));
        break;
      case 4: {
        const std::string piece = text.substr(at, 1 + random.below(64));
        text.insert(random.below(text.size() + 1), piece);
        break;
      }
      case 5:
        text = replace_number(std::move(text), random);
        break;
      case 6:
        text.insert(at, 1 + random.below(random.one_in(64) ? 4096 : 16),
                    static_cast<char>(random.below(256)));
        break;
      default:
        text.resize(at);
        break;
    }
  }
  return text;
}

std::string mutate_text(std::string_view input, Random& random) {
  if (random.one_in(3)) return mutate_bytes(input, random);
  std::string text(input);
  if (random.one_in(2)) text = replace_number(std::move(text), random);
  if (random.one_in(2)) {
    const std::size_t at = random.below(text.size() + 1);
    text.insert(at, random.pick(kWords));
  }
  if (random.one_in(4)) text += random.pick(std::array{',', ':', '+', '=', ' '});
  if (random.one_in(4)) text += random.pick(kWords);
  return text;
}

std::string enlarged(std::string_view input, Random& random) {
  constexpr std::size_t kBytes = 10'000'000;
  constexpr std::size_t kDepth = 1'000'000;
  constexpr std::string_view kNests[] = {"[", "{\"problem\":", "(", "[[1],"};
  const std::string_view first = input.substr(0, random.below(input.size() + 1));
  const std::size_t halvings = random.below(10);
  std::string text(first);
  if (random.one_in(2)) {
    text.append(kBytes >> halvings, first.empty() ? 'x' : first.back());
  } else {
    const std::string_view nest = random.pick(kNests);
    for (std::size_t level = 0; level < kDepth >> halvings; ++level) text += nest;
  }
  return text += input.substr(first.size());
}

}  // namespace attnscope::fuzz
