#include <bit>

#include "kernels/pass_launcher.h"
#include "kernels/split_kv/split_kv_parameters.cuh"
#include "reference/key_splits.h"

namespace attnscope::kernels {

void launch_split_kv(PassLauncher& pass) {
  const Index splits = split_count(pass.problem, pass.tiling, pass.target.sm_count);
  auto parameters = pass.forward_parameters<SplitKvParameters>();
  parameters.LSE = pass.arguments.LSE_dev;
  parameters.splits = static_cast<int>(splits);
  parameters.O_split = pass.workspace<float>(WorkspaceTensor::O_split);
  parameters.LSE_split = pass.workspace<float>(WorkspaceTensor::LSE_split);

  // A block owns a row tile and a split of a head
  pass.start_traceable("partial", pass.row_tiles() * splits, parameters);
  // O = sum over splits of exp(LSE_split - LSE) O_split; LSE is the log of the sum of
  // exp(LSE_split)
  const auto pieces = static_cast<unsigned>(split_columns(parameters.shape.d) / 4);
  pass.start("combine", pass.rows(), parameters, static_cast<int>(std::bit_ceil(pieces)));
}

}  // namespace attnscope::kernels
