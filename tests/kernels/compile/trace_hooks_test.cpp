/// Without recording, the trace hooks of kernels cost nothing: the machine code of a kernel without
/// a trace is that of the same source with every call of its observer removed.
#include <fmt/core.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <cctype>
#include <regex>
#include <set>
#include <sstream>

#include "kernels/catalog.h"
#include "kernels/default_tilings.h"
#include "kernels/run_programs.h"
#include "tests/kernels/compile/compiled_block.h"

namespace attnscope::kernels {
namespace {

/// The source without the calls of its observer, and the number of calls; the `;` of a statement
/// stays.
struct WithoutHooks {
  std::string text;
  int count = 0;
};

WithoutHooks without_hooks(std::string_view path, const std::string& text) {
  static const std::regex kHook(R"(([^\w.])trace\.\w+\()");
  WithoutHooks result;
  auto begin = text.cbegin();
  for (std::smatch hook; std::regex_search(begin, text.cend(), hook, kHook); ++result.count) {
    result.text.append(begin, hook[1].second);
    begin = hook[0].second;
    for (int depth = 1; depth > 0; ++begin) depth += *begin == '(' ? 1 : (*begin == ')' ? -1 : 0);
    EXPECT_EQ(*std::find_if_not(begin, text.cend(), [](char c) { return std::isspace(c); }), ';')
        << path << ": a hook is not a statement";
  }
  result.text.append(begin, text.cend());
  EXPECT_FALSE(std::regex_search(result.text, std::regex(R"([^\w./]trace\s*(\.|->))"))) << path;
  return result;
}

/// The sources that a program includes, in one text, each before those that include it.
class OneText {
 public:
  OneText(const KernelProgram& program, bool with_hooks) : with_hooks_(with_hooks) {
    add(program.source);
  }
  const std::string& text() const { return text_; }
  int hooks() const { return hooks_; }

 private:
  void add(const std::string& path) {
    if (!added_.insert(path).second) return;
    constexpr std::string_view kInclude = "#include \"";
    std::string own, line;
    std::istringstream source{std::string(kernel_source(path)->text)};
    while (std::getline(source, line)) {
      if (line.starts_with(kInclude)) {
        const std::string rest = line.substr(kInclude.size());
        add(rest.substr(0, rest.find('"')));
      } else if (line != "#pragma once") {
        own += line + "\n";
      }
    }
    const bool has_observer = std::regex_search(own, std::regex(R"(\bTrace&? trace\b)"));
    if (!with_hooks_ && has_observer && path != "kernels/device/trace.cuh") {
      const WithoutHooks without = without_hooks(path, own);
      EXPECT_GT(without.count, 0) << path;
      hooks_ += without.count;
      own = without.text;
    }
    text_ += own;
  }

  bool with_hooks_;
  std::set<std::string> added_;
  std::string text_;
  int hooks_ = 0;
};

KernelProgram as_one_text(const KernelProgram& program, bool with_hooks, const char* architecture) {
  const OneText source(program, with_hooks);
  EXPECT_EQ(source.hooks() > 0, !with_hooks) << program.expression;
  KernelProgram whole = program;
  whole.architecture = architecture;
  whole.source.clear();
  whole.text = source.text();
  return whole;
}

/// Compiled anew by each call.
CompiledKernel compiled_as_one_text(const BlockProgram& block, bool with_hooks,
                                    const char* architecture) {
  const auto kernel = compile(as_one_text(block.program, with_hooks, architecture));
  EXPECT_TRUE(kernel.ok()) << (kernel.ok() ? "" : kernel.error().message);
  return kernel.ok() ? kernel.value() : CompiledKernel();
}

/// Whether the program compiles to the same machine code with its hooks and without. Equal PTX is
/// equal machine code, and takes a fraction of the time; only if it differs is machine code
/// compared. NVRTC 13.0 does not always write the same code for one source (about three of 100
/// compilations of the fp32 backward kernel differ), so a pair that differs is compiled again.
bool hooks_are_free(const BlockProgram& block) {
  const std::string ptx = compiled_as_one_text(block, false, "compute_90a").ptx;
  if (!ptx.empty() && ptx == compiled(block).ptx) return true;
  constexpr int kTries = 6;
  for (int i = 0; i < kTries; ++i) {
    const CompiledKernel with = compiled_as_one_text(block, true, "sm_90a");
    const CompiledKernel without = compiled_as_one_text(block, false, "sm_90a");
    if (with.resources == without.resources && with.cubin == without.cubin) return true;
  }
  return false;
}

/// A kernel's pass.
struct Traced {
  const char* kernel;
  PassKind pass = PassKind::forward;
  DType dtype = DType::bf16;
  const char* mask = "causal";
  Index d = 64;
  std::optional<Tiling> tiling = std::nullopt;  ///< empty: the default tiling
};

std::string name_of(const Traced& of) {
  const std::string tiling =
      of.tiling ? fmt::format("_{}x{}", of.tiling->Br, of.tiling->Bc) : std::string();
  return fmt::format("{}_{}_{}_{}_{}{}", of.kernel, to_string(of.pass), to_string(of.dtype),
                     std::string_view(of.mask).substr(0, 6), of.d, tiling);
}

void PrintTo(const Traced& traced, std::ostream* out) {
  *out << name_of(traced);
}

class TraceHooks : public ::testing::TestWithParam<Traced> {};

TEST_P(TraceHooks, CostNothingIfNothingIsRecorded) {
  const Traced& traced = GetParam();
  ResolvedRun run;
  run.asked.kernel = traced.kernel;
  run.asked.pass = traced.pass;
  run.problem = problem_of(traced.d, *parse_mask(traced.mask));
  run.problem.dtype = traced.dtype;
  run.tiling = traced.tiling.value_or(
      default_tilings(*find_kernel(traced.kernel), traced.pass, run.problem).front());
  int compared = 0;
  for (const LaunchProgram& launch : programs_of(run, {"9.0", kMostSharedBytes})) {
    if (launch.block.program.expression.find("NoTrace") == std::string::npos) continue;
    ++compared;
    EXPECT_TRUE(hooks_are_free(launch.block)) << launch.block.program.expression;
  }
  EXPECT_EQ(compared, 1);
}

constexpr PassKind kBackward = PassKind::backward;

INSTANTIATE_TEST_SUITE_P(
    Kernels, TraceHooks,
    testing::Values(Traced{"flash1"}, Traced{"flash1", kBackward},
                    Traced{"flash1", kBackward, DType::bf16, "causal", 128},
                    Traced{"flash1", PassKind::forward, DType::fp32}, Traced{"flash2"},
                    Traced{"flash2", PassKind::forward, DType::bf16, "window:256"},
                    Traced{"flash2", PassKind::forward, DType::fp32},
                    Traced{"flash2", PassKind::forward, DType::bf16, "causal", 128,
                           Tiling{128, 128}},  // with Hopper's instructions
                    Traced{"flash2", kBackward},
                    Traced{"flash2", kBackward, DType::bf16, "causal", 128},
                    Traced{"flash2", kBackward, DType::fp32}, Traced{"block_sparse2"},
                    Traced{"split_kv"},
                    Traced{"split_kv", PassKind::forward, DType::bf16, "window:256"}),
    [](const auto& traced) { return name_of(traced.param); });

}  // namespace
}  // namespace attnscope::kernels
