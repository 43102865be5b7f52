/// The arguments of a fuzzed command: those of the input, but for paths and for sizes that would
/// take minutes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace attnscope::fuzz {

/// One argument a line, each as long as one of a real program at most. A path is a file of the
/// current folder or of its folder inputs/. Problems whose numbers are computed are small, so that
/// an input that takes long is a fault of the program.
std::vector<std::string> command_arguments(std::string_view lines);

}  // namespace attnscope::fuzz
