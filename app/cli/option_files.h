/// Files that options name: which ones a command reads and writes, so that no output is an input or
/// another output.
#pragma once

#include <filesystem>
#include <optional>
#include <string_view>
#include <vector>

#include "app/cli/command_line.h"
#include "kernels/recording/recording.h"
#include "reference/run_fields.h"

namespace attnscope::cli {

/// Whether the path is "-", or names the file, pipe or terminal to which standard output goes.
bool is_standard_output(const std::filesystem::path& path);

/// The tensors that a command may write, and the file of each.
inline constexpr std::string_view kTensorNames[] = {"o", "lse", "dq", "dk", "dv"};
std::filesystem::path tensor_file(const std::filesystem::path& folder, std::string_view name);

// Values of OptionSpec::files: what an option's value names.

/// The option's value is a value of the field; the file that it names, if any, is read.
OptionFiles files_of(const RunField& field);
/// The option's value is a recording or trace to read: a path, or the name of a shipped one.
OptionFiles reads_recording();
OptionFiles reads_trace();
/// The option's value is a file to write; "-" is standard output. The file may replace a shipped
/// file of one kind only, in the words of shipped_as().
OptionFiles writes_file(std::string_view may_replace = {});
/// The option's value is a recording to which rows are added; never standard output.
OptionFiles adds_to_recording();
/// The option's value is a folder into which o.npy, lse.npy, dq.npy, dk.npy and dv.npy are written.
OptionFiles writes_tensors();

/// A command's options and the values that were given.
struct GivenCommand {
  const CommandSpec* command = nullptr;
  const GivenOptions* given = nullptr;
};

/// invalid_request unless all files that the commands write are different, none of them is also
/// read, none has the path of a folder that another needs, and standard output is written at most
/// once. Two paths name the same file if their identity_of() is equal. A file that standard output
/// was redirected to counts as written. A value shared by points of a sweep counts once.
std::optional<Error> check_apart(const std::vector<GivenCommand>& commands);

/// invalid_request if one of these outputs, or the file that standard output goes to, is a block
/// mask file that a row of the recording reads.
std::optional<Error> check_masks_stay(const GivenOptions& given,
                                      std::initializer_list<const char*> outputs,
                                      const Recording& recording);

}  // namespace attnscope::cli
