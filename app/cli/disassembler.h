/// Machine code as text (SASS), printed by a disassembler of the CUDA toolkit.
#pragma once

#include <filesystem>
#include <string>

#include "reference/result.h"

namespace attnscope::cli {

struct Disassembler {
  std::filesystem::path program;
  std::string option;  ///< the option that prints only code; precedes the file's name
};

/// Finds nvdisasm, else cuobjdump, each on PATH or else in CUDA_HOME/bin. unavailable, with the
/// remedy, if neither is found.
Result<Disassembler> find_disassembler();

/// The SASS of a cubin. failed, with the disassembler's message, if it prints none.
Result<std::string> disassemble(const Disassembler& disassembler, const std::string& cubin);

}  // namespace attnscope::cli
