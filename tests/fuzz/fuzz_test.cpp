/// The fuzzed functions on the seeds and on generated inputs, the same in every run: for compilers
/// without libFuzzer.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <ctime>
#include <fstream>

#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/scratch.h"

namespace attnscope::fuzz {
namespace {

class Fuzzed : public ::testing::TestWithParam<FuzzTarget> {};

/// Runs the input; a broken property, an exception and ten seconds of computing are failures.
void expect_no_finding(const FuzzTarget& target, std::string_view input,
                       const std::string& origin) {
  const std::clock_t begin = std::clock();
  try {
    target.run(input);
  } catch (const std::exception& finding) {
    ADD_FAILURE() << target.name << ", " << origin << ": " << finding.what()
                  << "\ninput: " << ::testing::PrintToString(std::string(input.substr(0, 2000)));
  }
  EXPECT_LT((std::clock() - begin) / CLOCKS_PER_SEC, 10)
      << target.name << ", " << origin
      << "\ninput: " << ::testing::PrintToString(std::string(input.substr(0, 2000)));
}

TEST_P(Fuzzed, SeedsGiveNoFinding) {
  const auto seeds = seeds_of(GetParam());
  ASSERT_FALSE(seeds.empty());
  for (std::size_t n = 0; n < seeds.size(); ++n) {
    expect_no_finding(GetParam(), seeds[n], fmt::format("seed {}", n));
  }
}

TEST_P(Fuzzed, GeneratedInputsGiveNoFinding) {
  const auto seeds = seeds_of(GetParam());
  for (std::uint64_t n = 0; n < GetParam().generated && !HasFailure(); ++n) {
    Random random(n);
    std::string input = random.pick(seeds);
    for (std::size_t rounds = 1 + random.below(4); rounds > 0; --rounds) {
      input = GetParam().mutate(input, random);
    }
    expect_no_finding(GetParam(), input, fmt::format("generated input {}", n));
  }
}

/// Inputs at the limits: deeply nested, long, with large numbers. Those of libFuzzer are even
/// longer: enlarged().
std::vector<std::string> extreme_inputs() {
  constexpr std::size_t kDepth = 250'000;  // overflows the stack of a recursive parser
  constexpr std::size_t kLong = 1'000'000;
  std::vector<std::string> inputs = {std::string(),
                                     std::string(1, '\0'),
                                     std::string(kLong, 'x'),
                                     std::string(kLong, '9'),
                                     std::string(kLong, ','),
                                     std::string(kDepth, '['),
                                     std::string(kDepth, '[') + std::string(kDepth, ']'),
                                     "\"" + std::string(kLong, 'x') + "\"",
                                     std::string(kLong, '\xff')};
  std::string objects;
  for (std::size_t level = 0; level < kDepth; ++level) objects += "{\"problem\":";
  inputs.push_back(std::move(objects));
  std::string wide = "[{}";
  for (std::size_t n = 0; n < kDepth; ++n) wide += ",{}";
  inputs.push_back(wide + "]");
  for (const char* number : {"9223372036854775807", "9223372036854775808", "18446744073709551615",
                             "-9223372036854775808", "1e999", "5e-324"}) {
    inputs.emplace_back(number);
    inputs.push_back(
        fmt::format("{{\"schema\": \"attnscope.recording/1\", \"rows\": [{}]}}", number));
    inputs.push_back(fmt::format("simulate\n--algorithm\nflash2\n--seq-len\n{}", number));
    inputs.push_back(fmt::format("flops\n--batch\n{0}\n--heads\n{0}\n--seq-len\n{0}", number));
  }
  return inputs;
}

TEST_P(Fuzzed, ExtremeInputsGiveNoFinding) {
  for (const std::string& input : extreme_inputs()) {
    expect_no_finding(GetParam(), input, fmt::format("an input of {} bytes", input.size()));
  }
}

INSTANTIATE_TEST_SUITE_P(EveryTarget, Fuzzed,
                         ::testing::ValuesIn(fuzz_targets().begin(), fuzz_targets().end()),
                         [](const auto& target) { return std::string(target.param.name); });

/// A sparse file of this many bytes with a valid header.
std::string sparse_npy(const std::string& name, const std::string& shape, std::uintmax_t bytes) {
  const std::string path = scratch_folder() / name;
  std::string header =
      fmt::format("{{'descr': '<f8', 'fortran_order': False, 'shape': {}, }}", shape);
  header.resize(117, ' ');
  std::ofstream(path, std::ios::binary)
      << std::string("\x93NUMPY\x01\x00\x76\x00", 10) << header << '\n';
  std::filesystem::resize_file(path, bytes);
  return path;
}

TEST(Fuzzed, CommandsRefuseSparseFilesOfManyGigabytesAtOnce) {
  run_command("list");  // prepares the folder of inputs
  for (const auto& [shape, elements] :
       {std::pair<std::string, std::uintmax_t>{"(2, 2, 16384, 32768)", std::uintmax_t{1} << 31},
        {"(1, 1, 4, 2)", std::uintmax_t{1} << 31},
        {"(2147483648,)", std::uintmax_t{1} << 31}}) {
    sparse_npy("inputs/sparse.npy", shape, 128 + 8 * elements);
    for (const char* option : {"--q", "--block-mask"}) {
      expect_no_finding(fuzz_target("command"),
                        fmt::format("simulate\n--algorithm\nblock_sparse2\n--seq-len\n64\n"
                                    "--head-dim\n2\n{}\ninputs/sparse.npy",
                                    option),
                        shape + option);
    }
  }
}

}  // namespace
}  // namespace attnscope::fuzz
