/// Provides compiled kernels: from memory, else from disk, else by compiling them.
#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>

#include "kernels/compile/compiler.h"
#include "reference/files/disk_cache.h"

namespace attnscope::kernels {

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
