/// One invocation of attnscope-cli.
#pragma once

#include <string>
#include <vector>

namespace attnscope::cli {

/// Carries out the command line, given without the program's name: results go to standard output,
/// an error is one line on standard error. Returns the exit status: 0 done, 1 the work failed or
/// something is unavailable, 2 the request was invalid. Does not throw.
int run_program(std::vector<std::string> arguments);

}  // namespace attnscope::cli
