/// Passes that another program launches through the C interface. Without a GPU the test is skipped;
/// with ATTNSCOPE_REQUIRE_GPU=1 that is a failure.
#include <cuda_runtime_api.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <vector>

#include "kernels/attnscope_kernels.h"
#include "reference/inputs.h"
#include "reference/naive_attention.h"

namespace attnscope {
namespace {

/// A tensor of floats in managed memory, contiguous.
class Floats {
 public:
  explicit Floats(std::size_t count) : count_(count) {
    void* allocated = nullptr;
    EXPECT_EQ(cudaMallocManaged(&allocated, count * sizeof(float)), cudaSuccess);
    data_ = static_cast<float*>(allocated);
    std::fill_n(data_, count, NAN);
  }
  explicit Floats(const HeadTensor& tensor) : Floats(tensor.data.size()) {
    for (std::size_t n = 0; n < count_; ++n) data_[n] = static_cast<float>(tensor.data[n]);
  }
  ~Floats() { cudaFree(data_); }
  Floats(const Floats&) = delete;
  Floats& operator=(const Floats&) = delete;

  float* get() const { return data_; }
  attnscope_tensor view(Index heads, Index rows, Index columns) const {
    return {data_, heads * rows * columns, rows * columns, columns};
  }
  void expect_near(const HeadTensor& expected, const char* name) const {
    ASSERT_EQ(expected.data.size(), count_);
    for (std::size_t n = 0; n < count_; ++n) {
      ASSERT_NEAR(data_[n], expected.data[n], 1e-5) << name << " " << n;
    }
  }

 private:
  float* data_ = nullptr;
  const std::size_t count_;
};

/// Launches one pass of flash2 with its workspace.
void launch(attnscope_session* session, const char* pass_name, attnscope_pass pass) {
  const std::string json = fmt::format(
      R"({{"algorithm": "flash2", "pass": "{}", "problem": {{"heads": 2, "kv_heads": 1,
          "seq_len": 40, "kv_len": 56, "head_dim": 24, "dtype": "fp32", "mask": "causal"}}}})",
      pass_name);
  attnscope_run* run = nullptr;
  ASSERT_EQ(attnscope_run_create(json.c_str(), &run), ATTNSCOPE_OK) << attnscope_last_message();
  const Floats workspace(attnscope_run_workspace(run) / sizeof(float) + 1);
  pass.struct_size = sizeof pass;
  pass.workspace_dev = workspace.get();
  pass.workspace_bytes = attnscope_run_workspace(run);
  EXPECT_EQ(attnscope_run_launch(session, run, &pass), ATTNSCOPE_OK) << attnscope_last_message();
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  attnscope_run_destroy(run);
}

TEST(CInterfaceGpu, BothPassesAgreeWithTheReference) {
  attnscope_session* session = nullptr;
  if (attnscope_session_open(0, &session) != ATTNSCOPE_OK) {
    const char* const required = std::getenv("ATTNSCOPE_REQUIRE_GPU");
    ASSERT_TRUE(required == nullptr || *required != '1') << attnscope_last_message();
    GTEST_SKIP() << attnscope_last_message();
  }
  AttentionProblem problem;
  problem.heads = 2;
  problem.N = 40;
  problem.N_kv = 56;
  problem.d = 24;
  problem.dtype = DType::fp32;
  problem.mask = Mask::causal();
  const AttentionInputs inputs = make_inputs(problem, {});
  const ForwardResult forward = naive_forward(problem, inputs);
  const Gradients gradients = naive_backward(problem, inputs, forward);

  const Floats Q(inputs.Q), K(inputs.K), V(inputs.V), dO(inputs.dO);
  const Floats O(inputs.Q.data.size()), LSE(forward.LSE.data.size());
  const Floats dQ(inputs.Q.data.size()), dK(inputs.K.data.size()), dV(inputs.V.data.size());
  const auto of_queries = [&](const Floats& each) { return each.view(2, 40, 24); };
  const auto of_keys = [&](const Floats& each) { return each.view(1, 56, 24); };
  attnscope_pass pass{};
  pass.q = of_queries(Q);
  pass.k = of_keys(K);
  pass.v = of_keys(V);
  pass.o = of_queries(O);
  pass.lse_dev = LSE.get();
  launch(session, "forward", pass);
  O.expect_near(forward.O, "O");
  LSE.expect_near(forward.LSE, "LSE");

  pass.d_o = of_queries(dO);
  pass.dq = of_queries(dQ);
  pass.dk = of_keys(dK);
  pass.dv = of_keys(dV);
  launch(session, "backward", pass);
  dQ.expect_near(gradients.dQ, "dQ");
  dK.expect_near(gradients.dK, "dK");
  dV.expect_near(gradients.dV, "dV");
  attnscope_session_close(session);
}

}  // namespace
}  // namespace attnscope
