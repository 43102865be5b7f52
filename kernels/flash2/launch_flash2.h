/// The launches of flash2. Internal to kernels/.
#pragma once

#include <optional>

#include "reference/result.h"

namespace attnscope::kernels {

class PassLauncher;  // kernels/pass_launcher.h

/// Enqueue a pass of flash2 or block_sparse2. Return nothing on success.
std::optional<Error> launch_flash2(PassLauncher& pass);
std::optional<Error> launch_flash2_backward(PassLauncher& pass);

}  // namespace attnscope::kernels
