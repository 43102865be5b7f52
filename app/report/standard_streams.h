/// Standard input, output and error as both programs need them.
#pragma once

#include <string>

namespace attnscope {

/// Opens those that the caller of the program closed, so that no file that is opened later takes
/// their numbers and receives their text: reading and writing them fails. Call it first in main().
void hold_standard_streams();

/// Writes the text to standard error, where that is possible: a closed one is no reason to end.
void print_to_stderr(const std::string& text);

}  // namespace attnscope
