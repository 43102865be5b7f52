#include "kernels/compile/kernel_compiler.h"

#include <chrono>
#include <thread>
#include <utility>

#include "kernels/compile/nvrtc_library.h"
#include "reference/parallel_for.h"

namespace attnscope::kernels {

std::optional<std::shared_ptr<const CompiledKernel>> KernelCompiler::claim(
    const std::string& key, const std::atomic<bool>* cancel) {
  constexpr std::chrono::milliseconds kPatience{20};  // between two checks of `cancel`
  std::unique_lock lock(mutex_);
  while (cancel == nullptr || !cancel->load()) {
    if (const auto kept = kept_.find(key); kept != kept_.end()) return kept->second;
    if (claimed_.insert(key).second) return nullptr;
    released_.wait_for(lock, kPatience);
  }
  return std::nullopt;
}

void KernelCompiler::release(const std::string& key, std::shared_ptr<const CompiledKernel> kernel) {
  {
    const std::lock_guard lock(mutex_);
    claimed_.erase(key);
    if (kernel) kept_[key] = std::move(kernel);
  }
  released_.notify_all();
}

Result<ObtainedKernel> KernelCompiler::obtain(const KernelProgram& program,
                                              const std::atomic<bool>* cancel) {
  const auto& library = nvrtc();
  if (!library) return library.error();
  const std::string key = cache_key(program, library.value().build);
  auto kept = claim(key, cancel);
  if (!kept) return cancelled();
  if (*kept) return ObtainedKernel{std::move(*kept), KernelOrigin::memory};

  // Release the key in any case: other threads may be waiting for it
  struct Claim {
    KernelCompiler& compiler;
    const std::string& key;
    std::shared_ptr<const CompiledKernel> kernel;
    ~Claim() { compiler.release(key, kernel); }
  } claimed{*this, key, nullptr};
  if (auto found = disk_.find(key)) {
    claimed.kernel = std::make_shared<const CompiledKernel>(std::move(*found));
    return ObtainedKernel{claimed.kernel, KernelOrigin::disk};
  }
  auto compiled = compile(program, cancel);
  if (!compiled) return compiled.error();
  claimed.kernel = std::make_shared<const CompiledKernel>(std::move(compiled).value());
  disk_.keep(key, *claimed.kernel);
  return ObtainedKernel{claimed.kernel, KernelOrigin::compiler};
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
    if (!obtained && !error) error = obtained.error();
    stopped = error.has_value();
    if (error) return;
    ++done;
    if (control.progress) control.progress(done, all);
  });
  return error;
}

}  // namespace attnscope::kernels
