/// A GPU as a recording describes it.
#pragma once

#include <optional>
#include <string>

#include "reference/attention_problem.h"

namespace attnscope {

struct DeviceInfo {
  std::string name;                ///< "NVIDIA H200"
  std::string compute_capability;  ///< "9.0"
  Index sm_count = 0;
  Index l2_bytes = 0;
  Index memory_bytes = 0;
  std::string driver;                      ///< "580.159.04"; empty if the driver does not report it
  std::string cuda;                        ///< CUDA version that the driver supports, "13.0"
  std::optional<double> sm_clock_mhz;      ///< the SMs' highest clock
  std::optional<double> memory_clock_mhz;  ///< the memory's highest clock
  std::optional<double> power_limit_w;

  bool operator==(const DeviceInfo&) const = default;
};

}  // namespace attnscope
