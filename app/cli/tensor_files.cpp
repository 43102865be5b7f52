#include "app/cli/tensor_files.h"

#include <fmt/format.h>

#include <array>

#include "reference/npy.h"

namespace attnscope::cli {

std::optional<Error> write_forward_files(const std::filesystem::path& folder, const HeadTensor& O,
                                         const HeadTensor& LSE) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) {
    return failed(fmt::format("cannot create {}: {}", folder.string(), error.message()));
  }
  const std::array O_shape{O.batch, O.heads, O.rows, O.cols};
  if (auto failure = write_npy((folder / "o.npy").string(), O_shape, O.data)) return failure;
  const std::array LSE_shape{LSE.batch, LSE.heads, LSE.rows};
  return write_npy((folder / "lse.npy").string(), LSE_shape, LSE.data);
}

}  // namespace attnscope::cli
