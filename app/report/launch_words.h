/// What a launch is called for people. Files, JSON and profiler ranges keep its own name.
#pragma once

#include <string_view>

namespace attnscope {

/// "row sums D" of "row_dots"; of a name that no schedule and no kernel has, the name itself.
std::string_view launch_words(std::string_view name);

}  // namespace attnscope
