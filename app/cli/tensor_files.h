/// Whole tensors: whether this machine can hold them, and results as .npy files, fp64, one file per
/// tensor.
#pragma once

#include <filesystem>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <utility>

#include "reference/head_tensor.h"
#include "reference/result.h"

namespace attnscope::cli {

/// Nothing when inputs, outputs and reference of the problem fit in the machine's memory as fp64,
/// else invalid_request. Counting needs no numbers and is not limited.
std::optional<Error> check_host_memory(const AttentionProblem& problem);

/// The tensors that a command may write, and the file of each.
inline constexpr std::string_view kTensorNames[] = {"o", "lse", "dq", "dk", "dv"};
std::filesystem::path tensor_file(const std::filesystem::path& folder, std::string_view name);

/// Creates the folder and writes NAME.npy of every tensor, [B, H, N, d]; of "lse" [B, H, N].
std::optional<Error> write_tensor_files(
    const std::filesystem::path& folder,
    std::initializer_list<std::pair<std::string_view, const HeadTensor&>> tensors);

}  // namespace attnscope::cli
