#include "sim/studies/model_memory.h"

#include <algorithm>

#include "sim/observers/hbm_footprint.h"
#include "sim/schedule/algorithm.h"

namespace attnscope {

namespace {

constexpr double kTrainingBytesPerWeight = 16;

/// The tensors that a pass touches and needs; they are the same at every size, so a small head
/// suffices.
HbmFootprint footprint_of(const AttentionChoice& choice, const AttentionProblem& problem,
                          PassKind kind, Pass& pass) {
  constexpr Index kSmall = 32;
  const Tiling tiling{kSmall / 2, kSmall / 2};
  AttentionProblem small = problem;
  small.N = small.N_kv = kSmall;
  small.mask = Mask::none();
  small.key_lengths.clear();
  small.cu_seqlens_q.clear();
  small.cu_seqlens_k.clear();
  ScheduleOptions options;
  options.heads_per_kv_head = small.heads_per_kv_head();
  options.variant = choice.variant;
  options.masked = !problem.mask.is_none();
  options.score_steps = score_steps_of(small);
  pass = make_pass(*find_algorithm(choice.algorithm), kind, options);
  HbmFootprint footprint;
  CountingObserver* const counters[] = {&footprint};
  count_head(pass, {small, tiling, options, {}}, 0, small.heads_per_kv_head() - 1, counters);
  return footprint;
}

/// Sum over the tensors that `counts` selects.
template <typename Counts>
Index bytes_where(const AttentionProblem& problem, Counts counts) {
  Index bytes = 0;
  for (const Tensor tensor : kTensors) {
    if (counts(tensor)) bytes += whole_tensor_bytes(tensor, problem);
  }
  return bytes;
}

/// The largest value in [1, limit] that fits; fitting must be monotone.
template <typename Fits>
Index largest(Index limit, Fits fits) {
  Index low = 0, high = limit + 1;
  while (high - low > 1) {
    const Index middle = low + (high - low) / 2;
    (fits(middle) ? low : high) = middle;
  }
  return low;
}

bool fits(const AttentionChoice& choice, const ModelQuestion& question) {
  const auto peak = model_peak_bytes(choice, question);
  return peak && *peak <= static_cast<double>(question.capacity_bytes);
}

}  // namespace

std::vector<AttentionChoice> attention_choices() {
  return {{"standard", "standard", {}},
          {"standard, checkpointed", "standard", {.checkpoint = true}},
          {"flash1", "flash1", {}},
          {"flash2", "flash2", {}}};
}

Result<LayerMemory> layer_memory(const AttentionChoice& choice, const AttentionProblem& problem,
                                 ModelMode mode) {
  if (auto error = validate(problem)) return *error;
  Pass pass;
  const HbmFootprint forward = footprint_of(choice, problem, PassKind::forward, pass);
  LayerMemory memory;
  memory.forward_bytes = forward.peak_bytes(problem);
  if (mode == ModelMode::inference) {
    memory.kept_bytes = bytes_where(
        problem, [](Tensor tensor) { return tensor == Tensor::K || tensor == Tensor::V; });
    return memory;
  }

  // Kept: tensors that the backward pass reads before it writes them, except dO and those with
  // constant initial values
  const HbmFootprint backward = footprint_of(choice, problem, PassKind::backward, pass);
  memory.backward_bytes = backward.peak_bytes(problem);
  memory.kept_bytes = bytes_where(problem, [&](Tensor tensor) {
    const bool constant = std::ranges::find(pass.initial_values, tensor, &InitialValue::tensor) !=
                          pass.initial_values.end();
    return backward.needs(tensor) && tensor != Tensor::dO && !constant;
  });
  return memory;
}

ModelQuestion usual_model(ModelMode mode) {
  return {.problem =
              {.heads = 16, .kv_heads = 16, .N = 1024, .N_kv = 1024, .d = 64, .dtype = DType::bf16},
          .layers = 24,
          .mode = mode};
}

Index estimated_weights_bytes(const ModelQuestion& question) {
  const double width = static_cast<double>(question.problem.heads * question.problem.d);
  const double weights = 12.0 * static_cast<double>(question.layers) * width * width;
  const double each = question.mode == ModelMode::training
                          ? kTrainingBytesPerWeight
                          : static_cast<double>(size_bytes(question.problem.dtype));
  return static_cast<Index>(std::min(weights * each, 0x1p62));
}

std::optional<double> model_peak_bytes(const AttentionChoice& choice,
                                       const ModelQuestion& question) {
  const auto layer = layer_memory(choice, question.problem, question.mode);
  if (!layer) return std::nullopt;
  const LayerMemory& memory = layer.value();
  return static_cast<double>(question.weights_bytes) +
         static_cast<double>(question.layers - 1) * static_cast<double>(memory.kept_bytes) +
         static_cast<double>(std::max(memory.forward_bytes, memory.backward_bytes));
}

Index largest_batch(const AttentionChoice& choice, ModelQuestion question) {
  return largest(kMaxHeads, [&](Index batch) {
    question.problem.batch = batch;
    return fits(choice, question);
  });
}

Index largest_length(const AttentionChoice& choice, ModelQuestion question) {
  return largest(kMaxSequenceLength, [&](Index length) {
    question.problem.N = question.problem.N_kv = length;
    return fits(choice, question);
  });
}

}  // namespace attnscope
