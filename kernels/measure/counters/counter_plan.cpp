#include "kernels/measure/counters/counter_plan.h"
#include "kernels/measure/counters/cupti_library.h"

#include <fmt/core.h>

#include "kernels/measure/counters/host_object.h"

namespace attnscope::kernels {

std::vector<const char*> CounterGroup::c_names() const {
  std::vector<const char*> pointers;
  for (const std::string& name : names) pointers.push_back(name.c_str());
  return pointers;
}

namespace {

/// Schedules the group's counters: sets its image and its number of passes. False if the chip lacks
/// one.
bool schedule(const CuptiLibrary& cupti, const CounterPlan& plan, CounterGroup& group) {
  HostObject host(cupti, plan.chip, plan.availability_image);
  if (!host.add(group.c_names())) return false;
  group.config_image = host.config_image();
  group.hardware_passes = host.hardware_passes(group.config_image);
  return group.hardware_passes > 0;
}

/// Adds the counter to the first group that still needs only one hardware pass with it; returns
/// whether there is such a group.
bool join_a_group(const CuptiLibrary& cupti, CounterPlan& plan, const std::string& name) {
  for (CounterGroup& group : plan.groups) {
    if (group.hardware_passes != 1) continue;
    CounterGroup larger{group.names, {}, 0};
    larger.names.push_back(name);
    if (schedule(cupti, plan, larger) && larger.hardware_passes == 1) {
      group = std::move(larger);
      return true;
    }
  }
  return false;
}

}  // namespace

Result<CounterPlan> plan_counters(const CuptiLibrary& cupti, const std::string& chip,
                                  std::vector<std::uint8_t> availability_image,
                                  std::span<const std::string_view> names) try {
  CounterPlan plan{chip, std::move(availability_image), {}, {}};
  for (const std::string_view view : names) {
    const std::string name(view);
    CounterGroup alone{{name}, {}, 0};
    if (!schedule(cupti, plan, alone)) {
      plan.missing[name] = fmt::format("the chip {} does not have this counter", chip);
    } else if (alone.hardware_passes > 1 || !join_a_group(cupti, plan, name)) {
      plan.groups.push_back(std::move(alone));
    }
  }
  return plan;
} catch (const CuptiFailure& failure) {
  return failure.error();
}

}  // namespace attnscope::kernels
