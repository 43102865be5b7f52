/// A mutator of JSON documents.
#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "tests/fuzz/fuzz_target.h"

namespace attnscope::fuzz {

namespace {

using nlohmann::json;

/// Collects every value of the document, the document itself first.
void collect(json& value, std::vector<json*>& all) {
  all.push_back(&value);
  if (!value.is_structured()) return;
  for (json& member : value) collect(member, all);
}

constexpr const char* kNames[] = {"flash1",
                                  "flash2",
                                  "standard",
                                  "block_sparse",
                                  "block_sparse2",
                                  "split_kv",
                                  "forward",
                                  "backward",
                                  "both",
                                  "fp32",
                                  "fp16",
                                  "bf16",
                                  "none",
                                  "causal",
                                  "window:1,2",
                                  "window:9,-1",
                                  "random:1",
                                  "random:0.5,7",
                                  "uniform:1e-300",
                                  "local-global:1,2",
                                  "butterfly",
                                  "m.npy",
                                  "gaussian",
                                  "files",
                                  "standard",
                                  "paper",
                                  "largest",
                                  "kernel",
                                  "cold",
                                  "warm",
                                  "problem",
                                  "nan",
                                  "-inf",
                                  "h200",
                                  "attnscope.recording/1",
                                  "attnscope.recording/2",
                                  "attnscope.scene/3",
                                  "attnscope.gpu/1",
                                  "attnscope.kernel_trace/1",
                                  "0123456789abcdef",
                                  "\n\x1b[2J",
                                  "\x1fheads\x1f"};

json any_value(Random& random) {
  constexpr std::int64_t kWhole[] = {0,
                                     1,
                                     -1,
                                     2,
                                     3,
                                     7,
                                     16,
                                     64,
                                     128,
                                     1 << 20,
                                     1 << 24,
                                     1 << 27,
                                     (1 << 27) + 1,
                                     std::numeric_limits<int>::max(),
                                     std::int64_t{1} << 32,
                                     std::int64_t{1} << 53,
                                     std::numeric_limits<std::int64_t>::max(),
                                     std::numeric_limits<std::int64_t>::min()};
  constexpr double kReal[] = {0.0,   -0.0, 0.5,     -1.5,   5e-324, -5e-324,   1e-300,
                              1e300, 1e18, 1.7e308, 0x1p63, 0x1p64, 0x1p53 + 2};
  switch (random.below(9)) {
    case 0:
      return nullptr;
    case 1:
      return random.one_in(2);
    case 2:
      return random.pick(kReal);
    case 3:
      return std::uint64_t{1} << 63;
    case 4:
      return random.one_in(2) ? json::array() : json::object();
    case 5:
      return random.pick(kNames);
    case 6:
      return std::string(random.below(300), 'x');
    default:
      return random.pick(kWhole);
  }
}

/// Changes one value.
void change(json& document, Random& random) {
  std::vector<json*> all;
  collect(document, all);
  json& value = *random.pick(all);
  switch (random.below(8)) {
    case 0:
    case 1:
      value = any_value(random);
      break;
    case 2:
      value = json(*random.pick(all));
      break;
    case 3:
      if (value.is_object() && !value.empty()) {
        value.erase(
            std::next(value.begin(), static_cast<std::ptrdiff_t>(random.below(value.size()))));
      } else if (value.is_array() && !value.empty()) {
        value.erase(random.below(value.size()));
      }
      break;
    case 4:
      if (value.is_object()) {
        value[random.pick(kNames)] = any_value(random);
      } else if (value.is_array()) {
        value.push_back(value.empty() ? any_value(random) : json(value.front()));
      }
      break;
    case 5:
      if (value.is_number_integer() && !value.is_number_unsigned()) {
        value = value.get<std::int64_t>() / 2 + 1;
      } else if (value.is_number_unsigned()) {
        value = value.get<std::uint64_t>() + 1;
      } else if (value.is_number()) {
        value = value.get<double>() * (random.one_in(2) ? -1.0 : 1e10);
      }
      break;
    case 6:
      if (value.is_string()) value = mutate_text(value.get_ref<const std::string&>(), random);
      break;
    default:
      if (value.is_array() && value.size() >= 2) {
        std::swap(value[random.below(value.size())], value[random.below(value.size())]);
      } else {
        value = json::array({json(value)});
      }
      break;
  }
}

/// The document of the text: null if it is nested too deep to be copied, discarded if it is not
/// JSON.
json parsed(std::string_view text) {
  const bool shallow = std::ranges::count(text, '[') + std::ranges::count(text, '{') < 10'000;
  return shallow ? json::parse(text, nullptr, /*allow_exceptions=*/false) : json();
}

}  // namespace

std::string mutate_json(std::string_view input, Random& random) {
  if (random.one_in(8)) return mutate_bytes(input, random);
  if (random.one_in(20'000)) {
    const std::size_t depth = random.one_in(2) ? 1'000'000 : 65;
    const std::string_view nested = random.one_in(2) ? "[" : "{\"a\":";
    std::string text;
    for (std::size_t level = 0; level < depth; ++level) text += nested;
    return text;
  }
  // libFuzzer often mutates the last output again: do not parse it again
  static std::string last_output;
  static json last_document;
  json document = input == last_output ? std::move(last_document) : parsed(input);
  if (document.is_discarded()) return mutate_bytes(input, random);
  for (std::size_t changes = 1 + random.below(3); changes > 0; --changes) change(document, random);
  std::string text = document.dump(-1, ' ', false, json::error_handler_t::replace);
  last_output = text;
  last_document = std::move(document);
  if (random.one_in(50)) {
    const std::size_t quote = text.find('"', random.below(text.size() + 1));
    if (quote != text.npos) text.insert(quote + 1, 1, '\xff');
  }
  return text;
}

}  // namespace attnscope::fuzz
