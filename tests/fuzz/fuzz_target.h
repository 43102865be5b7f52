/// Fuzzed functions: each parser of files or of text, and whole commands. libFuzzer programs
/// (fuzzer_main.cpp) and a test with generated inputs (fuzz_test.cpp) run the same functions.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "reference/result.h"

namespace attnscope::fuzz {

/// A property that an input broke.
class Finding : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Throws Finding with the message unless the property holds.
inline void require(bool holds, const std::string& message) {
  if (!holds) throw Finding(message);
}

/// Requires that the message is one line of at most kMostMessageBytes, and no internal error.
void require_good_message(std::string_view message);
void require_good_message(const Error& error);

/// Random choices of a mutator; the same seed gives the same choices on every machine.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  /// A random whole number in [0, count).
  std::size_t below(std::size_t count) { return static_cast<std::size_t>(next() % count); }
  bool one_in(std::size_t count) { return below(count) == 0; }
  template <typename List>
  decltype(auto) pick(const List& list) {
    return list[below(std::size(list))];
  }

 private:
  /// SplitMix64 (Steele, Lea, Flood 2014): each mutation has its own seed, and seeding this
  /// generator costs nothing, unlike std::mt19937_64.
  std::uint64_t next() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15U;
    z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31U);
  }

  std::uint64_t state_;
};

struct FuzzTarget {
  std::string_view name;  ///< also the folder of its seeds in tests/fuzz/seeds
  /// Runs the parser or command on the input; throws Finding for a broken property. Invalid input
  /// is not a finding.
  void (*run)(std::string_view input);
  /// Returns a variation of the input, of any length.
  std::string (*mutate)(std::string_view input, Random& random);
  std::uint64_t generated = 0;  ///< inputs of fuzz_test.cpp: about two seconds of computing
};

std::span<const FuzzTarget> fuzz_targets();
/// Throws std::out_of_range for an unknown name.
const FuzzTarget& fuzz_target(std::string_view name);
/// The inputs in the target's folder of seeds, sorted by file name.
std::vector<std::string> seeds_of(const FuzzTarget& target);

/// The input with a large piece inserted: 10 MB of one byte, or 10^6 nested lists or objects,
/// halved up to nine times, since inputs of full length would take most of a run's time.
std::string enlarged(std::string_view input, Random& random);

/// Changes a few bytes, or inserts a dictionary word, a repeated piece or a number.
std::string mutate_bytes(std::string_view input, Random& random);
/// Changes a few bytes of the text or one of its numbers, or joins pieces of text with the
/// separators of lists.
std::string mutate_text(std::string_view input, Random& random);
/// Changes the text after the name of its grammar, or the name.
std::string mutate_named_text(std::string_view input, Random& random);
/// Changes the tree of a JSON document, sometimes its bytes. Other text becomes a document.
std::string mutate_json(std::string_view input, Random& random);
/// Changes the arguments of a command, one per line, and the file that may follow.
std::string mutate_command(std::string_view input, Random& random);

// One function for each target
void run_npy(std::string_view input);
void run_recording(std::string_view input);
void run_trace(std::string_view input);
void run_gpu(std::string_view input);
void run_calibration(std::string_view input);
void run_scene(std::string_view input);
void run_lesson(std::string_view input);
void run_text(std::string_view input);
void run_command(std::string_view input);

}  // namespace attnscope::fuzz
