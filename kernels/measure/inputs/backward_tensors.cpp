#include "kernels/measure/inputs/backward_tensors.h"

#include "kernels/kernel_parameters.h"
#include "kernels/measure/check/stored_values.h"
#include "kernels/measure/inputs/input_generator.h"
#include "kernels/measure/needed_programs.h"
#include "kernels/resolve.h"
#include "kernels/run_programs.h"

namespace attnscope::kernels {

Result<BackwardTensors> BackwardTensors::allocate(const ResolvedRun& run) {
  const AttentionProblem& problem = run.problem;
  if (auto error = supports(run)) return *error;
  auto forward = ForwardTensors::allocate(forward_before(run));
  if (!forward) return forward.error();

  const auto bytes = [&](Index elements) {
    return static_cast<std::size_t>(elements * size_bytes(problem.dtype));
  };
  const std::size_t query_bytes = bytes(problem.batch * problem.heads * problem.N * problem.d);
  const std::size_t key_bytes = bytes(problem.batch * problem.kv_heads * problem.N_kv * problem.d);
  const std::size_t scratch_bytes = workspace_bytes(run);
  const std::size_t needed_bytes = 2 * (query_bytes + key_bytes) + scratch_bytes;
  if (auto error = check_free_memory(needed_bytes, scratch_bytes)) return *error;
  try {
    BackwardTensors tensors(run, std::move(forward).value());
    tensors.dO_ = DeviceBuffer(query_bytes);
    tensors.dQ_ = DeviceBuffer(query_bytes);
    tensors.dK_ = DeviceBuffer(key_bytes);
    tensors.dV_ = DeviceBuffer(key_bytes);
    tensors.workspace_ = DeviceBuffer(scratch_bytes);
    return tensors;
  } catch (const CudaError& error) {
    return no_single_piece(error, needed_bytes, scratch_bytes);
  }
}

void BackwardTensors::generate_inputs(const Session& session, const InputSpec& spec) {
  const AttentionProblem& p = run_.problem;
  forward_.generate_inputs(session, spec);
  enqueue_inputs(session.resources().kernels, session.stream(), dO_.data_dev(), p.dtype, spec,
                 InputTensor::dO, p.batch, p.heads, p.N, p.d);
}

void BackwardTensors::upload_inputs(const double* Q, const double* K, const double* V,
                                    const double* dO) {
  const AttentionProblem& p = run_.problem;
  forward_.upload_inputs(Q, K, V);
  const auto count = static_cast<std::size_t>(p.batch * p.heads * p.N * p.d);
  dO_.copy_from_host(stored_bytes(p.dtype, {dO, count}).data());
}

void BackwardTensors::invalidate_outputs() {
  constexpr int kNanByte = 0xff;
  for (DeviceBuffer* buffer : {&dQ_, &dK_, &dV_, &workspace_}) buffer->fill_bytes(kNanByte);
}

std::optional<Error> BackwardTensors::run_forward(const Session& session) const {
  return forward_.pass(session, /*with_lse=*/true)({});
}

Pass BackwardTensors::pass(const Session& session, const TraceBuffer* trace) const {
  const AttentionProblem& p = run_.problem;
  PassArguments arguments = forward_.arguments(session, /*with_lse=*/true);
  arguments.run = run_;
  arguments.dO = contiguous_view(dO_.data_dev(), p.heads, p.N, p.d);
  arguments.dQ = contiguous_view(dQ_.data_dev(), p.heads, p.N, p.d);
  arguments.dK = contiguous_view(dK_.data_dev(), p.kv_heads, p.N_kv, p.d);
  arguments.dV = contiguous_view(dV_.data_dev(), p.kv_heads, p.N_kv, p.d);
  arguments.forward_workspace_dev = arguments.workspace_dev;
  arguments.workspace_dev = workspace_.data_dev();
  arguments.workspace_bytes = workspace_.bytes();
  arguments.trace = trace;
  return prepared_pass(arguments);
}

std::vector<double> BackwardTensors::fetch(CheckedTensor tensor, Index b, Index h, Index begin,
                                           Index count) const {
  const AttentionProblem& p = run_.problem;
  const auto rows_of = [&](const DeviceBuffer& buffer, Index heads, Index rows) {
    return fetch_values(buffer, p.dtype, ((b * heads + h) * rows + begin) * p.d, count * p.d);
  };
  switch (tensor) {
    case CheckedTensor::dO:
      return rows_of(dO_, p.heads, p.N);
    case CheckedTensor::dQ:
      return rows_of(dQ_, p.heads, p.N);
    case CheckedTensor::dK:
      return rows_of(dK_, p.kv_heads, p.N_kv);
    case CheckedTensor::dV:
      return rows_of(dV_, p.kv_heads, p.N_kv);
    default:
      return forward_.fetch(tensor, b, h, begin, count);
  }
}

}  // namespace attnscope::kernels
