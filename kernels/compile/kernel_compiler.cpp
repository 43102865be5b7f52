#include "kernels/compile/kernel_compiler.h"

#include <chrono>
#include <string>
#include <thread>
#include <utility>

#include "kernels/compile/nvrtc_library.h"
#include "reference/parallel_for.h"

namespace attnscope::kernels {

KernelCompiler::KernelCompiler(const std::filesystem::path& folder)
    : disk_(folder, {.format = "attnscope kernel 3\n", .suffix = ".kernel"},
            std::uintmax_t{256} << 20U) {}

Result<ObtainedKernel> KernelCompiler::obtain(const KernelProgram& program,
                                              const std::atomic<bool>* cancel) {
  ATTNSCOPE_TRY(const auto library, nvrtc());
  constexpr std::chrono::milliseconds kPatience{20};  // between two checks of `cancel`
  std::unique_lock lock(mutex_);
  Slot& slot = slots_[program];
  lock.unlock();
  std::unique_lock claim(slot.mutex, std::defer_lock);
  do {
    if (cancel != nullptr && cancel->load()) return cancelled();
    // With try_lock_for(), the thread sanitizers of GCC 12 and Clang 14 would not see the lock
  } while (!claim.try_lock_until(std::chrono::system_clock::now() + kPatience));
  if (slot.kernel) return ObtainedKernel{slot.kernel};

  const std::string key = cache_key(program, library.build);
  auto kernel = unpacked_kernel(disk_.find(key).value_or(""));
  const bool compiled_now = !kernel;
  if (compiled_now) {
    ATTNSCOPE_TRY(kernel, compile(program, cancel));
    disk_.keep(key, packed(*kernel));
  }
  slot.kernel = std::make_shared<const CompiledKernel>(std::move(*kernel));
  return ObtainedKernel{slot.kernel, compiled_now};
}

std::optional<Error> KernelCompiler::obtain_all(std::span<const KernelProgram> programs,
                                                const CompileControl& control) {
  const int all = static_cast<int>(programs.size());
  std::atomic<bool> stopped = false;
  std::mutex mutex;  // guards the variables below
  int done = 0;
  std::optional<Error> error;
  if (control.progress) control.progress(0, all);
  parallel_for(programs.size(), std::thread::hardware_concurrency(), [&](std::size_t n) {
    if (stopped) return;
    const auto obtained = obtain(programs[n], control.cancel);
    const std::lock_guard lock(mutex);
    if (!obtained && !stopped.exchange(true)) error = obtained.error();
    if (!stopped && control.progress) control.progress(++done, all);
  });
  return error;
}

}  // namespace attnscope::kernels
