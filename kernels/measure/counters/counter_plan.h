/// The hardware counters that a chip has, and how many runs of a pass are needed to read them.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "reference/result.h"

namespace attnscope::kernels {

struct CuptiLibrary;

/// Counters that the hardware collects together.
struct CounterGroup {
  std::vector<std::string> names;
  std::vector<std::uint8_t> config_image;
  std::size_t hardware_passes = 1;  ///< more than 1 only for a single counter that needs several

  std::vector<const char*> c_names() const;
};

struct CounterPlan {
  std::string chip;  ///< "GH100"
  std::vector<std::uint8_t> availability_image;
  std::vector<CounterGroup> groups;
  std::map<std::string, std::string> missing;  ///< maps a counter to the reason
};

/// Sorts the counters into groups of one hardware pass by first fit, in the order of `names`. Each
/// name is first tried alone; a counter that the chip lacks goes to `missing`. `availability_image`
/// may be empty (this machine's restrictions are then ignored).
Result<CounterPlan> plan_counters(const CuptiLibrary& cupti, const std::string& chip,
                                  std::vector<std::uint8_t> availability_image,
                                  std::span<const std::string_view> names);

}  // namespace attnscope::kernels
