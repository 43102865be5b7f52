#include "tests/layers/layer_rules.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <initializer_list>
#include <map>
#include <optional>
#include <regex>
#include <set>
#include <sstream>
#include <utility>

namespace attnscope::test {
namespace {

/// A folder (or one file), and what its files may include.
struct Layer {
  std::string_view folder;
  std::vector<std::string_view> may_include;
  std::vector<std::string_view> but_not = {};
};

/// The first entry that contains a path is its layer: inner folders precede outer ones.
const std::vector<Layer>& layers() {
  static const std::vector<Layer> all = {
      {"reference", {"reference"}},
      {"sim", {"reference", "sim"}},
      {"kernels/measure", {"reference", "kernels"}},
      {"kernels/c_interface", {"reference", "kernels"}},  // including kernels/measure
      {"kernels", {"reference", "kernels"}, {"kernels/measure"}},
      {"app", {"reference", "sim", "kernels", "app"}},
      {"tests", {"reference", "sim", "kernels", "app", "tests"}},
  };
  return all;
}

bool lies_in_any(std::string_view path, const std::vector<std::string_view>& folders) {
  return std::ranges::any_of(folders, [&](auto folder) { return lies_in(path, folder); });
}

bool is_graphics(std::string_view header) {
  return header.starts_with("imgui") || header.starts_with("GLFW/") || header.starts_with("GL/") ||
         header.starts_with("EGL/") || header.starts_with("GLES") || header.starts_with("KHR/");
}

bool is_cuda(std::string_view header) {
  for (const char* prefix : {"cuda", "cublas", "cupti", "cub/", "thrust/", "nvperf", "nvml", "nvtx",
                             "cooperative_groups", "mma.h", "device_launch", "vector_types.h"}) {
    if (header.starts_with(prefix)) return true;
  }
  return false;
}

bool is_angled_or_quoted(const SourceFile& file, bool (*predicate)(std::string_view),
                         std::string& found) {
  for (const auto* includes : {&file.angled_includes, &file.quoted_includes}) {
    const auto hit = std::ranges::find_if(*includes, predicate);
    if (hit == includes->end()) continue;
    found = *hit;
    return true;
  }
  return false;
}

/// Finds `word` (lower case) in `line`, in upper or lower case, not as a part of a longer word.
bool holds_word(std::string_view line, std::string_view word) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  const auto is_letter = [&](char c) { return lower(c) >= 'a' && lower(c) <= 'z'; };
  const auto joins = [&](char a, char b) { return is_letter(a) && is_letter(b); };
  const auto same = [&](char a, char b) { return lower(a) == b; };
  auto from = line.begin();
  while (true) {
    const auto hit = std::search(from, line.end(), word.begin(), word.end(), same);
    if (hit == line.end()) return false;
    const auto end = hit + static_cast<std::ptrdiff_t>(word.size());
    const bool starts = hit == line.begin() || !joins(*(hit - 1), *hit);
    const bool ends = end == line.end() || !joins(*(end - 1), *end);
    if (starts && ends) return true;
    from = hit + 1;
  }
}

}  // namespace

Violations layer_violations(const SourceTree& tree) {
  Violations violations;
  for (const auto& [path, file] : tree) {
    if (!is_code(path)) continue;
    const auto layer = std::ranges::find_if(
        layers(), [&path = path](const Layer& l) { return lies_in(path, l.folder); });
    if (layer == layers().end()) {
      violations.push_back(fmt::format("{}: lies in no layer", path));
      continue;
    }
    for (const std::string& included : file.quoted_includes) {
      if (!lies_in_any(included, layer->may_include) || lies_in_any(included, layer->but_not)) {
        violations.push_back(fmt::format("{}: may not include {}", path, included));
      }
    }
  }
  return violations;
}

Violations unresolved_includes(const SourceTree& tree) {
  Violations violations;
  for (const auto& [path, file] : tree) {
    for (const std::string& included : file.quoted_includes) {
      if (tree.contains(included) || tree.contains(included + ".in")) continue;
      violations.push_back(
          fmt::format("{}: \"{}\" is not a root-relative path of a file", path, included));
    }
  }
  return violations;
}

Violations graphics_violations(const SourceTree& tree) {
  Violations violations;
  for (const auto& [path, file] : tree) {
    std::string found;
    const bool tests_lower_layer =
        lies_in_any(path, {"tests/reference", "tests/sim", "tests/kernels", "tests/layers"});
    if (lies_in(path, "app") || (lies_in(path, "tests") && !tests_lower_layer)) continue;
    if (is_angled_or_quoted(file, is_graphics, found)) {
      violations.push_back(fmt::format("{}: includes {} outside app/", path, found));
    }
  }
  return violations;
}

