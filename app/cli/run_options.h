/// Options and the values of a run, from the table of fields (reference/run_fields.h); the files
/// that options name.
#pragma once

#include <initializer_list>
#include <optional>
#include <string_view>
#include <vector>

#include "app/cli/command_line.h"
#include "kernels/recording/device_info.h"
#include "kernels/recording/recording.h"
#include "reference/run_fields.h"
#include "sim/device/gpu_description.h"

namespace attnscope::cli {

/// The value of a field that is not given, or the rule that sets it.
std::string default_text(const RunField& field, const RunSpec& defaults = {});

/// Options of the fields with these keys, in the table's order; their help shows `defaults`.
std::vector<OptionSpec> field_options(std::initializer_list<std::string_view> keys,
                                      const RunSpec& defaults = {});
/// Options of every field of the model (FieldTarget::kernel: of a kernel) and of both, except those
/// that are left out; --algorithm is required.
std::vector<OptionSpec> run_options(FieldTarget target,
                                    std::initializer_list<std::string_view> without = {});
/// The options, with help and (if not empty) value name replaced by those in `changes`.
std::vector<OptionSpec> with_help(std::vector<OptionSpec> options,
                                  std::initializer_list<OptionSpec> changes);

/// The options of problem and tiling, for studies that choose the algorithms themselves.
std::vector<OptionSpec> shape_options(const RunSpec& defaults);
/// The options of the model that a kernel is compared with: --gpu, its capacities,
/// --allow-overflow.
std::vector<OptionSpec> modelled_gpu_options();
/// Several lists as one.
std::vector<OptionSpec> joined(std::initializer_list<std::vector<OptionSpec>> lists);

/// The defaults, overwritten by the given options. Sizes that were not given come from the input
/// files, the packed sequences or the defaults, in this order. Text that cannot be understood and
/// numbers out of range are errors here; resolve() checks the combination of fields.
Result<RunSpec> parse_run(const GivenOptions& given, const RunSpec& defaults = {});
/// The same, but requires --algorithm to be one of `algorithms`.
Result<RunSpec> parse_run_of(const GivenOptions& given, const std::vector<std::string>& algorithms);
/// The GPU of the model that a kernel is compared with: the spec's if --gpu was given, else the
/// shipped description that matches the device; unavailable when none does.
Result<GpuDescription> gpu_beside(const GivenOptions& given, const RunSpec& spec,
                                  const DeviceInfo& device);
/// A pass, but not both at once.
std::optional<PassKind> parse_one_pass(std::string_view name);
/// One copy of the spec for each value of the comma-separated list, stored in field `key`.
Result<std::vector<RunSpec>> parse_list(std::string_view key, std::string_view list,
                                        const RunSpec& spec);

// Files that options name: which ones a command reads and writes, so that no output is an input or
// another output (option_files.cpp). What an option's value names, for OptionSpec::files:

/// The file that a value of the field names, if any; it is read.
OptionFiles files_of(const RunField& field);
/// A recording or a trace that is read: a path, or the name of a shipped one.
OptionFiles reads_recording();
OptionFiles reads_trace();
/// A file that is written; "-" is standard output. It may replace a shipped file of one kind only,
/// in the words of shipped_as().
OptionFiles writes_file(std::string_view may_replace = {});
/// A recording to which rows are added; never standard output.
OptionFiles adds_to_recording();
/// A folder into which o.npy, lse.npy, dq.npy, dk.npy and dv.npy are written.
OptionFiles writes_tensors();

/// A command's options and the values that were given.
struct GivenCommand {
  const CommandSpec* command = nullptr;
  const GivenOptions* given = nullptr;
};

/// Nothing when all files that the commands write are different files, none of them read and none
/// in the place of another one's folder, and standard output is written at most once; else
/// invalid_request. Paths lead to the same file if identity_of() is equal. A file that standard
/// output was redirected to counts as written. A value that points of a sweep share counts once.
std::optional<Error> check_apart(const std::vector<GivenCommand>& commands);

/// Nothing unless one of these outputs, or the file that standard output goes to, is a block mask
/// file that a row of the recording reads; else invalid_request.
std::optional<Error> check_masks_stay(const GivenOptions& given,
                                      std::initializer_list<const char*> outputs,
                                      const Recording& recording);

}  // namespace attnscope::cli
