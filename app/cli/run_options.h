/// Options of a run and their values, from the table of fields (reference/run_fields.h).
#pragma once

#include <initializer_list>
#include <optional>
#include <string_view>
#include <vector>

#include "app/cli/command_line.h"
#include "kernels/recording/device_info.h"
#include "reference/run_fields.h"
#include "sim/device/gpu_description.h"

namespace attnscope::cli {

/// The value of a field that is not given, or the rule that sets it.
std::string default_text(const RunField& field, const RunSpec& defaults = {});

/// Options of the fields with these keys, in the table's order; their help shows `defaults`.
std::vector<OptionSpec> field_options(std::initializer_list<std::string_view> keys,
                                      const RunSpec& defaults = {});
/// Options of every field that applies to the model (to a kernel for FieldTarget::kernel), except
/// those in `without`; --algorithm is required.
std::vector<OptionSpec> run_options(FieldTarget target,
                                    std::initializer_list<std::string_view> without = {});
/// The options, with the help and (if not empty) the value names in `changes`.
std::vector<OptionSpec> with_help(std::vector<OptionSpec> options,
                                  std::initializer_list<OptionSpec> changes);

/// The options of problem and tiling, for studies that choose the algorithms themselves.
std::vector<OptionSpec> shape_options(const RunSpec& defaults);
/// The options that replace numbers of the modelled GPU, such as --l2-bytes.
std::vector<OptionSpec> what_if_options();
/// The options of the model that a kernel is compared with: --gpu, --allow-overflow and
/// what_if_options().
std::vector<OptionSpec> modelled_gpu_options();
/// The lists joined into one.
std::vector<OptionSpec> joined(std::initializer_list<std::vector<OptionSpec>> lists);

/// The defaults, overwritten by the given options. Sizes that were not given come from the input
/// files, the packed sequences or the defaults, in this order. Text that cannot be understood and
/// numbers out of range are errors here; resolve() checks the combination of fields.
Result<RunSpec> parse_run(const GivenOptions& given, const RunSpec& defaults = {});
/// As parse_run(), but --algorithm is required and must be one of `algorithms`.
Result<RunSpec> parse_run_of(const GivenOptions& given, const std::vector<std::string>& algorithms);
/// The GPU of the model that a kernel is compared with: the spec's if --gpu was given, else the
/// shipped description that matches the device; unavailable when none does.
Result<GpuDescription> gpu_beside(const GivenOptions& given, const RunSpec& spec,
                                  const DeviceInfo& device);
/// Parses one pass: forward or backward, not both.
std::optional<PassKind> parse_one_pass(std::string_view name);
/// One copy of the spec for each value of the comma-separated list, stored in field `key`.
Result<std::vector<RunSpec>> parse_list(std::string_view key, std::string_view list,
                                        const RunSpec& spec);

}  // namespace attnscope::cli
