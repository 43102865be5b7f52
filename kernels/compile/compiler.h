/// Compiles instances of kernels for a GPU, with NVRTC, and keeps them in memory and on disk. Needs
/// no GPU.
#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "kernels/compile/kernel_sources.h"
#include "reference/files/disk_cache.h"
#include "reference/result.h"

namespace attnscope::kernels {

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

struct ObtainedKernel {
  std::shared_ptr<const CompiledKernel> kernel;
  bool compiled_now = false;  ///< else it came from memory or from disk
};

/// How a long compilation reports its progress and is cancelled.
struct CompileControl {
  const std::atomic<bool>* cancel = nullptr;
  /// `done` of `all` programs are ready. Calls do not overlap, but may come from any thread.
  std::function<void(int done, int all)> progress = {};
};

/// Any thread may use it; different programs are compiled in parallel.
class KernelCompiler {
 public:
  /// Stores kernels in this folder, so that all programs of a user compile each only once; with an
  /// empty path, only in memory.
  explicit KernelCompiler(const std::filesystem::path& folder = user_cache_folder("kernels"));

  /// The program's kernel. Waits if another thread is compiling the same program. Errors and
  /// `cancel` as in compile(). A cached kernel is found only if the NVRTC build that compiled it
  /// can be loaded.
  Result<ObtainedKernel> obtain(const KernelProgram& program,
                                const std::atomic<bool>* cancel = nullptr);

  /// Obtains all programs, at most one per core at a time. Stops at the first error or exception on
  /// any thread; the exception is rethrown here.
  std::optional<Error> obtain_all(std::span<const KernelProgram> programs,
                                  const CompileControl& control);

 private:
  struct Slot {
    std::timed_mutex mutex;  ///< held while a thread reads or compiles the kernel
    std::shared_ptr<const CompiledKernel> kernel;
  };

  const DiskCache disk_;
  std::mutex mutex_;  ///< guards the map; each slot's own mutex guards its kernel
  std::map<KernelProgram, Slot> slots_;
};

}  // namespace attnscope::kernels
