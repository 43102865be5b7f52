#include "reference/inputs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <span>
#include <vector>

#include "reference/fnv1a.h"
#include "reference/npy.h"
#include "reference/rounding.h"

namespace attnscope {

namespace {

/// One of the four tensors: its file, if it has one, and its values.
struct InputMember {
  InputTensor tensor;
  std::string InputPaths::*path;
  HeadTensor AttentionInputs::*values;
};
constexpr InputMember kInputMembers[] = {{InputTensor::Q, &InputPaths::Q, &AttentionInputs::Q},
                                         {InputTensor::K, &InputPaths::K, &AttentionInputs::K},
                                         {InputTensor::V, &InputPaths::V, &AttentionInputs::V},
                                         {InputTensor::dO, &InputPaths::dO, &AttentionInputs::dO}};

bool is_key_side(InputTensor tensor) {
  return tensor == InputTensor::K || tensor == InputTensor::V;
}

std::vector<Index> shape_of(const AttentionProblem& problem, InputTensor tensor) {
  return {problem.batch, is_key_side(tensor) ? problem.kv_heads : problem.heads,
          is_key_side(tensor) ? problem.N_kv : problem.N, problem.d};
}

HeadTensor empty_tensor(const AttentionProblem& problem, InputTensor tensor) {
  const std::vector<Index> shape = shape_of(problem, tensor);
  return HeadTensor(shape[0], shape[1], shape[2], shape[3]);
}

/// Writes the generated values of head (b, h) to `values`, [rows, d] in C order.
void generate_head(const AttentionProblem& problem, InputTensor tensor, const InputSpec& spec,
                   Index b, Index h, std::span<double> values) {
  const Index rows = is_key_side(tensor) ? problem.N_kv : problem.N;
  std::size_t n = 0;
  for (Index row = 0; row < rows; ++row) {
    for (Index col = 0; col < problem.d; ++col) {
      const float value =
          input_element(spec.kind, spec.seed, tensor, static_cast<std::uint32_t>(b),
                        static_cast<std::uint32_t>(h), static_cast<std::uint32_t>(row),
                        static_cast<std::uint32_t>(col));
      values[n++] = round_to(problem.dtype, static_cast<double>(value));
    }
  }
}

HeadTensor generate(const AttentionProblem& problem, InputTensor tensor, const InputSpec& spec) {
  HeadTensor result = empty_tensor(problem, tensor);
  for (Index b = 0; b < result.batch; ++b) {
    for (Index h = 0; h < result.heads; ++h) {
      generate_head(problem, tensor, spec, b, h, result.head(b, h));
    }
  }
  return result;
}

/// The four tensors of query head h; `fill(member, head of that tensor, values)` fills each.
template <typename Fill>
AttentionInputs one_head_inputs(const AttentionProblem& problem, Index h, Fill fill) {
  AttentionInputs inputs;
  for (const InputMember& member : kInputMembers) {
    HeadTensor& tensor = inputs.*member.values;
    tensor = empty_tensor(one_head_of(problem), member.tensor);
    fill(member, is_key_side(member.tensor) ? problem.kv_head_of(h) : h, tensor.data);
  }
  return inputs;
}

std::string_view shape_names(InputTensor tensor) {
  return is_key_side(tensor) ? "[B, H_kv, N_kv, d]" : "[B, H, N, d]";
}

Result<HeadTensor> load(const AttentionProblem& problem, InputTensor tensor,
                        const std::string& path) {
  // Compare the shapes before the data are read
  ATTNSCOPE_TRY(const auto shape, read_npy_shape(path));
  const std::vector<Index> wanted = shape_of(problem, tensor);
  if (with_batch_and_heads(shape) != wanted) {
    return invalid_request("{}: shape is [{}]; the problem needs {} = [{}]", path,
                           fmt::join(shape, ", "), shape_names(tensor), fmt::join(wanted, ", "));
  }

  ATTNSCOPE_TRY(auto array, read_npy(path));
  HeadTensor result = empty_tensor(problem, tensor);
  if (with_batch_and_heads(array.shape) != wanted) {
    return failed("{}: the file changed while being read", path);
  }
  result.data = std::move(array.data);
  for (std::size_t n = 0; n < result.data.size(); ++n) {
    const double rounded = round_to(problem.dtype, result.data[n]);
    if (!std::isfinite(rounded)) {
      return invalid_request("{}: element {} is {}, which is not finite as {}", path, n,
                             result.data[n], to_string(problem.dtype));
    }
    result.data[n] = rounded;
  }
  return result;
}

}  // namespace

AttentionInputs make_inputs(const AttentionProblem& problem, const InputSpec& spec) {
  AttentionInputs inputs;
  for (const auto& [tensor, path, values] : kInputMembers) {
    inputs.*values = generate(problem, tensor, spec);
  }
  return inputs;
}

AttentionProblem one_head_of(const AttentionProblem& problem, Index b, Index h) {
  AttentionProblem one_head = problem;
  one_head.batch = one_head.heads = one_head.kv_heads = 1;
  if (problem.has_key_lengths()) {
    one_head.key_lengths = {problem.key_lengths[static_cast<std::size_t>(b)]};
  }
  ScoreFunction& score = one_head.score;
  if (score.has_alibi()) score.alibi_slopes = {score.alibi_slopes[static_cast<std::size_t>(h)]};
  score.dropout.first_batch += b;
  score.dropout.first_head += h;
  return one_head;
}

AttentionInputs make_head_inputs(const AttentionProblem& problem, const InputSpec& spec, Index b,
                                 Index h) {
  return one_head_inputs(problem, h,
                         [&](const InputMember& member, Index head, std::span<double> values) {
                           generate_head(problem, member.tensor, spec, b, head, values);
                         });
}

AttentionInputs head_of(const AttentionProblem& problem, const AttentionInputs& inputs, Index b,
                        Index h) {
  return one_head_inputs(problem, h,
                         [&](const InputMember& member, Index head, std::span<double> values) {
                           std::ranges::copy((inputs.*member.values).head(b, head), values.begin());
                         });
}

Result<AttentionInputs> load_inputs(const AttentionProblem& problem, const InputPaths& paths,
                                    const InputSpec& spec) {
  AttentionInputs inputs;
  // Read all files first, so that a bad file is reported before the other tensors are generated,
  // which can take minutes
  for (const auto& [tensor, path, values] : kInputMembers) {
    if ((paths.*path).empty()) continue;
    ATTNSCOPE_TRY(inputs.*values, load(problem, tensor, paths.*path));
  }
  for (const auto& [tensor, path, values] : kInputMembers) {
    if ((paths.*path).empty()) inputs.*values = generate(problem, tensor, spec);
  }
  return inputs;
}

std::uint64_t hash_of_inputs(const AttentionInputs& inputs) {
  Fnv1a hash;
  for (const InputMember& member : kInputMembers) {
    for (const double value : (inputs.*member.values).data) {
      hash.add(std::bit_cast<std::uint32_t>(static_cast<float>(value)));
    }
  }
  return hash.value();
}

}  // namespace attnscope
