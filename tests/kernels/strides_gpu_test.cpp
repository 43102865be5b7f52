/// Tensors whose batch entries are more than 2^31 elements apart, so that offsets need 64 bits in
/// every kernel, and tensors that all heads share.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "kernels/catalog.h"
#include "kernels/measure/check/stored_values.h"
#include "kernels/run_programs.h"
#include "reference/tolerance.h"
#include "tests/kernels/forward_run.h"
#include "tests/support/kernel_run.h"

namespace attnscope::kernels {
namespace {

/// An allocation that holds the first batch entries of all tensors side by side, and the second
/// ones far behind them; the memory in between is never accessed.
class FarMemory {
 public:
  static constexpr Index kStride = (Index{1} << 31) + (Index{1} << 20);  ///< elements

  FarMemory(const AttentionProblem& problem, int tensors)
      : problem_(problem),
        entry_elements_(problem.heads * std::max(problem.N, problem.N_kv) * problem.d),
        buffer_(bytes_of(kStride + tensors * entry_elements_)) {
    const auto near_bytes = bytes_of(tensors * entry_elements_);
    ATTNSCOPE_CUDA(cudaMemset(buffer_.data_dev(), 0xff, near_bytes));
    ATTNSCOPE_CUDA(cudaMemset(at(kStride), 0xff, near_bytes));
  }

  TensorView tensor(Index rows) {
    return {at(entry_elements_ * used_++), kStride, rows * problem_.d, problem_.d};
  }
  TensorView tensor(const HeadTensor& values) {
    const TensorView view = tensor(values.rows);
    const auto host = stored_bytes(problem_.dtype, values.data);
    const std::size_t half = host.size() / 2;
    for (std::size_t b = 0; b < 2; ++b) {
      ATTNSCOPE_CUDA(cudaMemcpy(entry(view, b), host.data() + b * half, half, cudaMemcpyDefault));
    }
    return view;
  }
  std::vector<double> values(const TensorView& view) const {
    std::vector<std::byte> host(bytes_of(2 * problem_.heads * view.stride_head));
    const std::size_t half = host.size() / 2;
    for (std::size_t b = 0; b < 2; ++b) {
      ATTNSCOPE_CUDA(cudaMemcpy(host.data() + b * half, entry(view, b), half, cudaMemcpyDefault));
    }
    return values_of(problem_.dtype, host);
  }

 private:
  std::size_t bytes_of(Index elements) const {
    return static_cast<std::size_t>(elements * size_bytes(problem_.dtype));
  }
  void* at(Index element) const {
    return static_cast<std::byte*>(buffer_.data_dev()) + bytes_of(element);
  }
  std::byte* entry(const TensorView& view, std::size_t b) const {
    return static_cast<std::byte*>(view.data_dev) + b * bytes_of(kStride);
  }