Violations cuda_violations(const SourceTree& tree) {
  Violations violations;
  for (const auto& [path, unused] : tree) {
    if (!lies_in_any(path, {"reference", "sim", "app"})) continue;
    for (const std::string& reached : include_closure(tree, path)) {
      std::string found;
      const auto file = tree.find(reached);
      if (file != tree.end() && is_angled_or_quoted(file->second, is_cuda, found)) {
        violations.push_back(fmt::format("{}: reaches {} through {}", path, found, reached));
      }
    }
  }
  return violations;
}

Violations heavy_header_violations(const SourceTree& tree) {
  Violations violations;
  for (const auto& [path, file] : tree) {
    for (const std::string& header : file.angled_includes) {
      const bool is_eigen = header.starts_with("Eigen/");
      const bool is_json = header == "nlohmann/json.hpp";
      const bool is_cli = header.starts_with("CLI/");
      const bool misplaced_eigen = is_eigen && is_header(path) && path != "reference/eigen_view.h";
      const bool misplaced_json = is_json && is_header(path) && !lies_in(path, "tests");
      const bool misplaced_cli = is_cli && (is_header(path) || !lies_in(path, "app"));
      if (misplaced_eigen || misplaced_json || misplaced_cli) {
        violations.push_back(fmt::format("{}: includes <{}>", path, header));
      }
    }
  }
  return violations;
}

Violations folder_cycles(const SourceTree& tree, std::string_view folder,
                         const std::vector<std::string_view>& by_file) {
  const auto node_of = [&](std::string_view path) {
    const char* const ends = lies_in_any(path, by_file) ? "." : "/.";
    path.remove_prefix(folder.size() + 1);
    return std::string(path.substr(0, path.find_first_of(ends)));
  };
  std::map<std::string, std::set<std::string>> included_by;
  for (const auto& [path, file] : tree) {
    if (!is_code(path) || !lies_in(path, folder)) continue;
    for (const std::string& included : file.quoted_includes) {
      if (lies_in(included, folder)) included_by[node_of(path)].insert(node_of(included));
    }
  }
  Violations violations;
  for (const auto& [node, direct] : included_by) {
    std::set<std::string> reached;
    std::vector<std::string> open(direct.begin(), direct.end());
    std::erase(open, node);  // files of one folder include each other
    while (!open.empty()) {
      const std::string next = open.back();
      open.pop_back();
      if (!reached.insert(next).second) continue;
      const auto more = included_by.find(next);
      if (more != included_by.end())
        open.insert(open.end(), more->second.begin(), more->second.end());
    }
    if (reached.contains(node)) {
      violations.push_back(fmt::format("{}/{}: includes itself through others", folder, node));
    }
  }
  return violations;
}

Violations fragments(const SourceTree& tree) {
  constexpr std::ptrdiff_t kFewLines = 30;
  Violations paths;
  for (const auto& [path, file] : tree) {
    const bool counts = is_code(path) || path.ends_with(".c");
    if (!counts || lies_in(path, "kernels")) continue;
    if (std::ranges::count(file.text, '\n') < kFewLines) paths.push_back(path);
  }
  return paths;
}

namespace {

/// "app/scene/scene.cpp" is in folder "app/scene" and has the name "scene".
std::string_view folder_of(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return path.substr(0, slash == path.npos ? 0 : slash);
}
std::string_view name_of(std::string_view path) {
  path.remove_prefix(path.rfind('/') + 1);
  return path.substr(0, path.find('.'));
}

/// The text without this suffix; nothing if it does not end in it.
std::optional<std::string> without_end(std::string_view text, std::string_view end) {
  if (!text.ends_with(end)) return std::nullopt;
  return std::string(text.substr(0, text.size() - end.size()));
}

}  // namespace

Violations misplaced_tests(const SourceTree& tree) {
  std::map<std::string, std::set<std::string>> folders;  // of the sources of each name
  for (const auto& [path, file] : tree) {
    if (!is_code(path) || lies_in(path, "tests")) continue;
    const std::string name(name_of(path));
    folders[name].emplace(folder_of(path));
    if (const auto command = without_end(name, "_command")) {
      folders[*command].emplace(folder_of(path));
    }
  }
  Violations violations;
  for (const auto& [path, file] : tree) {
    if (!lies_in(path, "tests") || lies_in_any(path, {"tests/gui", "tests/fuzz"})) continue;
    const auto tested = without_end(name_of(path), "_test");
    if (!tested || !is_code(path)) continue;
    const auto found = folders.find(*tested);
    if (found == folders.end()) continue;
    const std::string_view folder = folder_of(path).substr(std::string_view("tests/").size());
    if (found->second.contains(std::string(folder))) continue;
    violations.push_back(
        fmt::format("{}: {} is in {}", path, *tested, fmt::join(found->second, " and ")));
  }
  return violations;
}

