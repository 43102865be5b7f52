/// The model beside a GPU's numbers, for run, measure and compare.
#pragma once

#include <string>
#include <string_view>

#include "app/cli/command_line.h"
#include "app/report/compare.h"

namespace attnscope::cli {

/// The spec's where --gpu was given, else the shipped description that fits the device; unavailable
/// when none does.
Result<GpuDescription> gpu_beside(const GivenOptions& given, const RunSpec& spec,
                                  const DeviceInfo& device);

/// The run's lines as an aligned table, of the GPU alone where it stands alone; `kind` heads the
/// GPU's column: "recorded", "measured".
std::string comparison_table(const Comparison& comparison, std::string_view kind);

}  // namespace attnscope::cli