  AttentionProblem problem_;
  Index entry_elements_;
  Index used_ = 0;
  DeviceBuffer buffer_;
};

/// A problem with one tile of keys, so that flash1 keeps nothing in HBM between passes.
AttentionProblem strided_problem(Index d) {
  return {.batch = 2,
          .heads = 3,
          .kv_heads = 3,
          .N = 61,
          .N_kv = 61,
          .d = d,
          .dtype = DType::bf16,
          .mask = Mask::causal()};
}

void expect_within(std::string_view name, const std::vector<double>& x, const HeadTensor& ref,
                   const Tolerance& tolerance) {
  const ErrorReport report = compare(x, ref.data);
  EXPECT_TRUE(within(report, tolerance))
      << name << (report.has_nan ? ": NaN, " : ": ") << "max error " << report.max_abs_error
      << ", allowed " << tolerance.max_abs;
}

/// own: every head has its own tensors. shared: the heads of a batch entry share K, V and dO, whose
/// stride between heads is zero.
enum class Heads { own, shared };

/// Runs the forward pass and, if there is one, the backward pass, which uses the forward pass's O,
/// LSE and workspace.
void check_kernel(const KernelInfo& kernel, const AttentionProblem& problem, Heads heads) {
  SCOPED_TRACE(std::string(kernel.name) + " " + describe(problem));
  AttentionInputs inputs = make_inputs(problem, {.seed = 31});
  if (heads == Heads::shared) {
    for (HeadTensor* tensor : {&inputs.K, &inputs.V, &inputs.dO}) share_heads(*tensor);
  }
  const auto read_tensor = [&](FarMemory& memory, const HeadTensor& values) {
    TensorView view = memory.tensor(values);
    if (heads == Heads::shared) view.stride_head = 0;
    return view;
  };
  const ForwardResult reference = naive_forward(problem, inputs);
  FarMemory memory(problem, 8);
  const DeviceTensor LSE(2, problem.heads, problem.N, 1, DType::fp32, Layout::contiguous);
  PassArguments forward;
  forward.resources = &test_resources();
  forward.run = test::kernel_run(kernel.name, problem);
  const DeviceBuffer workspace(workspace_bytes(forward.run));
  forward.Q = memory.tensor(inputs.Q);
  forward.K = read_tensor(memory, inputs.K);
  forward.V = read_tensor(memory, inputs.V);
  forward.O = memory.tensor(problem.N);
  forward.LSE_dev = static_cast<float*>(LSE.view().data_dev);
  forward.workspace_dev = workspace.data_dev();
  forward.workspace_bytes = workspace.bytes();
  const auto error = launch(forward);
  ASSERT_FALSE(error) << error->message;
  ATTNSCOPE_CUDA(cudaDeviceSynchronize());
  expect_within("O", memory.values(forward.O), reference.O,
                forward_tolerance(problem, inputs, reference));
  if (!kernel.has_backward()) return;

  PassArguments backward = forward;
  backward.run.asked.pass = PassKind::backward;
  const DeviceBuffer backward_workspace(workspace_bytes(backward.run));
  backward.dO = read_tensor(memory, inputs.dO);
  backward.forward_workspace_dev = workspace.data_dev();
  backward.dQ = memory.tensor(problem.N);
  backward.dK = memory.tensor(problem.N_kv);
  backward.dV = memory.tensor(problem.N_kv);
  backward.workspace_dev = backward_workspace.data_dev();
  backward.workspace_bytes = backward_workspace.bytes();
  const auto backward_error = launch(backward);
  ASSERT_FALSE(backward_error) << backward_error->message;
  ATTNSCOPE_CUDA(cudaDeviceSynchronize());
  const Gradients gradients = naive_backward(problem, inputs, reference);
  const Gradients yardstick = unfused_backward(problem, inputs);
  const auto check = [&](std::string_view name, const TensorView& view,
                         HeadTensor Gradients::*tensor) {
    expect_within(
        name, memory.values(view), gradients.*tensor,
        gradient_tolerance(problem, inputs, (yardstick.*tensor).data, (gradients.*tensor).data));
  };
  check("dQ", backward.dQ, &Gradients::dQ);
  check("dK", backward.dK, &Gradients::dK);
  check("dV", backward.dV, &Gradients::dV);
}

TEST(FarStrides, BatchEntriesMayLieBeyondThirtyOneBitsOfElements) {
  ATTNSCOPE_NEEDS_GPU();
  for (const Index d : {64, 128}) {
    for (const KernelInfo& kernel : catalog()) check_kernel(kernel, strided_problem(d), Heads::own);
  }
}

TEST(ZeroStrides, HeadsMayShareTheirKeysValuesAndOutputGradient) {
  ATTNSCOPE_NEEDS_GPU();
  for (const Index d : {64, 128}) {
    for (const KernelInfo& kernel : catalog())
      check_kernel(kernel, strided_problem(d), Heads::shared);
  }
}

}  // namespace
}  // namespace attnscope::kernels
