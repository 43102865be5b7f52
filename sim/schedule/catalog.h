/// The algorithms that AttnScope knows, with or without CUDA.
#pragma once

#include <string>
#include <vector>

#include "sim/schedule/algorithm.h"

namespace attnscope {

/// Every algorithm, simplest first.
std::span<const Algorithm> algorithms();
std::vector<std::string> algorithm_names();
/// Null when no algorithm has this name.
const Algorithm* find_algorithm(std::string_view name);

}  // namespace attnscope
