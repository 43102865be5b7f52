#include "kernels/measure/inputs/forward_tensors.h"

#include <fmt/core.h>

#include <bit>

#include "kernels/catalog.h"
#include "kernels/kernel_parameters.h"
#include "kernels/measure/check/stored_values.h"
#include "kernels/measure/inputs/input_generator.h"
#include "kernels/resolve.h"
#include "kernels/run_programs.h"

namespace attnscope::kernels {

namespace {

/// Elements of Q or O, and of K or V.
Index query_elements(const AttentionProblem& p) {
  return p.batch * p.heads * p.N * p.d;
}
Index key_elements(const AttentionProblem& p) {
  return p.batch * p.kv_heads * p.N_kv * p.d;
}

std::string gigabytes(std::size_t bytes) {
  return fmt::format("{:.1f} GB", static_cast<double>(bytes) * 1e-9);
}

}  // namespace

std::vector<double> fetch_values(const DeviceBuffer& buffer, DType dtype, Index first,
                                 Index count) {
  const auto element_bytes = static_cast<std::size_t>(size_bytes(dtype));
  std::vector<std::byte> bytes(static_cast<std::size_t>(count) * element_bytes);
  const auto* from = static_cast<const std::byte*>(buffer.data_dev());
  ATTNSCOPE_CUDA(cudaMemcpy(bytes.data(), from + static_cast<std::size_t>(first) * element_bytes,
                            bytes.size(), cudaMemcpyDeviceToHost));
  return values_of(dtype, bytes);
}

std::optional<Error> check_free_memory(std::size_t needed_bytes, std::size_t workspace_bytes) {
  std::size_t free_bytes = 0;
  std::size_t total_bytes = 0;
  ATTNSCOPE_CUDA(cudaMemGetInfo(&free_bytes, &total_bytes));
  if (needed_bytes <= free_bytes) return std::nullopt;
  return failed("out of memory: needs {} ({} of workspace), {} of {} free", gigabytes(needed_bytes),
                gigabytes(workspace_bytes), gigabytes(free_bytes), gigabytes(total_bytes));
}

Error no_single_piece(const CudaError& error, std::size_t needed_bytes,
                      std::size_t workspace_bytes) {
  if (error.code != cudaErrorMemoryAllocation) throw error;
  return failed("out of memory: needs {} ({} of workspace), each in one piece",
                gigabytes(needed_bytes), gigabytes(workspace_bytes));
}

Result<ForwardTensors> ForwardTensors::allocate(const ResolvedRun& run) {
  const AttentionProblem& problem = run.problem;
  if (auto error = supports(run)) return *error;

  // Before allocating, compare the total demand with the free memory
  const auto element_bytes = static_cast<std::size_t>(size_bytes(problem.dtype));
  const auto query_bytes = static_cast<std::size_t>(query_elements(problem)) * element_bytes;
  const auto key_bytes = static_cast<std::size_t>(key_elements(problem)) * element_bytes;
  const auto LSE_bytes =
      static_cast<std::size_t>(problem.batch * problem.heads * problem.N * kStatisticBytes);
  const std::size_t scratch_bytes = workspace_bytes(run);
  const std::size_t needed_bytes = 2 * query_bytes + 2 * key_bytes + LSE_bytes + scratch_bytes;
  if (auto error = check_free_memory(needed_bytes, scratch_bytes)) return *error;

  try {
    ForwardTensors tensors(run);
    tensors.Q_ = DeviceBuffer(query_bytes);
    tensors.K_ = DeviceBuffer(key_bytes);
    tensors.V_ = DeviceBuffer(key_bytes);
    tensors.O_ = DeviceBuffer(query_bytes);
    tensors.LSE_ = DeviceBuffer(LSE_bytes);
    tensors.workspace_ = DeviceBuffer(scratch_bytes);
    return tensors;
  } catch (const CudaError& error) {
    return no_single_piece(error, needed_bytes, scratch_bytes);
  }
}

void ForwardTensors::generate_inputs(const Session& session, const InputSpec& spec) {
  const AttentionProblem& p = run_.problem;
  const auto generate = [&](const DeviceBuffer& to, InputTensor tensor, Index heads, Index rows) {
    enqueue_inputs(session.resources().kernels, session.stream(), to.data_dev(), p.dtype, spec,
                   tensor, p.batch, heads, rows, p.d);
  };
  generate(Q_, InputTensor::Q, p.heads, p.N);
  generate(K_, InputTensor::K, p.kv_heads, p.N_kv);
  generate(V_, InputTensor::V, p.kv_heads, p.N_kv);
}

void ForwardTensors::upload_inputs(const double* Q, const double* K, const double* V) {
  const AttentionProblem& p = run_.problem;
  const auto upload = [&](DeviceBuffer& to, const double* values, Index count) {
    to.copy_from_host(stored_bytes(p.dtype, {values, static_cast<std::size_t>(count)}).data());
  };
  upload(Q_, Q, query_elements(p));
  upload(K_, K, key_elements(p));
  upload(V_, V, key_elements(p));
}

void ForwardTensors::invalidate_outputs() {
  constexpr int kNanByte = 0xff;
  O_.fill_bytes(kNanByte);
  LSE_.fill_bytes(kNanByte);
}

PassArguments ForwardTensors::arguments(const Session& session, bool with_lse) const {
  const AttentionProblem& p = run_.problem;
  PassArguments arguments;
  arguments.resources = &session.resources();
  arguments.run = run_;
  arguments.Q = contiguous_view(Q_.data_dev(), p.heads, p.N, p.d);
  arguments.K = contiguous_view(K_.data_dev(), p.kv_heads, p.N_kv, p.d);
  arguments.V = contiguous_view(V_.data_dev(), p.kv_heads, p.N_kv, p.d);
  arguments.O = contiguous_view(O_.data_dev(), p.heads, p.N, p.d);
  if (with_lse || kernel_of(run_).always_writes_lse) {
    arguments.LSE_dev = static_cast<float*>(LSE_.data_dev());
  }
  arguments.workspace_dev = workspace_.data_dev();
  arguments.workspace_bytes = workspace_.bytes();
  arguments.stream = session.stream().get();
  return arguments;
}

Pass ForwardTensors::pass(const Session& session, bool with_lse, const TraceBuffer* trace) const {
  PassArguments prepared = arguments(session, with_lse);
  prepared.trace = trace;
  return prepared_pass(prepared);
}

const DeviceBuffer& ForwardTensors::buffer(CheckedTensor tensor) const {
  switch (tensor) {
    case CheckedTensor::Q:
      return Q_;
    case CheckedTensor::K:
      return K_;
    case CheckedTensor::V:
      return V_;
    case CheckedTensor::O:
      return O_;
    default:
      return LSE_;
  }
}

std::vector<double> ForwardTensors::fetch(CheckedTensor tensor, Index b, Index h, Index begin,
                                          Index count) const {
  const AttentionProblem& p = run_.problem;
  const bool is_key_side = tensor == CheckedTensor::K || tensor == CheckedTensor::V;
  const Index heads = is_key_side ? p.kv_heads : p.heads;
  const Index rows = is_key_side ? p.N_kv : p.N;
  const Index cols = tensor == CheckedTensor::LSE ? 1 : p.d;
  const DType stored = tensor == CheckedTensor::LSE ? DType::fp32 : p.dtype;

  return fetch_values(buffer(tensor), stored, ((b * heads + h) * rows + begin) * cols,
                      count * cols);
}

}  // namespace attnscope::kernels
