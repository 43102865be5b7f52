#include "app/choice_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <vector>

#include "app/choice_rules.h"
#include "reference/check.h"
#include "reference/nearest_name.h"

namespace attnscope::app {

namespace {

using Reason = std::optional<std::string>;

Reason not_understood(std::string_view what, const std::string& typed, std::string_view accepted) {
  return fmt::format("{} is '{}'; it must be {}", what, printable(typed), accepted);
}

template <typename Number>
std::optional<Number> number_in(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// Whole numbers with commas between them; nothing for any other text.
std::optional<std::vector<Index>> list_in(std::string_view text) {
  std::vector<Index> list;
  while (true) {
    const std::size_t comma = text.find(',');
    const auto value = number_in<Index>(text.substr(0, comma));
    if (!value) return std::nullopt;
    list.push_back(*value);
    if (comma == std::string_view::npos) return list;
    text.remove_prefix(comma + 1);
  }
}

bool says_none(const std::string& typed, std::string_view word) {
  return typed.empty() || typed == word || typed == "none" || typed == "off";
}

Reason read_mask(const std::string& typed, Choice& choice) {
  const auto mask = parse_mask(typed.empty() ? "none" : typed);
  if (!mask) {
    return not_understood("mask", typed,
                          "none, causal, causal:top-left, window:KEYS or window:LEFT,RIGHT (-1: "
                          "unlimited), each window also with :top-left");
  }
  choice.problem.mask = *mask;
  return std::nullopt;
}

std::string soft_cap_text(const Choice& choice) {
  const auto& cap = choice.problem.score.soft_cap;
  return cap ? fmt::format("{:g}", *cap) : "off";
}

Reason read_soft_cap(const std::string& typed, Choice& choice) {
  choice.problem.score.soft_cap.reset();
  if (says_none(typed, "0")) return std::nullopt;
  const auto cap = number_in<double>(typed);
  if (!cap) return not_understood("soft-capping", typed, "off or a number above 0");
  choice.problem.score.soft_cap = *cap;
  return std::nullopt;
}

std::string dropout_text(const Choice& choice) {
  const double p = choice.problem.score.dropout.probability;
  return p > 0 ? fmt::format("{:g}", p) : "off";
}

Reason read_dropout(const std::string& typed, Choice& choice) {
  const auto p = says_none(typed, "0") ? std::optional(0.0) : number_in<double>(typed);
  if (!p) return not_understood("dropout", typed, "off or a number from 0 up to, but not, 1");
  choice.problem.score.dropout.probability = *p;
  return std::nullopt;
}

Reason read_seed(std::string_view what, const std::string& typed, std::uint64_t& seed) {
  const auto value = number_in<std::uint64_t>(typed);
  if (!value) return not_understood(what, typed, "a whole number from 0 to 18446744073709551615");
  seed = *value;
  return std::nullopt;
}

Reason read_key_lengths(const std::string& typed, Choice& choice) {
  AttentionProblem& problem = choice.problem;
  problem.key_lengths.clear();
  if (says_none(typed, "all")) return std::nullopt;
  auto lengths = list_in(typed);
  if (!lengths) {
    return not_understood("valid keys", typed, "all, or whole numbers such as 48 or 48,64");
  }
  // One number is meant for every batch entry
  const auto batch = static_cast<std::size_t>(std::clamp<Index>(problem.batch, 1, kMaxHeads));
  if (lengths->size() == 1) lengths->resize(batch, lengths->front());
  problem.key_lengths = *std::move(lengths);
  return std::nullopt;
}

std::string key_lengths_text(const Choice& choice) {
  const auto& lengths = choice.problem.key_lengths;
  if (lengths.empty()) return "all";
  const bool alike = std::ranges::all_of(lengths, [&](Index n) { return n == lengths.front(); });
  return alike ? fmt::format("{}", lengths.front()) : list_text(lengths);
}

std::string sequences_text(const Choice& choice) {
  return choice.problem.is_packed() ? list_text(choice.problem.cu_seqlens_q) : "one";
}

Reason read_sequences(const std::string& typed, Choice& choice) {
  AttentionProblem& problem = choice.problem;
  if (says_none(typed, "one")) {
    problem.cu_seqlens_q.clear();
    problem.cu_seqlens_k.clear();
    return std::nullopt;
  }
  const auto ends = list_in(typed);
  if (!ends) {
    return not_understood("sequences", typed,
                          "one, or where the queries of each begin and N, such as 0,20,64");
  }
  problem.cu_seqlens_q = *ends;
  if (problem.N == problem.N_kv) {
    problem.cu_seqlens_k = *ends;
  } else if (problem.cu_seqlens_k.size() != ends->size() && ends->size() > 1) {
    problem.cu_seqlens_k = packed_ends(static_cast<Index>(ends->size()) - 1, problem.N_kv);
  }
  return std::nullopt;
}

Reason read_key_sequences(const std::string& typed, Choice& choice) {
  const auto ends = list_in(typed);
  if (!ends) {
    return not_understood("key sequences", typed,
                          "where the keys of each begin and N_kv, such as 0,20,64");
  }
  choice.problem.cu_seqlens_k = *ends;
  return std::nullopt;
}

Reason read_block_mask(const std::string& typed, Choice& choice) {
  const Result<BlockPattern> pattern = parse_block_pattern(typed);
  if (!pattern) return "block mask: " + pattern.error().message;
  choice.block_mask = pattern.value();
  if (!choice.block_mask->path.empty()) {
    choice.block_mask->path = std::filesystem::absolute(choice.block_mask->path).string();
  }
  return std::nullopt;
}

Reason read_splits(const std::string& typed, Choice& choice) {
  const auto splits =
      says_none(typed, "by rule") ? std::optional<Index>(0) : number_in<Index>(typed);
  if (!splits) return not_understood("splits", typed, "by rule, or a whole number of at least 1");
  choice.splits = *splits;
  return std::nullopt;
}

Reason read_memory(std::string_view what, const std::string& typed, Index& memory_bytes) {
  const auto bytes =
      says_none(typed, "the GPU's") ? std::optional<Index>(0) : number_in<Index>(typed);
  if (!bytes || *bytes < 0 || *bytes > kMostMemoryBytes) {
    return not_understood(what, typed,
                          fmt::format("the GPU's, or bytes up to {}", kMostMemoryBytes));
  }
  memory_bytes = *bytes;
  return std::nullopt;
}

std::string memory_text(Index bytes) {
  return bytes > 0 ? fmt::format("{}", bytes) : "the GPU's";
}

std::string file_text(const std::string& path) {
  return path.empty() ? "generated" : path;
}

Reason read_file(const std::string& typed, std::string& path) {
  path = says_none(typed, "generated") ? "" : std::filesystem::absolute(typed).string();
  return std::nullopt;
}

constexpr std::string_view kFileHelp =
    "an .npy file of your own, as numpy.save writes it; generated: drawn from the seed";

// clang-format off
const TextChoice kAll[] = {
    {"mask",
     "none, causal, causal:top-left, window:KEYS or window:LEFT,RIGHT; -1: unlimited",
     [](const Choice& c) { return to_string(c.problem.mask); }, read_mask},
    {"softcap", "off, or a number above 0: S = cap · tanh(S / cap)", soft_cap_text, read_soft_cap},
    {"dropout", "off, or the share of P that is dropped, 0 <= p < 1", dropout_text, read_dropout},
    {"dropout_seed", "a whole number that dropout draws from",
     [](const Choice& c) { return fmt::format("{}", c.problem.score.dropout.seed); },
     [](const std::string& typed, Choice& c) {
       return read_seed("dropout seed", typed, c.problem.score.dropout.seed);
     }},
    {"key_lengths", "all, or the valid keys of each batch entry, such as 48,64; the rest is padding",
     key_lengths_text, read_key_lengths},
    {"sequences",
     "one, or where the queries of each packed sequence begin, and N: 0,20,64 are two. A query sees "
     "the keys of its own sequence", sequences_text, read_sequences},
    {"key_sequences", "where the keys of each packed sequence begin, and N_kv",
     [](const Choice& c) { return list_text(c.problem.cu_seqlens_k); }, read_key_sequences},
    {"block_mask",
     "butterfly, local-global:W,G, random:DENSITY[,SEED], uniform:DENSITY[,SEED] or FILE.npy "
     "[Tr, Tc] of 0 and 1",
     [](const Choice& c) { return c.block_mask ? to_string(*c.block_mask) : "none"; },
     read_block_mask},
    {"splits", "by rule: as many as fill the SMs; or the parts into which the keys are cut",
     [](const Choice& c) { return c.splits > 0 ? fmt::format("{}", c.splits) : "by rule"; },
     read_splits},
    {"sram", "shared memory that a thread block may use, in bytes, in place of the GPU's",
     [](const Choice& c) { return memory_text(c.sram_bytes); },
     [](const std::string& typed, Choice& c) { return read_memory("SRAM", typed, c.sram_bytes); }},
    {"l2", "L2 cache in bytes, in place of the GPU's: what fits in it is not read from DRAM again",
     [](const Choice& c) { return memory_text(c.l2_bytes); },
     [](const std::string& typed, Choice& c) { return read_memory("L2", typed, c.l2_bytes); }},
    {"seed", "a whole number that generated inputs are drawn from",
     [](const Choice& c) { return fmt::format("{}", c.inputs.seed); },
     [](const std::string& typed, Choice& c) { return read_seed("seed", typed, c.inputs.seed); }},
    {"q", kFileHelp, [](const Choice& c) { return file_text(c.files.Q); },
     [](const std::string& typed, Choice& c) { return read_file(typed, c.files.Q); }},
    {"k", kFileHelp, [](const Choice& c) { return file_text(c.files.K); },
     [](const std::string& typed, Choice& c) { return read_file(typed, c.files.K); }},
    {"v", kFileHelp, [](const Choice& c) { return file_text(c.files.V); },
     [](const std::string& typed, Choice& c) { return read_file(typed, c.files.V); }},
    {"do", kFileHelp, [](const Choice& c) { return file_text(c.files.dO); },
     [](const std::string& typed, Choice& c) { return read_file(typed, c.files.dO); }},
};
// clang-format on

}  // namespace

std::span<const TextChoice> text_choices() {
  return kAll;
}

const TextChoice& text_choice(std::string_view name) {
  const auto* found = std::ranges::find(kAll, name, &TextChoice::name);
  ATTNSCOPE_CHECK(found != std::end(kAll), ==, true);
  return *found;
}

std::string list_text(std::span<const Index> values) {
  return fmt::format("{}", fmt::join(values, ","));
}

}  // namespace attnscope::app
