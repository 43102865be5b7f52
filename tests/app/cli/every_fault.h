/// A program with a fault at each of its calls in turn: each of its files must be the old or the
/// new one.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tests/app/cli/cli_process.h"

namespace attnscope {

/// The program with a fault at one of its calls.
struct Fault {
  std::string kind;  ///< "fail", "kill", "cut", "read" or "term"
  int call = 0;
  CliOutcome outcome;
  bool happened = false;
};

/// Runs the command in `folder` with a fault of each of these kinds at every call in turn, after
/// `prepare`; `check` receives each outcome. It stops when the fault no longer occurs.
void with_every_fault(const std::string& words, const ScratchFolder& folder,
                      const std::function<void()>& prepare,
                      const std::function<void(const Fault&)>& check,
                      const std::vector<std::string>& kinds = {"fail", "kill", "cut"});

/// Where a document is if it could not be saved: a command prints it, the app keeps it.
enum class Unsaved : std::uint8_t { printed, in_the_app };

/// Expects that every file that the command writes is the old or the new one, and the new one if
/// its exit status is 0; that a document that could not be saved is printed, if `unsaved` requires
/// it; and that no other file is left if a signal ends it.
void expect_old_or_new(const std::string& words, const std::vector<std::string>& names,
                       Unsaved unsaved = Unsaved::printed);

}  // namespace attnscope
