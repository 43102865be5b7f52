/// Compiles the kernels of every default tiling, without a GPU, and prints which spill registers,
/// as a Markdown table:
///   attnscope_default_programs [COMPUTE_CAPABILITY ...]
/// bf16 and fp32, every width of a tile, a causal mask with each score feature and with all. Bytes
/// are of one thread, stored and loaded back. Exit status 1 when a kernel is not compiled.
#include <fmt/core.h>

#include <atomic>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "kernels/compile/target_architecture.h"
#include "kernels/default_tilings.h"
#include "kernels/run_programs.h"

namespace attnscope::kernels {
namespace {

constexpr Index kWidths[] = {16, 32, 64, 96, 128, 192, 256};

/// A problem for every combination of features that changes a kernel's registers: each alone, and
/// all together.
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

/// Every program, by its expression.
std::map<std::string, KernelProgram> default_programs(std::string_view compute_capability,
                                                      const std::string& architecture) {
  const ProgramTarget target{std::string(compute_capability), kMostSharedBytes};
  std::map<std::string, KernelProgram> programs;
  const auto add = [&](const KernelInfo& kernel, PassKind pass, const AttentionProblem& problem) {
    ResolvedRun run;
    run.asked.kernel = kernel.name;
    run.asked.pass = pass;
    run.problem = problem;
    if (supports(kernel, pass, problem, std::nullopt)) return;
    for (const Tiling& tiling : default_tilings(kernel, pass, problem)) {
      run.tiling = tiling;
      for (LaunchProgram& launch : programs_of(run, target)) {
        KernelProgram& program = launch.block.program;
        program.architecture = architecture;
        programs.emplace(program.expression, program);
      }
    }
  };
  for (const KernelInfo& kernel : catalog()) {
    for (const PassKind pass : {PassKind::forward, PassKind::backward}) {
      for (AttentionProblem problem : problems()) {
        for (const DType dtype : {DType::bf16, DType::fp32}) {
          for (const Index d : kWidths) {
            problem.dtype = dtype;
            problem.d = d;
            add(kernel, pass, problem);
          }
        }
      }
    }
  }
  return programs;
}

/// Prints the kernels that spill; gives the number that are not compiled.
int print_spills(std::string_view compute_capability) {
  const auto architecture = target_architecture(compute_capability);
  if (!architecture) {
    fmt::print("{}\n", architecture.error().message);
    return 1;
  }
  const std::map<std::string, KernelProgram> programs =
      default_programs(compute_capability, architecture.value());
  std::vector<const KernelProgram*> waiting;
  for (const auto& [expression, program] : programs) waiting.push_back(&program);
  std::atomic<std::size_t> next = 0;
  std::mutex mutex;  // guards what follows
  int spilling = 0, failed = 0;
  const auto work = [&] {
    for (std::size_t n = next++; n < waiting.size(); n = next++) {
      const auto made = compile(*waiting[n]);
      const std::lock_guard lock(mutex);
      if (!made) {
        ++failed;
        fmt::print("{}\n", made.error().message);
      } else if (const KernelResources& used = made.value().resources; used.spill_stores > 0) {
        ++spilling;
        fmt::print("| {} | {} | {} | {} | {} |\n", compute_capability, waiting[n]->expression,
                   used.registers, used.spill_stores, used.spill_loads);
      }
    }
  };
  std::vector<std::thread> threads;
  for (unsigned n = 0; n < std::max(1u, std::thread::hardware_concurrency()); ++n) {
    threads.emplace_back(work);
  }
  for (std::thread& thread : threads) thread.join();
  fmt::print("{}: {} kernels, {} spill, {} are not compiled\n", compute_capability, programs.size(),
             spilling, failed);
  return failed;
}

}  // namespace
}  // namespace attnscope::kernels

int main(int argc, char** argv) {
  std::vector<std::string_view> capabilities(argv + 1, argv + argc);
  if (capabilities.empty()) capabilities = {"8.0", "8.6", "8.9", "9.0", "10.0"};
  fmt::print(
      "| compute capability | kernel | registers | bytes stored | bytes loaded |\n"
      "| --- | --- | --- | --- | --- |\n");
  int failed = 0;
  for (const std::string_view each : capabilities) {
    failed += attnscope::kernels::print_spills(each);
  }
  return failed == 0 ? 0 : 1;
}
