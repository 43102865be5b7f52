/// Results as .npy files: fp64, one file a tensor.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "reference/head_tensor.h"
#include "reference/result.h"

namespace attnscope::cli {

/// Creates the folder and writes o.npy [B, H, N, d] and lse.npy [B, H, N].
std::optional<Error> write_forward_files(const std::filesystem::path& folder, const HeadTensor& O,
                                         const HeadTensor& LSE);

}  // namespace attnscope::cli
