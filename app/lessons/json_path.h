/// Follows a path of an expression through a JSON document.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "app/lessons/expression.h"

namespace attnscope::lessons {

/// The value to which the path leads from its part `first` on; a tensor that is missing in
/// "by_tensor" moved 0 bytes. invalid_request, with the keys that exist, for a path that does not;
/// unavailable for a line of a comparison without a recorded number, with the line's reason.
Result<Value> value_in(const nlohmann::ordered_json& document, const Path& path, std::size_t first);

}  // namespace attnscope::lessons
