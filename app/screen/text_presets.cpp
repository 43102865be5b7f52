#include "app/screen/text_presets.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "app/choice_rules.h"
#include "app/choice_text.h"

namespace attnscope::app {

namespace {

std::vector<TextPreset> plain(std::initializer_list<const char*> texts) {
  std::vector<TextPreset> presets;
  for (const char* text : texts) presets.push_back({text, "", ""});
  return presets;
}

std::vector<TextPreset> masks(const AttentionProblem& problem) {
  const Index wide = std::max<Index>(problem.N_kv / 4, 1);
  const Index narrow = std::max<Index>(problem.N_kv / 8, 1);
  std::vector<TextPreset> presets;
  for (const Mask& mask : {Mask::none(), Mask::causal(), Mask::causal(Mask::Alignment::top_left),
                           Mask::window(wide - 1, 0), Mask::window(narrow, narrow)}) {
    presets.push_back({to_string(mask), "", ""});
  }
  presets[1].help = "the last query sees the last key";
  presets[2].help = "the first query sees the first key alone";
  presets[3].help = "the last keys up to the diagonal; type your own sizes";
  presets[4].help = "keys before and after the diagonal; -1: unlimited";
  return presets;
}

std::vector<TextPreset> key_lengths(const AttentionProblem& problem) {
  std::vector<TextPreset> presets = plain({"all"});
  for (const Index quarters : {3, 2, 1}) {
    presets.push_back({fmt::format("{}", std::max<Index>(problem.N_kv * quarters / 4, 1)), "",
                       "valid keys; the rest is padding, hidden"});
  }
  if (problem.batch < 2 || problem.batch > 8) return presets;
  std::vector<Index> falling;
  for (Index b = 0; b < problem.batch; ++b) {
    falling.push_back(std::max<Index>(problem.N_kv * (problem.batch - b) / problem.batch, 1));
  }
  presets.push_back({list_text(falling), "", "valid keys of each batch entry"});
  return presets;
}

std::vector<TextPreset> sequences(Index size) {
  std::vector<TextPreset> presets = plain({"one"});
  for (const Index parts : {2, 3, 4}) {
    const std::string ends = list_text(packed_ends(parts, size));
    presets.push_back({ends, fmt::format("{} packed: {}", parts, ends),
                       "sequences of unequal length behind each other"});
  }
  return presets;
}

/// Every .npy file beside the path, or in the current folder.
std::vector<TextPreset> npy_files(const std::string& path) {
  constexpr std::size_t kMost = 40;
  std::vector<TextPreset> files;
  std::error_code error;
  const std::filesystem::path folder = path.empty() ? std::filesystem::current_path(error)
                                                    : std::filesystem::path(path).parent_path();
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    if (entry.path().extension() != ".npy") continue;
    files.push_back({entry.path().string(), entry.path().filename().string(), ""});
  }
  std::ranges::sort(files, {}, &TextPreset::label);
  if (files.size() > kMost) files.resize(kMost);
  return files;
}

std::vector<TextPreset> files_for(const std::string& path) {
  std::vector<TextPreset> presets = plain({"generated"});
  for (TextPreset& file : npy_files(path)) presets.push_back(std::move(file));
  return presets;
}

}  // namespace

std::vector<TextPreset> text_presets(std::string_view name, const Choice& choice) {
  const AttentionProblem& problem = choice.problem;
  if (name == "mask") return masks(problem);
  if (name == "softcap") return plain({"off", "1", "5", "15", "30", "50"});
  if (name == "dropout") return plain({"off", "0.1", "0.25", "0.5"});
  if (name == "dropout_seed" || name == "seed") return plain({"0", "1", "2", "3"});
  if (name == "key_lengths") return key_lengths(problem);
  if (name == "sequences") return sequences(problem.N);
  if (name == "key_sequences") {
    const std::string ends = list_text(packed_ends(problem.sequence_count(), problem.N_kv));
    return {{ends, "", ""}};
  }
  if (name == "block_mask") {
    std::vector<TextPreset> presets =
        plain({"butterfly", "local-global:1,1", "random:0.3", "uniform:0.3"});
    for (TextPreset& file : npy_files("")) presets.push_back(std::move(file));
    return presets;
  }
  if (name == "splits") return plain({"by rule", "1", "2", "4", "8"});
  if (name == "sram") {
    return {{"the GPU's", "", ""},    {"16384", "16 KiB", ""},   {"49152", "48 KiB", ""},
            {"101376", "99 KiB", ""}, {"166912", "163 KiB", ""}, {"232448", "227 KiB", ""}};
  }
  if (name == "q") return files_for(choice.files.Q);
  if (name == "k") return files_for(choice.files.K);
  if (name == "v") return files_for(choice.files.V);
  if (name == "do") return files_for(choice.files.dO);
  return {};
}

}  // namespace attnscope::app
