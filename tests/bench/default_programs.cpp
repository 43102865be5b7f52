/// Compiles the kernels of every default tiling, without a GPU, and prints those that spill
/// registers, as a Markdown table, and those that took longest:
///   attnscope_default_programs [--all] [--threads=N] [COMPUTE_CAPABILITY ...]
/// It covers bf16 and fp32, every width of a tile, a causal mask with each score feature and with
/// all, and flash1's O in both precisions. Bytes are per thread, stored and loaded back. --all
/// prints every kernel with the hash of its machine code, so that outputs of two commits show which
/// kernels a change affects. Seconds are CPU time. The exit status is 1 if a kernel cannot be
/// compiled.
#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <ctime>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "kernels/catalog.h"
#include "kernels/compile/compiler.h"
#include "kernels/compile/nvrtc_library.h"
#include "kernels/default_tilings.h"
#include "kernels/resolve.h"
#include "kernels/run_programs.h"
#include "tests/support/temp_dir.h"

namespace attnscope::kernels {
namespace {

constexpr Index kWidths[] = {16, 32, 64, 96, 128, 192, 256};

/// Problems with no score feature, with each alone, and with all together.
std::vector<AttentionProblem> problems() {
  AttentionProblem plain;
  plain.mask = Mask::causal();
  AttentionProblem windowed = plain, capped = plain, biased = plain, dropped = plain;
  windowed.mask = *parse_mask("window:256");
  capped.score.soft_cap = 30.0;
  biased.score.alibi_slopes = standard_alibi_slopes(plain.heads);
  dropped.score.dropout.probability = 0.1;
  AttentionProblem all = windowed;
  all.score = {capped.score.soft_cap, biased.score.alibi_slopes, dropped.score.dropout};
  return {plain, windowed, capped, biased, dropped, all};
}

/// The shared memory that a block can have on a GPU of this compute capability.
Index shared_bytes_of(std::string_view compute_capability) {
  if (compute_capability == "8.0" || compute_capability == "8.7") return Index{163} * 1024;
  const bool small = compute_capability.starts_with("8.") || compute_capability.starts_with("12.");
  return small ? Index{99} * 1024 : kMostSharedBytes;
}

/// Adds every program of the run in the kernel's default tilings on this GPU.
void add_programs(ResolvedRun run, const ProgramTarget& target,
                  std::map<std::string, KernelProgram>& programs) {
  if (supports(run)) return;
  std::vector<Tiling> tilings = {run_on_gpu(run, target).tiling};
  if (target.has_hopper_instructions()) {
    const auto own = hopper_tilings(kernel_of(run), run.pass(), run.problem);
    tilings.insert(tilings.end(), own.begin(), own.end());
  }
  for (const Tiling& tiling : tilings) {
    run.tiling = tiling;
    for (LaunchProgram& launch : programs_of(run, target)) {
      programs.emplace(launch.block.program.expression, launch.block.program);
    }
  }
}

/// Every program that default runs need, by its expression.
std::map<std::string, KernelProgram> default_programs(std::string_view compute_capability,
                                                      const std::string& architecture) {
  const ProgramTarget target{std::string(compute_capability), shared_bytes_of(compute_capability)};
  std::map<std::string, KernelProgram> programs;
  for (const KernelInfo& kernel : catalog()) {
    for (const PassKind pass : {PassKind::forward, PassKind::backward}) {
      for (AttentionProblem problem : problems()) {
        for (const DType dtype : {DType::bf16, DType::fp32}) {
          for (const Index d : kWidths) {
            for (const Carry carry : {Carry::problem, Carry::fp32}) {
              problem.dtype = dtype;
              problem.d = d;
              ResolvedRun run;
              run.asked.kernel = kernel.name;
              run.asked.pass = pass;
              run.asked.variant.carry = carry;
              run.problem = problem;
              add_programs(run, target, programs);
            }
          }
        }
      }
    }
  }
  for (auto& [expression, program] : programs) program.architecture = architecture;
  return programs;
}

/// The requests of the command line.
struct Options {
  bool all = false;
  unsigned threads = std::max(1u, std::thread::hardware_concurrency());
  std::vector<std::string_view> capabilities;
};

/// The longest of several times, and its kernel.
struct Slowest {
  double time_s = 0;
  std::string_view expression;
  void add(double other_s, std::string_view of) {
    if (other_s > time_s) *this = {other_s, of};
  }
};

/// The CPU time of the calling thread.
double core_time_s() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

/// Compiles programs into a temporary cache folder, and reads them from there as another process
/// would.
class Compilation {
 public:
  Compilation(std::string_view compute_capability, const Options& options)
      : capability_(compute_capability), options_(options) {}

