/// The libFuzzer program of one target, ATTNSCOPE_FUZZ_TARGET.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "tests/fuzz/fuzz_target.h"

// libFuzzer's own mutator, for a share of the inputs
extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

namespace {

const attnscope::fuzz::FuzzTarget& target() {
  static const auto& found = attnscope::fuzz::fuzz_target(ATTNSCOPE_FUZZ_TARGET);
  return found;
}

std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

}  // namespace

/// An exception of the target ends the program; libFuzzer keeps the input.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  target().run(text_of(data, size));
  return 0;
}

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t max_size, unsigned int seed) {
  attnscope::fuzz::Random random(seed);
  if (random.one_in(8)) return LLVMFuzzerMutate(data, size, max_size);
  const std::string mutated = target().mutate(text_of(data, size), random);
  const std::size_t kept = std::min(mutated.size(), max_size);
  std::memcpy(data, mutated.data(), kept);
  return kept;
}
