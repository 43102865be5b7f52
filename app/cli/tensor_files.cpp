#include "app/cli/tensor_files.h"

#include <fmt/core.h>

#include <array>

#include "reference/npy.h"

namespace attnscope::cli {

namespace {

std::optional<Error> create_folder(const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (!error) return std::nullopt;
  return failed(fmt::format("cannot create {}: {}", folder.string(), error.message()));
}

std::optional<Error> write_tensor(const std::filesystem::path& path, const HeadTensor& tensor) {
  const std::array shape{tensor.batch, tensor.heads, tensor.rows, tensor.cols};
  return write_npy(path.string(), shape, tensor.data);
}

}  // namespace

std::optional<Error> write_forward_files(const std::filesystem::path& folder, const HeadTensor& O,
                                         const HeadTensor& LSE) {
  if (auto failure = create_folder(folder)) return failure;
  if (auto failure = write_tensor(folder / "o.npy", O)) return failure;
  const std::array LSE_shape{LSE.batch, LSE.heads, LSE.rows};
  return write_npy((folder / "lse.npy").string(), LSE_shape, LSE.data);
}

std::optional<Error> write_gradient_files(const std::filesystem::path& folder,
                                          const Gradients& gradients) {
  if (auto failure = create_folder(folder)) return failure;
  if (auto failure = write_tensor(folder / "dq.npy", gradients.dQ)) return failure;
  if (auto failure = write_tensor(folder / "dk.npy", gradients.dK)) return failure;
  return write_tensor(folder / "dv.npy", gradients.dV);
}

}  // namespace attnscope::cli
