/// Compiles an instance of a kernel for a GPU, with NVRTC, in memory. Needs no GPU.
#pragma once

#include <atomic>
#include <compare>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/compile/kernel_sources.h"
#include "reference/result.h"

namespace attnscope::kernels {

/// One instance of a kernel's template.
struct KernelProgram {
  /// Embedded files that declare the kernel and its types.
  std::vector<std::string> sources = {};
  std::string expression;                 ///< "attnscope::kernels::flash2_forward<...>"
  std::string architecture = {};          ///< "sm_90a", or "compute_90": target_architecture()
  std::vector<std::string> options = {};  ///< additional options of NVRTC
  std::string text = {};                  ///< code to append, from no embedded file

  auto operator<=>(const KernelProgram&) const = default;
};

/// The SM resources that a kernel uses, as the compiler reports them.
struct KernelResources {
  int registers = 0;            ///< per thread
  int spill_stores = 0;         ///< bytes per thread, summed over the instructions
  int spill_loads = 0;          ///< the same
  int stack_bytes = 0;          ///< per thread; spills are stored there
  int static_shared_bytes = 0;  ///< per block, in addition to dynamic shared memory
  bool operator==(const KernelResources&) const = default;
};

/// Machine code; for a PTX architecture, only PTX.
struct CompiledKernel {
  std::string cubin;  ///< empty if there is only PTX; its resources are then unknown
  std::string ptx;
  std::string entry;  ///< the kernel's name in the machine code
  KernelResources resources;
  double compile_s = 0;
};

/// The resources that a "--ptxas-options=-v" log reports for one of its kernels, `entry`.
KernelResources resources_in(std::string_view log, std::string_view entry);

/// The kernel as bytes, to be stored on disk.
std::string packed(const CompiledKernel& kernel);

/// The kernel that packed() wrote; nothing if the bytes are something else.
std::optional<CompiledKernel> unpacked_kernel(std::string_view bytes);

/// Everything that determines the compiled code: the text of the program and its includes, its
/// expression and options, the architecture and the build of NVRTC.
std::string cache_key(const KernelProgram& program, const std::string& nvrtc_build);

/// Compiles the program in the calling thread. unavailable if NVRTC cannot be loaded; failed, with
/// the compiler's message, file and line, if it rejects the source or the architecture. If another
/// thread sets `cancel`, soon returns ErrorCode::cancelled.
Result<CompiledKernel> compile(const KernelProgram& program,
                               const std::atomic<bool>* cancel = nullptr);

}  // namespace attnscope::kernels
