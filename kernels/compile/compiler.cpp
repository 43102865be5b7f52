#include "kernels/compile/compiler.h"

#include <fmt/core.h>

#include <chrono>
#include <memory>
#include <thread>
#include <utility>

#include "kernels/compile/nvrtc_library.h"
#include "reference/files/packed_bytes.h"
#include "reference/message_text.h"
#include "reference/parallel_for.h"
#include "reference/parse_number.h"

namespace attnscope::kernels {

namespace {

/// The number directly before `unit` in the text; 0 if there is none.
int number_before(std::string_view text, std::string_view unit) {
  const std::size_t end = text.find(unit);
  if (end == text.npos) return 0;
  const std::size_t begin = text.find_last_not_of("0123456789", end - 1) + 1;
  return parse_number<int>(text.substr(begin, end - begin)).value_or(0);
}

/// Empty if NVRTC does not return it.
std::string text_of(NvrtcLibrary::Program program, const NvrtcLibrary::Text& functions) {
  std::size_t bytes = 0;
  if (functions.size(program, &bytes) != 0) return {};
  std::string text(bytes, '\0');
  return functions.copy(program, text.data()) == 0 ? text : std::string();
}

int ends_when_cancelled(void* payload, void* /*unused*/) {
  const auto* cancel = static_cast<const std::atomic<bool>*>(payload);
  return cancel->load(std::memory_order_relaxed) ? 1 : 0;
}

/// "kernels/flash2/flash2_forward.cuh(12): error: ...": the first line of the log with an error.
std::string first_error_in(std::string_view log) {
  const std::size_t error = log.find("error");
  if (error == log.npos) return "the compiler gave no reason";
  const std::size_t begin = log.rfind('\n', error) + 1;
  return one_line(log.substr(begin, log.find('\n', error) - begin));
}

std::vector<std::string> options_of(const KernelProgram& program) {
  std::vector<std::string> options = {"--gpu-architecture=" + program.architecture, "-std=c++20",
                                      "-default-device", "--ptxas-options=-v"};
  options.insert(options.end(), program.options.begin(), program.options.end());
  return options;
}

}  // namespace

KernelResources resources_in(std::string_view log, std::string_view entry) {
  constexpr std::string_view kMark = "Compiling entry function '";
  const std::size_t begin = log.find(fmt::format("{}{}'", kMark, entry));
  if (begin == log.npos) return {};
  log.remove_prefix(begin + kMark.size());
  log = log.substr(0, log.find(kMark));
  return {.registers = number_before(log, " registers"),
          .spill_stores = number_before(log, " bytes spill stores"),
          .spill_loads = number_before(log, " bytes spill loads"),
          .stack_bytes = number_before(log, " bytes stack frame"),
          .static_shared_bytes = number_before(log, " bytes smem")};
}

std::string packed(const CompiledKernel& kernel) {
  std::string bytes;
  append_all(bytes, kernel.cubin, kernel.ptx, kernel.entry, kernel.resources, kernel.compile_s);
  return bytes;
}

std::optional<CompiledKernel> unpacked_kernel(std::string_view bytes) {
  CompiledKernel kernel;
  const bool is_whole =
      take_all(bytes, kernel.cubin, kernel.ptx, kernel.entry, kernel.resources, kernel.compile_s);
  return is_whole && bytes.empty() ? std::optional(std::move(kernel)) : std::nullopt;
}

std::string cache_key(const KernelProgram& program, const std::string& nvrtc_build) {
  std::string key;
  append_all(key, nvrtc_build, program.expression, program.text);
  for (const std::string& option : options_of(program)) append_block(key, option);
  for (const SourceFile& file : include_closure(program.source)) {
    append_all(key, file.path, file.text);
  }
  return key;
}

Result<CompiledKernel> compile(const KernelProgram& program, const std::atomic<bool>* cancel) {
  ATTNSCOPE_TRY(const auto library, nvrtc());
  std::string text = program.text;
  if (!program.source.empty()) text = fmt::format("#include \"{}\"\n{}", program.source, text);
  std::vector<const char*> headers, names;
  for (const SourceFile& file : include_closure(program.source)) {
    headers.push_back(file.text.data());
    names.push_back(file.path.data());
  }

  NvrtcLibrary::Program created = nullptr;
  int status = library.create(&created, text.c_str(), "kernel", static_cast<int>(names.size()),
                              headers.data(), names.data());
  const auto destroy = [&](NvrtcLibrary::Program each) { library.destroy(&each); };
  const std::unique_ptr<void, decltype(destroy)> owner(created, destroy);
  if (status == 0) status = library.add_name_expression(created, program.expression.c_str());
  if (status == 0 && cancel != nullptr && library.set_flow_callback != nullptr) {
    status = library.set_flow_callback(created, ends_when_cancelled,
                                       const_cast<std::atomic<bool>*>(cancel));
  }
  if (status != 0) return failed("NVRTC: {}", library.error_string(status));

  std::vector<std::string> options = options_of(program);
  // Since 12.9, NVRTC caches code, and it does not report the resources of cached code
  if (library.version >= CudaVersion{12, 9}) options.emplace_back("--no-cache");
  std::vector<const char*> arguments;
  for (const std::string& option : options) arguments.push_back(option.c_str());
  const auto begin = std::chrono::steady_clock::now();
  status = library.compile(created, static_cast<int>(arguments.size()), arguments.data());
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  if (cancel != nullptr && cancel->load()) return cancelled();
  const std::string log = text_of(created, library.log);
  if (status != 0) {
    return failed("cannot compile {} for {}: {}", program.expression, program.architecture,
                  first_error_in(log));
  }
  const char* entry = nullptr;
  status = library.lowered_name(created, program.expression.c_str(), &entry);
  if (status != 0) return failed("NVRTC: {}", library.error_string(status));
  return CompiledKernel{.cubin = text_of(created, library.cubin),
                        .ptx = text_of(created, library.ptx),
                        .entry = entry,
                        .resources = resources_in(log, entry),
                        .compile_s = took.count()};
}

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
