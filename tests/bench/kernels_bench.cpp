/// Times the forward kernels on this machine's GPU: 16k tokens, hidden dimension 2048 (batch =
/// 16384 / N, heads = 2048 / d), bf16, random inputs. The kernels take turns within every repeat,
/// so that a change of clocks affects all of them equally; the median of the repeats is printed.
///
///   attnscope_kernels_bench [repeats [max N [kernel ...]]]
#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "kernels/default_tilings.h"
#include "kernels/host/device_buffer.h"
#include "kernels/launch.h"
#include "kernels/launch_resources.h"
#include "kernels/run_programs.h"
#include "tests/bench/gaussian_buffer.h"
#include "tests/support/kernel_run.h"

namespace attnscope::kernels {
namespace {

constexpr Index kTokens = 16384;
constexpr Index kHidden = 2048;

/// A candidate: a kernel in one tiling.
struct Candidate {
  const KernelInfo* kernel;
  std::optional<Tiling> tiling;
  Carry carry;
  std::vector<float> times_ms;
  std::string failure;
};

struct Buffers {
  DeviceBuffer Q, K, V, O, LSE, workspace;
  LaunchResources resources = {};
};

ResolvedRun run_of(const Candidate& candidate, const AttentionProblem& problem) {
  return test::kernel_run(candidate.kernel->name, problem, PassKind::forward, candidate.tiling,
                          candidate.carry);
}

float time_once(const Candidate& candidate, const AttentionProblem& problem, Buffers& buffers,
                std::string& failure) {
  PassArguments arguments;
  arguments.resources = &buffers.resources;
  arguments.run = run_of(candidate, problem);
  const auto view = [&](const DeviceBuffer& buffer) {
    return TensorView{.data_dev = buffer.data_dev(),
                      .stride_batch = problem.heads * problem.N * problem.d,
                      .stride_head = problem.N * problem.d,
                      .stride_row = problem.d};
  };
  arguments.Q = view(buffers.Q);
  arguments.K = view(buffers.K);
  arguments.V = view(buffers.V);
  arguments.O = view(buffers.O);
  if (candidate.kernel->name == "flash2") {
    arguments.LSE_dev = static_cast<float*>(buffers.LSE.data_dev());
  }
  arguments.workspace_dev = buffers.workspace.data_dev();
  arguments.workspace_bytes = buffers.workspace.bytes();
  cudaEvent_t start = nullptr, stop = nullptr;
  ATTNSCOPE_CUDA(cudaEventCreate(&start));
  ATTNSCOPE_CUDA(cudaEventCreate(&stop));
  ATTNSCOPE_CUDA(cudaEventRecord(start));
  if (const auto error = launch(arguments)) failure = error->message;
  ATTNSCOPE_CUDA(cudaEventRecord(stop));
  ATTNSCOPE_CUDA(cudaEventSynchronize(stop));
  float time_ms = 0;
  ATTNSCOPE_CUDA(cudaEventElapsedTime(&time_ms, start, stop));
  ATTNSCOPE_CUDA(cudaEventDestroy(start));
  ATTNSCOPE_CUDA(cudaEventDestroy(stop));
  return time_ms;
}

/// The flops of the forward pass: 4 N N_kv d per head, half of them under a causal mask.
double forward_flops(const AttentionProblem& problem) {
  const double scores = static_cast<double>(problem.batch * problem.heads) *
                        static_cast<double>(problem.N) * static_cast<double>(problem.N_kv);
  return scores * 4 * static_cast<double>(problem.d) * (problem.mask.is_causal() ? 0.5 : 1.0);
}

void bench(const AttentionProblem& problem, std::vector<Candidate> candidates, int repeats) {
  const auto tensor_bytes =
      static_cast<std::size_t>(problem.batch * problem.heads * problem.N * problem.d * 2);
  std::size_t workspace = 0;
  for (const Candidate& candidate : candidates) {
    workspace = std::max(workspace, workspace_bytes(run_of(candidate, problem)));
  }
  Buffers buffers{DeviceBuffer(tensor_bytes), DeviceBuffer(tensor_bytes),
                  DeviceBuffer(tensor_bytes), DeviceBuffer(tensor_bytes),
                  DeviceBuffer(tensor_bytes), DeviceBuffer(workspace)};
  std::uint64_t seed = 1;
  for (DeviceBuffer* buffer : {&buffers.Q, &buffers.K, &buffers.V}) {
    fill_gaussian(*buffer, seed++);
  }

  for (int repeat = -2; repeat < repeats; ++repeat) {  // two warm-ups
    for (Candidate& candidate : candidates) {
      const float time_ms = time_once(candidate, problem, buffers, candidate.failure);
      if (repeat >= 0) candidate.times_ms.push_back(time_ms);
    }
  }
  fmt::print("d {:3} N {:5} {:6}", problem.d, problem.N, to_string(problem.mask));
  for (Candidate& candidate : candidates) {
    std::sort(candidate.times_ms.begin(), candidate.times_ms.end());
    const auto median_ms = static_cast<double>(candidate.times_ms[candidate.times_ms.size() / 2]);
    const std::string tiling =
        candidate.tiling ? fmt::format(" {}x{}", candidate.tiling->Br, candidate.tiling->Bc) : "";
    if (!candidate.failure.empty()) {
      fmt::print(" | {}{}: {}", candidate.kernel->name, tiling, candidate.failure);
      continue;
    }
    fmt::print(" | {}{}{} {:.3f} ms {:.0f} TFLOP/s", candidate.kernel->name, tiling,
               candidate.carry == Carry::fp32 ? " fp32" : "", median_ms,
               forward_flops(problem) / (median_ms * 1e9));
  }
  fmt::print("\n");
  std::fflush(stdout);
}

}  // namespace
}  // namespace attnscope::kernels

int main(int argc, char** argv) {
  using namespace attnscope;
  using namespace attnscope::kernels;
  const int repeats = argc > 1 ? std::atoi(argv[1]) : 10;
  const Index max_N = argc > 2 ? std::atoi(argv[2]) : kTokens;
  const std::vector<std::string> names(argv + std::min(argc, 3), argv + argc);
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    fmt::print("no GPU: nothing to time\n");
    return 1;
  }
  for (const Index d : {Index{64}, Index{128}}) {
    for (const Mask& mask : {Mask::none(), Mask::causal()}) {
      for (Index N = 512; N <= max_N; N *= 2) {
        const Index heads = kHidden / d;
        const AttentionProblem problem{.batch = kTokens / N,
                                       .heads = heads,
                                       .kv_heads = heads,
                                       .N = N,
                                       .N_kv = N,
                                       .d = d,
                                       .dtype = DType::bf16,
                                       .mask = mask};
        std::vector<Candidate> candidates;
        for (const KernelInfo& kernel : catalog()) {
          const bool chosen =
              names.empty() || std::find(names.begin(), names.end(), kernel.name) != names.end();
          if (!chosen) continue;
          for (const Tiling& tiling : default_tilings(kernel, PassKind::forward, problem)) {
            candidates.push_back({&kernel, tiling, Carry::problem, {}, {}});
          }
          if (kernel.honours_carry) {
            candidates.push_back({&kernel, std::nullopt, Carry::fp32, {}, {}});
          }
        }
        bench(problem, std::move(candidates), repeats);
      }
    }
  }
  return 0;
}
