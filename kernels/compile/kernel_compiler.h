/// Provides compiled kernels: from memory, else from disk, else by compiling them.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>

#include "kernels/compile/kernel_cache.h"

namespace attnscope::kernels {

/// Where a kernel came from.
enum class KernelOrigin : std::uint8_t { memory, disk, compiler };

struct ObtainedKernel {
  std::shared_ptr<const CompiledKernel> kernel;
  KernelOrigin origin = KernelOrigin::compiler;
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
  explicit KernelCompiler(KernelCache disk) : disk_(std::move(disk)) {}

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
  /// The kernel in memory; null if the caller must obtain it and release() the key; nothing if
  /// cancelled.
  std::optional<std::shared_ptr<const CompiledKernel>> claim(const std::string& key,
                                                             const std::atomic<bool>* cancel);
  /// Stores the kernel, unless it is null, and wakes the threads that wait for it.
  void release(const std::string& key, std::shared_ptr<const CompiledKernel> kernel);

  const KernelCache disk_;
  std::mutex mutex_;
  std::condition_variable released_;
  std::map<std::string, std::shared_ptr<const CompiledKernel>> kept_;
  std::set<std::string> claimed_;  ///< being read or compiled
};

}  // namespace attnscope::kernels
