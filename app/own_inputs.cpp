#include "app/own_inputs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "app/choice_rules.h"
#include "reference/npy.h"

namespace attnscope::app {

namespace {

constexpr Index kLongSequence = 512;

/// A tensor that may come from a file.
struct OwnTensor {
  std::string_view field;  ///< of the run: its file
  bool of_keys = false;
};
constexpr OwnTensor kTensors[] = {{"q"}, {"k", true}, {"v", true}, {"do"}};

Error wrong_file(const OwnTensor& tensor, std::string message) {
  return invalid_field(ErrorCode::contradiction, tensor.field, std::move(message));
}

/// Sizes of the tensor's file, which has four axes; nothing where it is generated.
Result<std::optional<std::vector<Index>>> shape_of(const RunSpec& choice, const OwnTensor& tensor) {
  const RunField& field = run_field(tensor.field);
  const std::string path = field.print(choice);
  if (path.empty()) return std::optional<std::vector<Index>>();
  Result<std::vector<Index>> shape = read_npy_shape(path);
  if (!shape) return wrong_file(tensor, shape.error().message);
  if (shape.value().size() == 4) return std::optional(std::move(shape).value());
  return wrong_file(
      tensor, fmt::format("{}: {} axes; {} takes an array of shape {}", path, shape.value().size(),
                          field.label, tensor.of_keys ? "[B, H_kv, N_kv, d]" : "[B, H, N, d]"));
}

}  // namespace

Result<Scene> scene_of_files(Scene base, const InputPaths& files) {
  RunSpec& choice = base.view.choice;
  choice.files = files;
  choice = from_folder(std::move(choice), std::filesystem::current_path());
  for (const OwnTensor& tensor : kTensors) {
    ATTNSCOPE_TRY(const auto shape, shape_of(choice, tensor));
    if (shape || tensor.field == "do") continue;
    return invalid_request(fmt::format("{} is missing; a scene of your own needs {}, {} and {}",
                                       field_name(tensor.field), field_name("q"), field_name("k"),
                                       field_name("v")));
  }
  choice = with_sizes_of_files(choice);
  base.view.query_row = base.view.head = base.view.O_column = 0;
  base.view.step = base.view.race_tick = 0;
  base.name = "own";
  base.path.clear();
  base.title = "Your own inputs";
  base.source.reset();
  return base;
}

RunSpec with_sizes_of_files(const RunSpec& choice) {
  RunSpec sized = choice;
  take_sizes_of_files(sized);
  const AttentionProblem& problem = sized.problem;
  if (problem == choice.problem) return choice;
  const bool is_long = std::max(problem.N, problem.N_kv) > kLongSequence;
  sized.set_tiling(is_long ? Tiling{64, 64} : Tiling{16, 16});
  return with_consequences(choice, std::move(sized));
}

std::optional<Error> check_files(const RunSpec& choice) {
  const AttentionProblem& p = choice.problem;
  for (const OwnTensor& tensor : kTensors) {
    ATTNSCOPE_TRY(const auto shape, shape_of(choice, tensor));
    const std::vector<Index> wanted = {p.batch, tensor.of_keys ? p.kv_heads : p.heads,
                                       tensor.of_keys ? p.N_kv : p.N, p.d};
    if (!shape || *shape == wanted) continue;
    const RunField& field = run_field(tensor.field);
    return wrong_file(tensor,
                      fmt::format("{}: shape [{}]; {} of this problem is [{}]", field.print(choice),
                                  fmt::join(*shape, ", "), field.label, fmt::join(wanted, ", ")));
  }
  return std::nullopt;
}

}  // namespace attnscope::app
