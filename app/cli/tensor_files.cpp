#include "app/cli/tensor_files.h"

#include <fmt/core.h>
#include <unistd.h>

#include "app/report/table.h"
#include "reference/npy.h"

namespace attnscope::cli {

std::optional<Error> check_host_memory(const AttentionProblem& problem) {
  // Q, dO, O, its reference and its yardstick; K, V and their transposed copies
  const double heads = static_cast<double>(problem.batch) * static_cast<double>(problem.heads);
  const double kv_heads =
      static_cast<double>(problem.batch) * static_cast<double>(problem.kv_heads);
  const double d = static_cast<double>(problem.d);
  const double elems = 5.0 * heads * static_cast<double>(problem.N) * d +
                       4.0 * kv_heads * static_cast<double>(problem.N_kv) * d;
  const double needed_bytes = elems * static_cast<double>(sizeof(double));

  const double machine_bytes =
      static_cast<double>(::sysconf(_SC_PHYS_PAGES)) * static_cast<double>(::sysconf(_SC_PAGESIZE));
  if (needed_bytes <= machine_bytes) return std::nullopt;
  return invalid_request(
      fmt::format("the numbers of this problem take {} of memory and this machine has {}; "
                  "simulate without --check, --out and --q counts at any size",
                  bytes_text(needed_bytes), bytes_text(machine_bytes)));
}

std::filesystem::path tensor_file(const std::filesystem::path& folder, std::string_view name) {
  return folder / fmt::format("{}.npy", name);
}

std::optional<Error> write_tensor_files(
    const std::filesystem::path& folder,
    std::initializer_list<std::pair<std::string_view, const HeadTensor&>> tensors) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return failed(fmt::format("cannot create {}: {}", folder.string(), error.message()));
  for (const auto& [name, tensor] : tensors) {
    std::vector<Index> shape = {tensor.batch, tensor.heads, tensor.rows, tensor.cols};
    if (name == "lse") shape.pop_back();
    if (auto failure = write_npy(tensor_file(folder, name).string(), shape, tensor.data)) {
      return failure;
    }
  }
  return std::nullopt;
}

}  // namespace attnscope::cli
