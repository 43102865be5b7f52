/// The document of a `simulate` command.
#pragma once

#include <nlohmann/json.hpp>

#include "tests/cli/cli_process.h"

namespace attnscope {

/// That of `simulate words --json -`, which must succeed and say nothing else.
inline nlohmann::ordered_json simulated(const std::string& words) {
  return answered("simulate " + words);
}

}  // namespace attnscope
