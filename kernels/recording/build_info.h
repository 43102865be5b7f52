/// Identifies this build; set when the build was configured.
#pragma once

#include <string>

namespace attnscope {

struct BuildInfo {
  std::string version;         ///< of the project, "0.1.0"
  std::string commit;          ///< full hash, or "unknown" outside a git checkout
  bool local_changes = false;  ///< whether tracked files differed from the commit

  bool operator==(const BuildInfo&) const = default;
};

const BuildInfo& build_info();

}  // namespace attnscope
