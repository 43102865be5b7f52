/// The launches of split_kv. Internal to kernels/.
#pragma once

#include <optional>

#include "reference/result.h"

namespace attnscope::kernels {

class PassLauncher;  // kernels/pass_launcher.h

/// Enqueues the pass of split_kv. Returns nothing on success.
std::optional<Error> launch_split_kv(PassLauncher& pass);

}  // namespace attnscope::kernels
