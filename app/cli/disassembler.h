/// Machine code as text (SASS), by a disassembler of the CUDA toolkit.
#pragma once

#include <filesystem>
#include <string>

#include "reference/result.h"

namespace attnscope::cli {

struct Disassembler {
  std::filesystem::path program;
  std::string option;  ///< before the file's name: print code only
};

/// nvdisasm, else cuobjdump: on PATH, else in CUDA_HOME/bin. unavailable, with the remedy, where
/// there is neither.
Result<Disassembler> find_disassembler();

/// The text of a cubin. failed, with the disassembler's reason, when it gives none.
Result<std::string> disassemble(const Disassembler& disassembler, const std::string& cubin);

}  // namespace attnscope::cli
