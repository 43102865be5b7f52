/// The descriptions of GPUs that the app has used, each read once.
#pragma once

#include <map>
#include <mutex>
#include <string>

#include "reference/run_spec.h"
#include "sim/device/gpu_description.h"

namespace attnscope::app {

/// May be called from any thread.
class GpuCatalog {
 public:
  /// The GPU that the spec names, with the spec's capacities; errors as in load_gpu().
  Result<GpuDescription> gpu_of(const RunSpec& spec);

 private:
  std::mutex mutex_;
  std::map<std::string, GpuDescription> read_;
};

}  // namespace attnscope::app
