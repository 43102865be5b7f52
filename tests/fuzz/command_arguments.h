/// The arguments of a fuzzed command: those of the input, except for paths and for sizes that would
/// take minutes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace attnscope::fuzz {

/// One argument per line, none longer than the arguments of a real program may be. A path is a file
/// of the current folder or of its folder inputs/. Problems whose values are computed are small, so
/// that an input that takes long is a fault of the program.
std::vector<std::string> command_arguments(std::string_view lines);

}  // namespace attnscope::fuzz
