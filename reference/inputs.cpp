#include "reference/inputs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <bit>
#include <cmath>
#include <span>
#include <vector>

#include "reference/fnv1a.h"
#include "reference/npy.h"
#include "reference/rounding.h"

namespace attnscope {

namespace {

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

/// Makes the four tensors of one head, each by `make(tensor, head of that tensor)`.
template <typename Make>
AttentionInputs one_head_inputs(const AttentionProblem& problem, Index h, Make make) {
  const Index kv_head = problem.kv_head_of(h);
  return {make(InputTensor::Q, h), make(InputTensor::K, kv_head), make(InputTensor::V, kv_head),
          make(InputTensor::dO, h)};
}

std::string_view shape_names(InputTensor tensor) {
  return is_key_side(tensor) ? "[B, H_kv, N_kv, d]" : "[B, H, N, d]";
}

Result<HeadTensor> load(const AttentionProblem& problem, InputTensor tensor,
                        const std::string& path) {
  // Compare the shapes before the data are read
  ATTNSCOPE_TRY(const auto shape, read_npy_shape(path));
  const std::vector<Index> wanted = shape_of(problem, tensor);
  if (shape != wanted) {
    return invalid_request("{}: shape is [{}]; the problem needs {} = [{}]", path,
                           fmt::join(shape, ", "), shape_names(tensor), fmt::join(wanted, ", "));
  }

  ATTNSCOPE_TRY(auto array, read_npy(path));
  HeadTensor result = empty_tensor(problem, tensor);
  if (array.shape != wanted) {
    return failed("{}: the file changed while it was read", path);
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
  return {generate(problem, InputTensor::Q, spec), generate(problem, InputTensor::K, spec),
          generate(problem, InputTensor::V, spec), generate(problem, InputTensor::dO, spec)};
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
  return one_head_inputs(problem, h, [&](InputTensor tensor, Index head) {
    HeadTensor result = empty_tensor(one_head_of(problem), tensor);
    generate_head(problem, tensor, spec, b, head, result.data);
    return result;
  });
}

AttentionInputs head_of(const AttentionProblem& problem, const AttentionInputs& inputs, Index b,
                        Index h) {
  const auto whole = [&](InputTensor tensor) -> const HeadTensor& {
    switch (tensor) {
      case InputTensor::Q:
        return inputs.Q;
      case InputTensor::K:
        return inputs.K;
      case InputTensor::V:
        return inputs.V;
      case InputTensor::dO:
        break;
    }
    return inputs.dO;
  };
  return one_head_inputs(problem, h, [&](InputTensor tensor, Index head) {
    HeadTensor result = empty_tensor(one_head_of(problem), tensor);
    const auto values = whole(tensor).head(b, head);
    result.data.assign(values.begin(), values.end());
    return result;
  });
}

Result<AttentionInputs> load_inputs(const AttentionProblem& problem, const InputPaths& paths,
                                    const InputSpec& spec) {
  struct Part {
    InputTensor tensor;
    const std::string& path;
    HeadTensor AttentionInputs::*member;
  };
  const Part parts[] = {{InputTensor::Q, paths.Q, &AttentionInputs::Q},
                        {InputTensor::K, paths.K, &AttentionInputs::K},
                        {InputTensor::V, paths.V, &AttentionInputs::V},
                        {InputTensor::dO, paths.dO, &AttentionInputs::dO}};
  AttentionInputs inputs;
  for (const Part& part : parts) {
    if (part.path.empty()) {
      inputs.*part.member = generate(problem, part.tensor, spec);
      continue;
    }
    ATTNSCOPE_TRY(inputs.*part.member, load(problem, part.tensor, part.path));
  }
  return inputs;
}

std::uint64_t hash_of_inputs(const AttentionInputs& inputs) {
  Fnv1a hash;
  for (const HeadTensor* tensor : {&inputs.Q, &inputs.K, &inputs.V, &inputs.dO}) {
    for (const double value : tensor->data) {
      hash.add(std::bit_cast<std::uint32_t>(static_cast<float>(value)));
    }
  }
  return hash.value();
}

}  // namespace attnscope