Violations unguarded_headers(const SourceTree& tree) {
  Violations violations;
  for (const auto& [path, file] : tree) {
    if (!is_header(path) || path.starts_with("kernels/attnscope_")) continue;  // C: own guards
    const std::size_t guard = file.text.find("#pragma once");
    if (guard == std::string::npos || guard > file.text.find("#include")) {
      violations.push_back(fmt::format("{}: no #pragma once before its first include", path));
    }
  }
  return violations;
}

namespace {

/// Names of members that define a run.
const std::set<std::string> kRunFields = {"batch",
                                          "heads",
                                          "kv_heads",
                                          "N",
                                          "N_kv",
                                          "d",
                                          "dtype",
                                          "mask",
                                          "algorithm",
                                          "pass",
                                          "tiling",
                                          "Br",
                                          "Bc",
                                          "carry",
                                          "variant",
                                          "splits",
                                          "block_mask",
                                          "skip_unused_kv",
                                          "separate_heads",
                                          "deterministic",
                                          "sram_bytes",
                                          "l2_bytes",
                                          "allow_overflow"};

/// Whether the file may repeat fields of a run: it defines runs, or the forms in which other
/// programs and kernels receive them.
bool may_repeat_run_fields(std::string_view path) {
  return path == "reference/attention_problem.h" || path == "reference/run_spec.h" ||
         path == "reference/schedule_variant.h" || path == "kernels/attnscope_kernels.h" ||
         path == "kernels/measure/trace/trace_plan.cpp" || path.ends_with(".cuh");
}

/// The text without comments and without the contents of inner braces: declarations of members.
std::string members_of(std::string_view text, std::size_t body) {
  std::string members;
  int depth = 1;
  for (std::size_t at = body; at < text.size() && depth > 0; ++at) {
    const char c = text[at];
    if (c == '{') ++depth;
    if (c == '}') --depth;
    if (depth == 1 && c != '}') members += c;
    if (depth == 2 && c == '{') members += '=';
  }
  return members;
}

}  // namespace

Violations repeated_run_fields(const SourceTree& tree) {
  static const std::regex kComment(R"(//[^\n]*)");
  static const std::regex kStruct(R"(\b(struct|class)\s+(\w+)[^;{()]*\{)");
  static const std::regex kMember(R"(\b(\w+)\s*(?=[=,]|$))");
  Violations violations;
  for (const auto& [path, file] : tree) {
    const bool of_product = lies_in_any(path, {"reference", "sim", "kernels", "app"});
    if (!of_product || !is_code(path) || may_repeat_run_fields(path)) continue;
    const std::string text = std::regex_replace(file.text, kComment, "");
    for (std::sregex_iterator found(text.begin(), text.end(), kStruct), end; found != end;
         ++found) {
      std::set<std::string> repeated;
      std::istringstream members(
          members_of(text, static_cast<std::size_t>(found->position() + found->length())));
      for (std::string member; std::getline(members, member, ';');) {
        if (member.find('(') != member.npos) continue;
        member.erase(member.find_last_not_of(" \n") + 1);
        for (std::sregex_iterator name(member.begin(), member.end(), kMember); name != end;
             ++name) {
          if (kRunFields.contains((*name)[1])) repeated.insert((*name)[1]);
        }
      }
      if (repeated.size() < 3) continue;
      violations.push_back(
          fmt::format("{}: {} repeats {} of a run: it holds a RunSpec or a "
                      "ResolvedRun instead",
                      path, (*found)[2].str(), fmt::join(repeated, ", ")));
    }
  }
  return violations;
}

Violations forbidden_words(const SourceTree& tree) {
  // In two halves, so that this file does not contain what it forbids
  static const std::vector<std::string> words = [] {
    std::vector<std::string> joined;
    for (const auto& [a, b] :
         std::initializer_list<std::pair<const char*, const char*>>{{"to", "do"},
                                                                    {"fix", "me"},
                                                                    {"xx", "x"},
                                                                    {"ha", "ck"},
                                                                    {"for n", "ow"},
                                                                    {"st", "ub"},
                                                                    {"place", "holder"},
                                                                    {"place", "holders"},
                                                                    {"work", "tree"},
                                                                    {"/wo", "rk/"},
                                                                    {"not imple", "mented"},
                                                                    {"out of sc", "ope"}}) {
      joined.push_back(std::string(a) + b);
    }
    return joined;
  }();

  Violations violations;
  for (const auto& [path, file] : tree) {
    std::istringstream lines(file.text);
    int number = 0;
    for (std::string line; std::getline(lines, line);) {
      ++number;
      for (const std::string& word : words) {
        if (holds_word(line, word)) {
          violations.push_back(fmt::format("{}:{}: \"{}\"", path, number, word));
        }
      }
    }
  }
  return violations;
}

}  // namespace attnscope::test
