#include "kernels/compile/compiler.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <chrono>

#include "kernels/compile/nvrtc_library.h"
#include "reference/message_text.h"

namespace attnscope::kernels {

namespace {

/// The number directly before `unit` in the text; 0 if there is none.
int number_before(std::string_view text, std::string_view unit) {
  const std::size_t end = text.find(unit);
  if (end == text.npos) return 0;
  const std::size_t begin = text.find_last_not_of("0123456789", end - 1) + 1;
  int number = 0;
  std::from_chars(text.data() + begin, text.data() + end, number);
  return number;
}

/// An NVRTC program, destroyed with the object.
class Program {
 public:
  Program(const NvrtcLibrary& nvrtc, const std::string& text,
          const std::vector<SourceFile>& headers)
      : nvrtc_(nvrtc) {
    std::vector<std::string> texts, names;
    for (const SourceFile& header : headers) {
      texts.emplace_back(header.text);
      names.emplace_back(header.path);
    }
    status_ = nvrtc.create(&program_, text.c_str(), "kernel", static_cast<int>(headers.size()),
                           c_strings(texts).data(), c_strings(names).data());
  }
  ~Program() {
    if (program_ != nullptr) nvrtc_.destroy(&program_);
  }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  int status() const { return status_; }
  NvrtcLibrary::Program get() const { return program_; }

  static std::vector<const char*> c_strings(const std::vector<std::string>& strings) {
    std::vector<const char*> pointers;
    for (const std::string& string : strings) pointers.push_back(string.c_str());
    return pointers;
  }

  /// Returns text from NVRTC: `size_of` gets its size, `copy` copies it.
  std::string text(int (*size_of)(NvrtcLibrary::Program, std::size_t*),
                   int (*copy)(NvrtcLibrary::Program, char*)) const {
    std::size_t bytes = 0;
    if (size_of(program_, &bytes) != 0 || bytes == 0) return {};
    std::string result(bytes, '\0');
    return copy(program_, result.data()) == 0 ? result : std::string();
  }
  std::string log() const { return text(nvrtc_.log_size, nvrtc_.log); }

 private:
  const NvrtcLibrary& nvrtc_;
  NvrtcLibrary::Program program_ = nullptr;
  int status_ = 0;
};

int ends_when_cancelled(void* payload, void* /*unused*/) {
  const auto* cancel = static_cast<const std::atomic<bool>*>(payload);
  return cancel->load(std::memory_order_relaxed) ? 1 : 0;
}

/// "kernels/flash2/flash2_forward.cuh(12): error: ...": the first line of the log with an error.
std::string first_error_in(std::string_view log) {
  constexpr std::string_view kMark = "error";
  while (!log.empty()) {
    const std::string_view line = log.substr(0, log.find('\n'));
    if (line.find(kMark) != line.npos) return one_line(std::string(line));
    log.remove_prefix(std::min(log.size(), line.size() + 1));
  }
  return "the compiler gave no reason";
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

std::vector<std::string> compiler_options(const KernelProgram& program) {
  std::vector<std::string> options = {"--gpu-architecture=" + program.architecture, "-std=c++20",
                                      "-default-device", "--ptxas-options=-v"};
  options.insert(options.end(), program.options.begin(), program.options.end());
  return options;
}

Result<CompiledKernel> compile(const KernelProgram& program, const std::atomic<bool>* cancel) {
  const auto& library = nvrtc();
  if (!library) return library.error();
  const NvrtcLibrary& nvrtc = library.value();
  std::string text;
  for (const std::string& source : program.sources) {
    text += fmt::format("#include \"{}\"\n", source);
  }
  text += program.text;
  const Program compiled(nvrtc, text, include_closure(program.sources));
  int status = compiled.status();
  if (status == 0) status = nvrtc.add_name_expression(compiled.get(), program.expression.c_str());
  if (status == 0 && cancel != nullptr && nvrtc.set_flow_callback != nullptr) {
    status = nvrtc.set_flow_callback(compiled.get(), ends_when_cancelled,
                                     const_cast<std::atomic<bool>*>(cancel));
  }
  if (status != 0) return failed("NVRTC: {}", nvrtc.error_string(status));

  std::vector<std::string> options = compiler_options(program);
  // NVRTC does not report resources for code from its own cache
  constexpr CudaVersion kFirstWithCache{12, 9};
  if (nvrtc.version >= kFirstWithCache) options.emplace_back("--no-cache");
  const auto begin = std::chrono::steady_clock::now();
  status = nvrtc.compile(compiled.get(), static_cast<int>(options.size()),
                         Program::c_strings(options).data());
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  if (cancel != nullptr && cancel->load()) return cancelled();
  const std::string log = compiled.log();
  if (status != 0) {
    return failed("cannot compile {} for {}: {}", program.expression, program.architecture,
                  first_error_in(log));
  }
  const char* entry = nullptr;
  status = nvrtc.lowered_name(compiled.get(), program.expression.c_str(), &entry);
  if (status != 0) return failed("NVRTC: {}", nvrtc.error_string(status));
  return CompiledKernel{.cubin = compiled.text(nvrtc.cubin_size, nvrtc.cubin),
                        .ptx = compiled.text(nvrtc.ptx_size, nvrtc.ptx),
                        .entry = entry,
                        .resources = resources_in(log, entry),
                        .compile_s = took.count()};
}

}  // namespace attnscope::kernels
