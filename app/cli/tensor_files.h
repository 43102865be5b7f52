/// Results as .npy files: fp64, one file a tensor.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "reference/head_tensor.h"
#include "reference/naive_attention.h"
#include "reference/result.h"

namespace attnscope::cli {

/// Creates the folder and writes o.npy [B, H, N, d] and lse.npy [B, H, N].
std::optional<Error> write_forward_files(const std::filesystem::path& folder, const HeadTensor& O,
                                         const HeadTensor& LSE);

/// Writes dq.npy [B, H, N, d], dk.npy and dv.npy [B, H_kv, N_kv, d] into the existing folder.
std::optional<Error> write_gradient_files(const std::filesystem::path& folder,
                                          const Gradients& gradients);

}  // namespace attnscope::cli
