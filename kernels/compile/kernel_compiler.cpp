#include "kernels/compile/kernel_compiler.h"

#include <algorithm>
#include <chrono>
#include <future>
#include <thread>
#include <utility>
#include <vector>

#include "kernels/compile/nvrtc_library.h"

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
  std::atomic<std::size_t> next = 0;
  std::mutex mutex;  // guards the variables below
  int done = 0;
  std::optional<Error> error;
  if (control.progress) control.progress(0, all);
  const auto obtain_next_ones = [&] {
    for (std::size_t n = next++; n < programs.size(); n = next++) {
      const auto obtained = obtain(programs[n], control.cancel);
      const std::lock_guard lock(mutex);
      if (!obtained && !error) error = obtained.error();
      if (error) break;
      ++done;
      if (control.progress) control.progress(done, all);
    }
    next = programs.size();
  };
  const auto work = [&] {
    try {
      obtain_next_ones();
    } catch (...) {
      next = programs.size();
      throw;
    }
  };
  const std::size_t cores = std::max(1u, std::thread::hardware_concurrency());
  std::vector<std::future<void>> workers;
  for (std::size_t n = 0; n < std::min(cores, programs.size()); ++n) {
    // No launch policy: if no more threads can be started, get() runs the work in this thread
    workers.push_back(std::async(work));
  }
  for (std::future<void>& worker : workers) worker.get();
  return error;
}

}  // namespace attnscope::kernels
