#include "app/own_inputs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "app/choice_rules.h"
#include "reference/npy.h"

namespace attnscope::app {

namespace {

constexpr Index kLongSequence = 512;

/// Sizes of a tensor of four axes.
Result<std::vector<Index>> shape_of(const std::string& path, std::string_view name,
                                    std::string_view axes) {
  Result<std::vector<Index>> shape = read_npy_shape(path);
  if (!shape || shape.value().size() == 4) return shape;
  return invalid_request(fmt::format("{}: {} axes; {} takes an array of shape {}", path,
                                     shape.value().size(), name, axes));
}

constexpr std::string_view kQueryAxes = "[B, H, N, d]";
constexpr std::string_view kKeyAxes = "[B, H_kv, N_kv, d]";

/// A file of the choice, and what it stands for.
struct NamedFile {
  std::string_view name;
  const std::string& path;
  bool of_keys = false;
};

std::array<NamedFile, 4> files_of(const Choice& choice) {
  const InputFiles& files = choice.files;
  return {{{"Q", files.Q}, {"K", files.K, true}, {"V", files.V, true}, {"dO", files.dO}}};
}

}  // namespace

Result<Scene> scene_of_files(Scene base, const InputFiles& files) {
  const std::pair<const char*, const std::string&> needed[] = {
      {"q", files.Q}, {"k", files.K}, {"v", files.V}};
  for (const auto& [name, path] : needed) {
    if (!path.empty()) continue;
    return invalid_request(
        fmt::format("--{} is missing; a scene of your own needs --q, --k and --v", name));
  }
  base.view.choice.files = from_folder(files, std::filesystem::current_path());
  Result<Choice> choice = with_sizes_of_files(base.view.choice);
  if (!choice) return choice.error();
  base.view.choice = std::move(choice).value();
  base.view.query_row = base.view.head = base.view.O_column = 0;
  base.view.step = base.view.race_tick = 0;
  base.name = "own";
  base.title = "Your own inputs";
  base.source.reset();
  return base;
}

Result<Choice> with_sizes_of_files(Choice choice) {
  const Choice before = choice;
  AttentionProblem& problem = choice.problem;
  for (const NamedFile& file : files_of(choice)) {
    if (file.path.empty()) continue;
    const auto shape = shape_of(file.path, file.name, file.of_keys ? kKeyAxes : kQueryAxes);
    if (!shape) return shape.error();
    const std::vector<Index>& sizes = shape.value();
    const bool told_already = (file.name == "V" && !choice.files.K.empty()) ||
                              (file.name == "dO" && !choice.files.Q.empty());
    if (told_already) continue;
    // Heads without a file of their own go along with the others
    const bool plain = problem.heads == problem.kv_heads;
    const bool square = problem.N == problem.N_kv;
    problem.batch = sizes[0];
    (file.of_keys ? problem.kv_heads : problem.heads) = sizes[1];
    (file.of_keys ? problem.N_kv : problem.N) = sizes[2];
    problem.d = sizes[3];
    if (!file.of_keys && plain && choice.files.K.empty()) problem.kv_heads = sizes[1];
    if (!file.of_keys && square && choice.files.K.empty()) problem.N_kv = sizes[2];
  }
  if (problem == before.problem) return choice;
  const bool is_long = std::max(problem.N, problem.N_kv) > kLongSequence;
  choice.tiling = is_long ? Tiling{64, 64} : Tiling{16, 16};
  return with_consequences(before, std::move(choice));
}

std::optional<Error> check_files(const Choice& choice) {
  const AttentionProblem& p = choice.problem;
  for (const NamedFile& file : files_of(choice)) {
    if (file.path.empty()) continue;
    const auto shape = shape_of(file.path, file.name, file.of_keys ? kKeyAxes : kQueryAxes);
    if (!shape) return shape.error();
    const std::vector<Index> wanted = {p.batch, file.of_keys ? p.kv_heads : p.heads,
                                       file.of_keys ? p.N_kv : p.N, p.d};
    if (shape.value() == wanted) continue;
    return invalid_request(fmt::format("{}: shape [{}]; {} of this problem is [{}]", file.path,
                                       fmt::join(shape.value(), ", "), file.name,
                                       fmt::join(wanted, ", ")));
  }
  return std::nullopt;
}

Result<std::optional<AttentionInputs>> read_own_inputs(const Choice& choice) {
  const InputFiles& files = choice.files;
  if (!files.any()) return std::optional<AttentionInputs>();
  Result<AttentionInputs> inputs =
      load_inputs(choice.problem, {files.Q, files.K, files.V, files.dO}, choice.inputs);
  if (!inputs) return inputs.error();
  return std::optional(std::move(inputs).value());
}

InputFiles from_folder(InputFiles files, const std::filesystem::path& folder) {
  for (std::string* path : {&files.Q, &files.K, &files.V, &files.dO}) {
    if (!path->empty()) *path = (folder / *path).lexically_normal().string();
  }
  return files;
}

}  // namespace attnscope::app
