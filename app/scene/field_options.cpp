#include "app/scene/field_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <sstream>

#include "app/scene/choice_rules.h"

namespace attnscope::app {

namespace {

/// Usual values, with spaces between them.
struct UsualValues {
  std::string_view key;
  const char* texts;
};
constexpr UsualValues kUsual[] = {
    {"seq_len", "16 32 64 100 128 256 512 1024 2048 4096"},
    {"kv_len", "16 32 64 128 256 512 1024"},
    {"head_dim", "16 32 64 128"},
    {"Br", "16 32 64 128 256"},
    {"Bc", "16 32 64 128 256"},
    {"batch", "1 2 4 8 16 32"},
    {"heads", "1 2 4 8 16 32"},
    {"kv_heads", "1 2 4 8 16 32"},
    {"softcap", "1 5 15 30 50"},
    {"dropout", "0 0.1 0.25 0.5"},
    {"dropout_seed", "0 1 2 3"},
    {"seed", "0 1 2 3"},
    {"block_mask", "butterfly local-global:1,1 random:0.3 uniform:0.3"},
    {"splits", "1 2 4 8"},
    {"sram_bytes", "16384 49152 101376 166912 232448"}};

std::string list_text(const std::vector<Index>& values) {
  return fmt::format("{}", fmt::join(values, ","));
}

void add_masks(const AttentionProblem& problem, std::vector<FieldOption>& options) {
  const Index wide = std::max<Index>(problem.N_kv / 4, 1);
  const Index narrow = std::max<Index>(problem.N_kv / 8, 1);
  const std::pair<Mask, const char*> masks[] = {
      {Mask::none(), ""},
      {Mask::causal(), "the last query sees the last key"},
      {Mask::causal(Mask::Alignment::top_left), "the first query sees only the first key"},
      {Mask::window(wide - 1, 0), "the last keys up to the diagonal; type your own sizes"},
      {Mask::window(narrow, narrow), "keys before and after the diagonal; -1: unlimited"}};
  for (const auto& [mask, help] : masks) options.push_back({to_string(mask), "", help});
}

void add_key_lengths(const AttentionProblem& problem, std::vector<FieldOption>& options) {
  for (const Index quarters : {3, 2, 1}) {
    options.push_back({fmt::format("{}", std::max<Index>(problem.N_kv * quarters / 4, 1)), "",
                       "valid keys; the rest is padding, hidden"});
  }
  if (problem.batch < 2 || problem.batch > 8) return;
  std::vector<Index> falling;
  for (Index b = 0; b < problem.batch; ++b) {
    falling.push_back(std::max<Index>(problem.N_kv * (problem.batch - b) / problem.batch, 1));
  }
  options.push_back({list_text(falling), "", "valid keys of each batch entry"});
}

void add_computed(const RunField& field, const RunSpec& choice, std::vector<FieldOption>& options) {
  const AttentionProblem& problem = choice.problem;
  if (field.key == "mask") add_masks(problem, options);
  if (field.key == "key_lengths") add_key_lengths(problem, options);
  if (field.key == "cu_seqlens_q") {
    for (const Index parts : {2, 3, 4}) {
      const std::string ends = list_text(packed_ends(parts, problem.N));
      options.push_back({ends, fmt::format("{} packed: {}", parts, ends),
                         "sequences of unequal length, one after another"});
    }
  }
  if (field.key == "cu_seqlens_k" && problem.is_packed()) {
    options.push_back({list_text(packed_ends(problem.sequence_count(), problem.N_kv)), "", ""});
  }
}

}  // namespace

bool can_be_unset(const RunField& field) {
  RunSpec spec;
  return !field.by_rule.empty() && field.json != "tiling" && field.parse("", spec);
}

std::string unset_word(const RunField& field) {
  if (!field.values.empty()) return std::string(field.values.front().label);
  return field.key == "key_lengths" ? "all" : std::string(field.by_rule);
}

std::vector<FieldOption> options_of(const RunField& field, const RunSpec& choice) {
  std::vector<FieldOption> options;
  if (field.values.empty() && can_be_unset(field)) options.push_back({"", unset_word(field), ""});
  for (const FieldValue& value : field.values) {
    options.push_back({std::string(value.name), std::string(value.label), std::string(value.help)});
  }
  for (const UsualValues& usual : kUsual) {
    if (usual.key != field.key) continue;
    std::istringstream texts(usual.texts);
    for (std::string text; texts >> text;) {
      const bool is_memory = field.key == "sram_bytes";
      options.push_back(
          {text, is_memory ? fmt::format("{} KiB", std::stoll(text) / 1024) : "", ""});
    }
  }
  add_computed(field, choice, options);
  for (FieldOption& option : options) {
    if (option.label.empty()) option.label = option.text;
  }
  return options;
}

bool takes_npy_files(const RunField& field) {
  return field.file == FieldFile::npy || field.file == FieldFile::npy_or_pattern;
}

std::vector<FieldOption> npy_files_beside(const std::filesystem::path& file) {
  constexpr std::size_t kMost = 40;
  std::vector<FieldOption> files;
  std::error_code error;
  const std::filesystem::path folder =
      file.empty() ? std::filesystem::current_path(error) : file.parent_path();
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    if (entry.path().extension() != ".npy") continue;
    files.push_back({entry.path().string(), entry.path().filename().string(), ""});
  }
  std::ranges::sort(files, {}, &FieldOption::label);
  if (files.size() > kMost) files.resize(kMost);
  return files;
}

}  // namespace attnscope::app
