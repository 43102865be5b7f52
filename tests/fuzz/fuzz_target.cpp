#include "tests/fuzz/fuzz_target.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iterator>

#include "reference/message_text.h"

namespace attnscope::fuzz {

namespace {

constexpr FuzzTarget kTargets[] = {
    {"npy", run_npy, mutate_bytes, 200'000},
    {"recording", run_recording, mutate_json, 8'000},
    {"trace", run_trace, mutate_json, 16'000},
    {"gpu", run_gpu, mutate_json, 16'000},
    {"calibration", run_calibration, mutate_json, 16'000},
#ifdef ATTNSCOPE_FUZZ_SCENES
    {"scene", run_scene, mutate_json, 40'000},
#endif
    {"lesson", run_lesson, mutate_json, 16'000},
    {"text", run_text, mutate_named_text, 300'000},
    {"command", run_command, mutate_command, 4'000},
};

}  // namespace

std::span<const FuzzTarget> fuzz_targets() {
  return kTargets;
}

const FuzzTarget& fuzz_target(std::string_view name) {
  const auto found = std::ranges::find(kTargets, name, &FuzzTarget::name);
  if (found == std::end(kTargets)) throw std::out_of_range(std::string(name));
  return *found;
}

std::vector<std::string> seeds_of(const FuzzTarget& target) {
  std::vector<std::filesystem::path> files;
  const auto folder = std::filesystem::path(ATTNSCOPE_FUZZ_SEEDS) / target.name;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    files.push_back(entry.path());
  }
  std::ranges::sort(files);
  std::vector<std::string> seeds;
  for (const auto& path : files) {
    std::ifstream file(path, std::ios::binary);
    seeds.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>{});
  }
  return seeds;
}

void require_good_message(std::string_view message) {
  require(!message.empty(), "an error without a message");
  require(message.find('\n') == message.npos, fmt::format("more than one line: {}", message));
  require(message.size() <= kMostMessageBytes,
          fmt::format("a message of {} bytes: {}", message.size(), message.substr(0, 300)));
  require(!message.starts_with("internal error"), std::string(message));
}

void require_good_message(const Error& error) {
  require_good_message(words(error, Reader::file));
}

}  // namespace attnscope::fuzz
