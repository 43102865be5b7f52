/// The launches of standard. Internal to kernels/.
#pragma once

#include <optional>

#include "reference/result.h"

namespace attnscope::kernels {

class PassLauncher;  // kernels/pass_launcher.h

/// Enqueue a pass of standard. Return nothing on success; unavailable if cuBLAS cannot be loaded.
std::optional<Error> launch_standard(PassLauncher& pass);
std::optional<Error> launch_standard_backward(PassLauncher& pass);

}  // namespace attnscope::kernels
