/// A program with a fault at each of its calls in turn: each of its files must be the old or the
/// new one.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tests/cli/cli_process.h"

namespace attnscope {

/// The program with a fault at one of its calls.
struct Fault {
  std::string kind;  ///< "fail", "kill", "cut", "read" or "term"
  int call = 0;
  CliOutcome outcome;
  bool happened = false;
};

/// Runs the command in `folder` with a fault of each of these kinds at every call in turn, after
/// `prepare`; `check` sees each outcome. The calls end where the fault no longer happens.
void with_every_fault(const std::string& words, const ScratchFolder& folder,
                      const std::function<void()>& prepare,
                      const std::function<void(const Fault&)>& check,
                      const std::vector<std::string>& kinds = {"fail", "kill", "cut"});

/// What becomes of a document that cannot be saved: a command prints it, the app still has it.
enum class Unsaved : std::uint8_t { printed, in_the_app };

/// Expects every file that the command writes to be the old or the new one, and the new one where
/// its exit status is 0; a document that could not be saved to be printed, if it is to be; and no
/// other file beside them where a signal ends it.
void expect_old_or_new(const std::string& words, const std::vector<std::string>& names,
                       Unsaved unsaved = Unsaved::printed);

}  // namespace attnscope
