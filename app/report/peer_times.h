/// Recorded times of other libraries' kernels, PyTorch's and cuDNN's, on AttnScope's problems:
/// assets/recordings/peers, which tests/bench/peers.py writes.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "reference/attention_problem.h"
#include "reference/result.h"

namespace attnscope {

/// The median time of one pass.
struct PeerTime {
  std::string name;  ///< "PyTorch flash2", "cuDNN"
  std::string gpu;   ///< "NVIDIA H200"
  std::string how;   ///< "recorded on NVIDIA H200, 2026-11-22, PyTorch 2.11, cuDNN 91900, warm L2"
  AttentionProblem problem;
  bool backward = false;  ///< false: forward
  double time_s = 0.0;
};

/// The times in the file (schema "attnscope.peers/1"). invalid_request names the field that is
/// missing or wrong.
Result<std::vector<PeerTime>> read_peer_times(const std::filesystem::path& path);

/// The times in every shipped file; files that cannot be read are left out and named in `problems`.
std::vector<PeerTime> load_shipped_peer_times(std::vector<std::string>& problems);

}  // namespace attnscope