  /// Prints the table's lines; returns the number of programs that could not be compiled.
  int run(const std::map<std::string, KernelProgram>& programs) {
    std::vector<const KernelProgram*> waiting;
    for (const auto& [expression, program] : programs) waiting.push_back(&program);
    std::atomic<std::size_t> next = 0;
    const auto work = [&] {
      for (std::size_t n = next++; n < waiting.size(); n = next++) compile(*waiting[n]);
    };
    std::vector<std::thread> threads;
    for (unsigned n = 0; n < options_.threads; ++n) threads.emplace_back(work);
    for (std::thread& thread : threads) thread.join();
    fmt::print(
        "{}: {} kernels, {} spill, {} are not compiled, {:.0f} s in all\n"
        "slowest to compile: {:.2f} s, {}\nslowest from the disk cache: {:.2f} ms, {}\n",
        capability_, programs.size(), spilling_, failed_, total_s_, compiled_.time_s,
        compiled_.expression, 1e3 * read_.time_s, read_.expression);
    return failed_;
  }

 private:
  void compile(const KernelProgram& program) {
    const double begin_s = core_time_s();
    const auto made = KernelCompiler(folder_.path()).obtain(program);
    const double compiled_s = core_time_s(), compile_s = compiled_s - begin_s;
    const auto read = KernelCompiler(folder_.path()).obtain(program);
    const double read_s = core_time_s() - compiled_s;

    const std::lock_guard lock(mutex_);
    total_s_ += compile_s;
    if (!made || !read || read.value().compiled_now) {
      ++failed_;
      fmt::print("{}\n", made ? program.expression + " is not in the cache" : made.error().message);
      return;
    }
    compiled_.add(compile_s, program.expression);
    read_.add(read_s, program.expression);
    const CompiledKernel& kernel = *made.value().kernel;
    const KernelResources& used = kernel.resources;
    if (used.spill_stores > 0) ++spilling_;
    if (used.spill_stores == 0 && !options_.all) return;
    fmt::print("| {} | {} | {} | {} | {} |", capability_, program.expression, used.registers,
               used.spill_stores, used.spill_loads);
    if (options_.all) {
      fmt::print(" {:.2f} | {:016x} |", compile_s, std::hash<std::string>()(kernel.cubin));
    }
    fmt::print("\n");
  }

  std::string_view capability_;
  const Options& options_;
  test::TempDir folder_;
  std::mutex mutex_;  // guards the variables below and the output
  int spilling_ = 0, failed_ = 0;
  double total_s_ = 0;
  Slowest compiled_, read_;
};

/// Compiles for a GPU; returns the number of programs that could not be compiled.
int compile_for(std::string_view compute_capability, const Options& options) {
  const auto& library = nvrtc();
  const auto architecture =
      library ? target_architecture(compute_capability, library.value()) : library.error();
  if (!architecture) {
    fmt::print("{}\n", architecture.error().message);
    return 1;
  }
  return Compilation(compute_capability, options)
      .run(default_programs(compute_capability, architecture.value()));
}

Options parse(int argc, char** argv) {
  constexpr std::string_view kThreads = "--threads=";
  Options options;
  for (const std::string_view word : std::vector<std::string_view>(argv + 1, argv + argc)) {
    if (word == "--all") {
      options.all = true;
    } else if (word.starts_with(kThreads)) {
      const std::string_view number = word.substr(kThreads.size());
      std::from_chars(number.data(), number.data() + number.size(), options.threads);
      options.threads = std::max(1u, options.threads);
    } else {
      options.capabilities.push_back(word);
    }
  }
  if (options.capabilities.empty()) options.capabilities = {"8.0", "8.6", "8.9", "9.0", "10.0"};
  return options;
}

}  // namespace

int print_default_programs(int argc, char** argv) {
  const Options options = parse(argc, argv);
  fmt::print("| compute capability | kernel | registers | bytes stored | bytes loaded |{}\n",
             options.all ? " seconds | machine code |" : "");
  fmt::print("| --- | --- | --- | --- | --- |{}\n", options.all ? " --- | --- |" : "");
  int failed = 0;
  for (const std::string_view each : options.capabilities) failed += compile_for(each, options);
  return failed == 0 ? 0 : 1;
}

}  // namespace attnscope::kernels

int main(int argc, char** argv) {
  return attnscope::kernels::print_default_programs(argc, argv);
}
