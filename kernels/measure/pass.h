/// A pass to be measured: anything that enqueues launches on a stream and reports when each begins
/// and ends.
#pragma once

#include <functional>
#include <optional>
#include <string_view>

#include "reference/result.h"

namespace attnscope::kernels {

/// Called on the host around each launch. Either may be empty.
struct LaunchMarks {
  std::function<void(std::string_view launch_name)> before;
  std::function<void(std::string_view launch_name)> after;
};

/// Enqueues the pass. Returns nothing on success.
using Pass = std::function<std::optional<Error>(const LaunchMarks& marks)>;

}  // namespace attnscope::kernels
