/// A program with a fault at each of its calls in turn: each of its files must be the old or the
/// new one.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tests/cli/cli_process.h"

namespace attnscope {

/// The program with a fault at one of its calls.
struct Fault {
  std::string kind;  ///< "fail", "kill" or "cut"
  int call = 0;
  CliOutcome outcome;
  bool happened = false;
};

/// The environment in which kernels are answered by the echo library.
Environment with_echo(Environment environment = {});

/// Runs the command in `folder` with a fault at every call in turn, after `prepare`; `check` sees
/// each outcome. The calls end where the fault no longer happens.
void with_every_fault(const std::string& words, const ScratchFolder& folder,
                      const std::function<void()>& prepare,
                      const std::function<void(const Fault&)>& check);

/// Expects every file that the command writes to be the old or the new one, and the new one where
/// its exit status is 0.
void expect_old_or_new(const std::string& words, const std::vector<std::string>& names);

}  // namespace attnscope
