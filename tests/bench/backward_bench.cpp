/// Times the backward pass of flash2 on this machine's GPU: 16k tokens, hidden dimension 2048
/// (batch = 16384 / N, heads = 2048 / d), bf16, random inputs, all launches of the pass together.
/// It prints the median of the repeats, and counts 2.5 times the forward pass's flops.
///
///   attnscope_backward_bench [repeats [max N]]
#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "kernels/default_tilings.h"
#include "kernels/launch.h"
#include "kernels/launch_resources.h"
#include "kernels/run_programs.h"
#include "tests/bench/gaussian_buffer.h"
#include "tests/support/kernel_run.h"

namespace attnscope::kernels {
namespace {

constexpr Index kTokens = 16384;
constexpr Index kHidden = 2048;

/// One problem's tensors, all [B, H, N, d] in bf16, and its forward pass already run.
class BackwardBench {
 public:
  explicit BackwardBench(const AttentionProblem& problem) : problem_(problem) {
    const auto elements =
        static_cast<std::size_t>(problem.batch * problem.heads * problem.N * problem.d);
    for (DeviceBuffer& buffer : tensors_) buffer = DeviceBuffer(2 * elements);
    for (std::size_t n = 0; n < kRandom; ++n) fill_gaussian(tensors_[n], n + 1);
    LSE_ = DeviceBuffer(4 * elements / static_cast<std::size_t>(problem.d));
    workspace_ =
        DeviceBuffer(workspace_bytes(test::kernel_run("flash2", problem, PassKind::backward)));

    PassArguments forward;
    forward.resources = &resources_;
    forward.run = test::kernel_run("flash2", problem);
    forward.Q = view(tensors_[0]);
    forward.K = view(tensors_[1]);
    forward.V = view(tensors_[2]);
    forward.O = view(tensors_[4]);
    forward.LSE_dev = static_cast<float*>(LSE_.data_dev());
    if (const auto error = launch(forward)) failure_ = error->message;
  }

  /// The milliseconds that one pass takes.
  float time_once(const Tiling& tiling) {
    PassArguments arguments;
    arguments.resources = &resources_;
    arguments.run = test::kernel_run("flash2", problem_, PassKind::backward, tiling);
    arguments.Q = view(tensors_[0]);
    arguments.K = view(tensors_[1]);
    arguments.V = view(tensors_[2]);
    arguments.dO = view(tensors_[3]);
    arguments.O = view(tensors_[4]);
    arguments.dQ = view(tensors_[5]);
    arguments.dK = view(tensors_[6]);
    arguments.dV = view(tensors_[7]);
    arguments.LSE_dev = static_cast<float*>(LSE_.data_dev());
    arguments.workspace_dev = workspace_.data_dev();
    arguments.workspace_bytes = workspace_.bytes();
    cudaEvent_t start = nullptr, stop = nullptr;
    ATTNSCOPE_CUDA(cudaEventCreate(&start));
    ATTNSCOPE_CUDA(cudaEventCreate(&stop));
    ATTNSCOPE_CUDA(cudaEventRecord(start));
    if (const auto error = launch(arguments)) failure_ = error->message;
    ATTNSCOPE_CUDA(cudaEventRecord(stop));
    ATTNSCOPE_CUDA(cudaEventSynchronize(stop));
    float time_ms = 0;
    ATTNSCOPE_CUDA(cudaEventElapsedTime(&time_ms, start, stop));
    ATTNSCOPE_CUDA(cudaEventDestroy(start));
    ATTNSCOPE_CUDA(cudaEventDestroy(stop));
    return time_ms;
  }

  const std::string& failure() const { return failure_; }

 private:
  static constexpr std::size_t kRandom = 4;  ///< Q, K, V, dO; they precede O, dQ, dK, dV

  TensorView view(const DeviceBuffer& buffer) const {
    return {.data_dev = buffer.data_dev(),
            .stride_batch = problem_.heads * problem_.N * problem_.d,
            .stride_head = problem_.N * problem_.d,
            .stride_row = problem_.d};
  }

  AttentionProblem problem_;
  LaunchResources resources_;
  DeviceBuffer tensors_[8], LSE_, workspace_;
  std::string failure_;
};

double backward_flops(const AttentionProblem& problem) {
  const double scores = static_cast<double>(problem.batch * problem.heads) *
                        static_cast<double>(problem.N) * static_cast<double>(problem.N_kv);
  return 2.5 * scores * 4 * static_cast<double>(problem.d) * (problem.mask.is_causal() ? 0.5 : 1.0);
}

void bench(const AttentionProblem& problem, int repeats) {
  BackwardBench run(problem);
  fmt::print("d {:3} N {:5} {:6}", problem.d, problem.N, to_string(problem.mask));
  for (const Tiling& tiling :
       default_tilings(*find_kernel("flash2"), PassKind::backward, problem)) {
    std::vector<float> times_ms;
    for (int repeat = -2; repeat < repeats; ++repeat) {  // two warm-ups
      const float time_ms = run.time_once(tiling);
      if (repeat >= 0) times_ms.push_back(time_ms);
    }
    std::sort(times_ms.begin(), times_ms.end());
    const auto median_ms = static_cast<double>(times_ms[times_ms.size() / 2]);
    fmt::print(" | flash2 backward {}x{} {:.3f} ms {:.0f} TFLOP/s{}", tiling.Br, tiling.Bc,
               median_ms, backward_flops(problem) / (median_ms * 1e9), run.failure());
  }
  fmt::print("\n");
  std::fflush(stdout);
}

}  // namespace
}  // namespace attnscope::kernels

int main(int argc, char** argv) {
  using namespace attnscope;
  using namespace attnscope::kernels;
  const int repeats = argc > 1 ? std::max(1, std::atoi(argv[1])) : 10;
  const Index max_N = argc > 2 ? std::atoi(argv[2]) : kTokens;
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    fmt::print("no GPU: nothing to time\n");
    return 1;
  }
  for (const Index d : {Index{64}, Index{128}}) {
    for (const Mask& mask : {Mask::none(), Mask::causal()}) {
      for (Index N = 1024; N <= max_N; N *= 4) {
        const Index heads = kHidden / d;
        bench({.batch = kTokens / N,
               .heads = heads,
               .kv_heads = heads,
               .N = N,
               .N_kv = N,
               .d = d,
               .dtype = DType::bf16,
               .mask = mask},
              repeats);
      }
    }
  }
  return 0;
}
