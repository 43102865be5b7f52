/// Whether the kernels can run on a GPU, in words. Plain C++.
#pragma once

#include <string_view>

#include "reference/result.h"

namespace attnscope::kernels {

/// The error when a build for `architectures` has no code for this GPU: unavailable, with the
/// architecture that would have.
Error no_code_for(std::string_view gpu_name, int major, int minor, std::string_view architectures);

}  // namespace attnscope::kernels
