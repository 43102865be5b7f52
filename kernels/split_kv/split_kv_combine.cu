/// Split-KV decoding, the launch "combine": O and LSE of every row from those of its splits. The
/// twin of the launch of that name in sim/schedule/split_kv.cpp.
///
/// A warp owns a row: its lanes take the splits' LSE first, then four columns of O each. The sum of
/// exp(S) over a split is exp(LSE) of the split, so a split is to this launch what a score is to a
/// softmax.
#include "kernels/device/online_softmax.cuh"
#include "kernels/host/launch_kernel.h"
#include "kernels/split_kv/split_kv_start.h"

namespace attnscope::kernels {

namespace {

constexpr int kThreads = 128;
constexpr float kLog2e = 1.4426950408889634f;

template <typename T, int d>
__global__ void __launch_bounds__(kThreads)
    split_kv_combine(const SplitKvParameters parameters, Index rows) {
  using namespace device;
  const Index row = Index{blockIdx.x} * (kThreads / 32) + threadIdx.x / 32;
  if (row >= rows) return;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const float* const LSE_split = parameters.LSE_split + row * parameters.splits;
  const float* const O_split = parameters.O_split + row * parameters.splits * d;

  // m = max(LSE of the splits); l = sum(exp(LSE - m))
  float m = kMinusInfinity;
  for (int s = lane; s < parameters.splits; s += 32) m = fmaxf(m, __ldcg(LSE_split + s));
#pragma unroll
  for (int other = 16; other > 0; other /= 2) {
    m = fmaxf(m, __shfl_xor_sync(0xffffffffu, m, other));
  }
  const float m_log2 = finite_log2(m, kLog2e);
  float l = 0.0f;
  float4 O{0.0f, 0.0f, 0.0f, 0.0f};
  for (int first = 0; first < parameters.splits; first += 32) {
    // Each lane weighs one split; then all lanes add up the weighed splits
    const int s = first + lane;
    const float beta =
        s < parameters.splits ? exp2_fast(fmaf(__ldcg(LSE_split + s), kLog2e, -m_log2)) : 0.0f;
    l += beta;
    const int count = min(32, parameters.splits - first);
#pragma unroll 8
    for (int n = 0; n < count; ++n) {
      const float weight = __shfl_sync(0xffffffffu, beta, n);
      if (lane * 4 >= d) continue;
      const float4 part =
          __ldcg(reinterpret_cast<const float4*>(O_split + Index{first + n} * d + lane * 4));
      O = {fmaf(weight, part.x, O.x), fmaf(weight, part.y, O.y), fmaf(weight, part.z, O.z),
           fmaf(weight, part.w, O.w)};
    }
  }
#pragma unroll
  for (int other = 16; other > 0; other /= 2) l += __shfl_xor_sync(0xffffffffu, l, other);

  // O = O / l; LSE = m + log l; store O, LSE; a row without keys has O = 0
  const ForwardShape& shape = parameters.shape;
  const float inverse_l = l == 0.0f ? 0.0f : 1.0f / l;
  const Index head = row / shape.N;
  if (lane * 4 < d) {
    T* const destination =
        rows_of_head<T>(parameters.O, head / shape.heads, head % shape.heads).row(row % shape.N) +
        lane * 4;
    __stcg(reinterpret_cast<uint2*>(destination), uint2{pack<T>(O.x * inverse_l, O.y * inverse_l),
                                                        pack<T>(O.z * inverse_l, O.w * inverse_l)});
  }
  if (lane == 0) parameters.LSE[row] = log_sum_exp(m, l, 1.0f);
}

template <typename T>
void start_combine(const SplitKvParameters& parameters, Index batch, Index d, void* stream) {
  const Index rows = batch * parameters.shape.heads * parameters.shape.N;
  const auto start = [&](auto kernel) {
    start_kernel(kernel, ceil_div(rows, kThreads / 32), kThreads, 0, stream, parameters, rows);
  };
  if (d == 16) return start(split_kv_combine<T, 16>);
  if (d == 32) return start(split_kv_combine<T, 32>);
  if (d == 64) return start(split_kv_combine<T, 64>);
  start(split_kv_combine<T, 128>);
}

}  // namespace

void start_split_kv_combine(const SplitKvParameters& parameters, DType dtype, Index batch, Index d,
                            void* stream) {
  if (dtype == DType::fp16) return start_combine<__half>(parameters, batch, d, stream);
  start_combine<__nv_bfloat16>(parameters, batch, d, stream);
}

}  // namespace attnscope::kernels
