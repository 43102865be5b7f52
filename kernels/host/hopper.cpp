#include "kernels/host/hopper.h"

#include <cuda.h>

#include <algorithm>
#include <array>

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

/// Strides between rows, heads and batch entries. The stride of an axis with one element is never
/// used and may have any value.
std::array<Index, 3> strides_bytes(const HeadMatrices& tensor) {
  constexpr Index kElementBytes = 2;
  const auto bytes = [&](Index stride, Index count) {
    return (count == 1 ? tensor.columns : stride) * kElementBytes;
  };
  return {bytes(tensor.view.stride_row, tensor.rows), bytes(tensor.view.stride_head, tensor.heads),
          bytes(tensor.view.stride_batch, tensor.batch)};
}

TensorMap tensor_map(const HeadMatrices& tensor, Index box_rows) {
  constexpr cuuint32_t kRank = 4;
  cuuint64_t strides[kRank - 1];
  std::ranges::copy(strides_bytes(tensor), strides);
  const cuuint64_t sizes[kRank] = {
      static_cast<cuuint64_t>(tensor.columns), static_cast<cuuint64_t>(tensor.rows),
      static_cast<cuuint64_t>(tensor.heads), static_cast<cuuint64_t>(tensor.batch)};
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

}  // namespace

bool bulk_copies_reach(const HeadMatrices& tensor) {
  constexpr Index kPastLastStride = Index{1} << 40;
  return std::ranges::all_of(strides_bytes(tensor),
                             [](Index stride) { return 0 < stride && stride < kPastLastStride; });
}

ForwardMaps forward_maps(const ForwardParameters& parameters, const ResolvedRun& run) {
  constexpr Index kWarpRows = 16;
  return {.Q_rows = tensor_map(queries_of(run.problem, parameters.Q), kForwardBoxRows),
          .K_columns = tensor_map(keys_of(run.problem, parameters.K), run.tiling.Bc),
          .V_columns = tensor_map(keys_of(run.problem, parameters.V), run.tiling.Bc),
          .O_rows = tensor_map(queries_of(run.problem, parameters.O), kWarpRows)};
}

GradientMaps gradient_maps(const BackwardParameters& parameters, const ResolvedRun& run,
                           Index stored_rows) {
  return {
      .Q_rows = row_tile_map(parameters.Q, run),
      .dO_rows = row_tile_map(parameters.dO, run),
      .K_columns = tensor_map(keys_of(run.problem, parameters.K), run.tiling.Bc),
      .V_columns = tensor_map(keys_of(run.problem, parameters.V), run.tiling.Bc),
      .dK_columns = tensor_map(key_gradients_of(run.problem, parameters.dK_heads), stored_rows),
      .dV_columns = tensor_map(key_gradients_of(run.problem, parameters.dV_heads), stored_rows)};
}

TensorMap row_tile_map(const TensorView& tensor, const ResolvedRun& run) {
  return tensor_map(queries_of(run.problem, tensor), run.tiling.Br);
}

}  // namespace attnscope::kernels
