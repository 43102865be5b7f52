#include "app/own_inputs.h"

#include <fmt/format.h>

#include <algorithm>

#include "reference/npy.h"

namespace attnscope::app {

namespace {

constexpr Index kLongSequence = 512;

/// Sizes of a tensor of four axes.
Result<std::vector<Index>> shape_of(const std::string& path, std::string_view name,
                                    std::string_view axes) {
  if (path.empty()) {
    return invalid_request(
        fmt::format("--{} is missing; a scene of your own needs --q, --k and --v", name));
  }
  Result<NpyArray> array = read_npy(path);
  if (!array) return array.error();
  if (array.value().shape.size() != 4) {
    return invalid_request(fmt::format("{}: {} axes; --{} takes an array of shape {}", path,
                                       array.value().shape.size(), name, axes));
  }
  return std::move(array.value().shape);
}

}  // namespace

Result<Scene> scene_of_files(Scene base, const InputFiles& files) {
  const Result<std::vector<Index>> Q = shape_of(files.Q, "q", "[B, H, N, d]");
  if (!Q) return Q.error();
  const Result<std::vector<Index>> K = shape_of(files.K, "k", "[B, H_kv, N_kv, d]");
  if (!K) return K.error();
  const Result<std::vector<Index>> V = shape_of(files.V, "v", "[B, H_kv, N_kv, d]");
  if (!V) return V.error();

  Choice& choice = base.view.choice;
  AttentionProblem& problem = choice.problem;
  problem.batch = Q.value()[0];
  problem.heads = Q.value()[1];
  problem.N = Q.value()[2];
  problem.d = Q.value()[3];
  problem.kv_heads = K.value()[1];
  problem.N_kv = K.value()[2];
  const bool is_long = std::max(problem.N, problem.N_kv) > kLongSequence;
  choice.tiling = is_long ? Tiling{64, 64} : Tiling{16, 16};
  choice.files = from_folder(files, std::filesystem::current_path());
  base.view.query_row = 0;
  base.name = "own";
  base.title = "Your own inputs";
  base.source.reset();
  return base;
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
