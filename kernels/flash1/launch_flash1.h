/// The launches of flash1. Internal to kernels/.
#pragma once

#include <optional>

#include "reference/result.h"

namespace attnscope::kernels {

class PassLauncher;  // kernels/pass_launcher.h

/// Enqueue a pass of flash1. Return nothing on success.
std::optional<Error> launch_flash1(PassLauncher& pass);
std::optional<Error> launch_flash1_backward(PassLauncher& pass);

}  // namespace attnscope::kernels
