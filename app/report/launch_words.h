/// The names of launches for readers. Files, JSON and profiler ranges keep the internal name.
#pragma once

#include <string_view>

namespace attnscope {

/// "row sums D" of "row_dots"; an unknown name is returned unchanged.
std::string_view launch_words(std::string_view name);

}  // namespace attnscope
