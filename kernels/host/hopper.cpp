#include "kernels/host/hopper.h"

#include "kernels/host/cuda_check.h"

namespace attnscope::kernels {

namespace {

/// The driver's function, found through the runtime, so that nothing links with the driver.
auto encode_function() {
  static const auto encode = [] {
    void* entry = nullptr;
    cudaDriverEntryPointQueryResult found{};
    ATTNSCOPE_CUDA(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &entry, 12000,
                                                    cudaEnableDefault, &found));
    if (found != cudaDriverEntryPointSuccess) {
      check_cuda(cudaErrorSymbolNotFound, "the driver's cuTensorMapEncodeTiled", __FILE__,
                 __LINE__);
    }
    return reinterpret_cast<decltype(&cuTensorMapEncodeTiled)>(entry);
  }();
  return encode;
}

/// A [batch, heads, rows, d] tensor.
struct MappedShape {
  Index batch, heads, rows, d;
};

CUtensorMap tensor_map(const TensorView& tensor, const MappedShape& shape, Index box_rows) {
  constexpr Index kElementBytes = 2;
  constexpr cuuint32_t kRank = 4, kBoxColumns = 64;
  const auto size = [](Index value) { return static_cast<cuuint64_t>(value); };
  // An axis of one element is never walked along: its stride may be anything
  const auto stride_bytes = [&](Index elements, Index count) {
    return size((count == 1 ? shape.d : elements) * kElementBytes);
  };
  const cuuint64_t sizes[kRank] = {size(shape.d), size(shape.rows), size(shape.heads),
                                   size(shape.batch)};
  const cuuint64_t strides_bytes[kRank - 1] = {stride_bytes(tensor.stride_row, shape.rows),
                                               stride_bytes(tensor.stride_head, shape.heads),
                                               stride_bytes(tensor.stride_batch, shape.batch)};
  const cuuint32_t box[kRank] = {kBoxColumns, static_cast<cuuint32_t>(box_rows), 1, 1};
  const cuuint32_t every_element[kRank] = {1, 1, 1, 1};
  CUtensorMap map{};
  const CUresult result = encode_function()(
      &map, CU_TENSOR_MAP_DATA_TYPE_UINT16, kRank, tensor.data_dev, sizes, strides_bytes, box,
      every_element, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
      CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  // The runtime has the driver's numbers for errors
  check_cuda(static_cast<cudaError_t>(result), "cuTensorMapEncodeTiled()", __FILE__, __LINE__);
  return map;
}

}  // namespace

bool gpu_is_hopper() {
  int device = 0, major = 0, minor = 0;
  ATTNSCOPE_CUDA(cudaGetDevice(&device));
  ATTNSCOPE_CUDA(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device));
  ATTNSCOPE_CUDA(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device));
  return major == 9 && minor == 0;
}

CUtensorMap TensorMaps::rows(const TensorView& tensor, Index box_rows) const {
  return tensor_map(tensor, {batch_, shape_.heads, shape_.N, shape_.d}, box_rows);
}

CUtensorMap TensorMaps::columns(const TensorView& tensor, Index box_rows) const {
  return tensor_map(
      tensor, {batch_, shape_.heads / shape_.heads_per_kv_head, shape_.N_kv, shape_.d}, box_rows);
}

CUtensorMap TensorMaps::columns_of_query_heads(const TensorView& tensor, Index box_rows) const {
  return tensor_map(tensor, {batch_, shape_.heads, shape_.N_kv, shape_.d}, box_rows);
}

}  // namespace attnscope::kernels
