/// The libFuzzer program of one target, ATTNSCOPE_FUZZ_TARGET.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>

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

/// Defaults, which ASAN_OPTIONS of the environment overrides: recording the stack of each
/// allocation and keeping 256 MB of freed memory, more than a cache holds, would take up to a third
/// of the time. To see where a finding's memory was allocated, run its file with
/// malloc_context_size=30.
extern "C" const char* __asan_default_options() {
  return "malloc_context_size=0:quarantine_size_mb=16";
}

/// An exception thrown by the target ends the program, and libFuzzer keeps the input. libFuzzer's
/// inputs are short, so one in kOneIn also runs enlarged.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::size_t kOneIn = 10'000;
  const std::string_view input = text_of(data, size);
  target().run(input);
  const std::size_t hash = std::hash<std::string_view>()(input);
  if (hash % kOneIn != 0) return 0;
  attnscope::fuzz::Random random(hash);
  target().run(attnscope::fuzz::enlarged(input, random));
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
