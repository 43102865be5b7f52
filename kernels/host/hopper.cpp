#include "kernels/host/hopper.h"

#include <cuda.h>

#include <algorithm>
#include <array>
#include <vector>

#include "kernels/host/cuda_check.h"

namespace attnscope::kernels {

namespace {

/// The driver's function, found through the runtime, so that nothing links against the driver.
auto encode_function() {
  static void* const encode = driver_function("cuTensorMapEncodeTiled", 12000);
  if (encode == nullptr) {
    check_cuda(cudaErrorSymbolNotFound, "the driver's cuTensorMapEncodeTiled", __FILE__, __LINE__);
  }
  return reinterpret_cast<decltype(&cuTensorMapEncodeTiled)>(encode);
}

constexpr Index kElementBytes = 2;

struct MappedTensor {
  TensorView view;
  std::array<Index, 4> shape;  ///< [batch, heads, rows, d]
};

/// Strides between rows, heads and batch entries. The stride of an axis with one element is never
/// used and may have any value.
std::array<Index, 3> strides_bytes(const MappedTensor& tensor) {
  const auto& [batch, heads, rows, d] = tensor.shape;
  const auto bytes = [d = d](Index stride, Index count) {
    return (count == 1 ? d : stride) * kElementBytes;
  };
  return {bytes(tensor.view.stride_row, rows), bytes(tensor.view.stride_head, heads),
          bytes(tensor.view.stride_batch, batch)};
}

bool can_be_walked(const MappedTensor& tensor) {
  constexpr Index kPastLastStride = Index{1} << 40;
  return std::ranges::all_of(strides_bytes(tensor),
                             [](Index stride) { return 0 < stride && stride < kPastLastStride; });
}

TensorMap tensor_map(const MappedTensor& tensor, Index box_rows) {
  constexpr cuuint32_t kRank = 4;
  cuuint64_t strides[kRank - 1];
  std::ranges::copy(strides_bytes(tensor), strides);
  cuuint64_t sizes[kRank];  // from the innermost to the outermost axis
  std::ranges::reverse_copy(tensor.shape, sizes);
  const cuuint32_t box[kRank] = {kBoxColumns, static_cast<cuuint32_t>(box_rows), 1, 1};
  const cuuint32_t every_element[kRank] = {1, 1, 1, 1};
  static_assert(sizeof(TensorMap) == sizeof(CUtensorMap) &&
                alignof(TensorMap) == alignof(CUtensorMap));
  TensorMap map{};
  const CUresult result =
      encode_function()(reinterpret_cast<CUtensorMap*>(&map), CU_TENSOR_MAP_DATA_TYPE_UINT16, kRank,
                        tensor.view.data_dev, sizes, strides, box, every_element,
                        CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                        CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  // The runtime's error numbers are those of the driver
  check_cuda(static_cast<cudaError_t>(result), "cuTensorMapEncodeTiled()", __FILE__, __LINE__);
  return map;
}

/// [B, H, N, d]
MappedTensor rows_of(const TensorView& view, const AttentionProblem& problem) {
  return {view, {problem.batch, problem.heads, problem.N, problem.d}};
}
/// [B, H_kv, N_kv, d]
MappedTensor columns_of(const TensorView& view, const AttentionProblem& problem) {
  return {view, {problem.batch, problem.kv_heads, problem.N_kv, problem.d}};
}
/// [B, H, N_kv, d]
MappedTensor gradients_of(const TensorView& view, const AttentionProblem& problem) {
  return {view, {problem.batch, problem.heads, problem.N_kv, problem.d}};
}

}  // namespace

bool bulk_copies_reach(const PassArguments& arguments) {
  const AttentionProblem& problem = arguments.run.problem;
  std::vector<MappedTensor> tensors = {rows_of(arguments.Q, problem), rows_of(arguments.O, problem),
                                       columns_of(arguments.K, problem),
                                       columns_of(arguments.V, problem)};
  if (arguments.run.pass() == PassKind::backward) {
    tensors.push_back(rows_of(arguments.dO, problem));
    tensors.push_back(rows_of(arguments.dQ, problem));
    // With grouped heads, bulk copies access the query heads' dK and dV, contiguous in the
    // workspace
    if (problem.heads_per_kv_head() == 1) {
      tensors.push_back(columns_of(arguments.dK, problem));
      tensors.push_back(columns_of(arguments.dV, problem));
    }
  }
  return std::ranges::all_of(tensors, can_be_walked);
}

ForwardMaps forward_maps(const ForwardParameters& parameters, const ResolvedRun& run) {
  constexpr Index kWarpRows = 16;
  return {.Q_rows = tensor_map(rows_of(parameters.Q, run.problem), kForwardBoxRows),
          .K_columns = tensor_map(columns_of(parameters.K, run.problem), run.tiling.Bc),
          .V_columns = tensor_map(columns_of(parameters.V, run.problem), run.tiling.Bc),
          .O_rows = tensor_map(rows_of(parameters.O, run.problem), kWarpRows)};
}

GradientMaps gradient_maps(const BackwardParameters& parameters, const ResolvedRun& run,
                           Index stored_rows) {
  return {.Q_rows = row_tile_map(parameters.Q, run),
          .dO_rows = row_tile_map(parameters.dO, run),
          .K_columns = tensor_map(columns_of(parameters.K, run.problem), run.tiling.Bc),
          .V_columns = tensor_map(columns_of(parameters.V, run.problem), run.tiling.Bc),
          .dK_columns = tensor_map(gradients_of(parameters.dK_heads, run.problem), stored_rows),
          .dV_columns = tensor_map(gradients_of(parameters.dV_heads, run.problem), stored_rows)};
}

TensorMap row_tile_map(const TensorView& tensor, const ResolvedRun& run) {
  return tensor_map(rows_of(tensor, run.problem), run.tiling.Br);
}

}  // namespace attnscope::kernels
