/// Peak HBM memory of attention in a whole model, and the largest batch or sequence that fits. The
/// HbmFootprint observer determines the tensors that a pass touches and needs; the rest is
/// multiplication.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/simulation.h"

namespace attnscope {

/// Training keeps, in every layer, the tensors that the layer's backward pass needs; inference
/// keeps K and V.
enum class ModelMode : std::uint8_t { training, inference };
constexpr std::array<std::string_view, 2> enum_names(ModelMode) {
  return {"training", "inference"};
}

/// The computation of attention in every layer.
struct AttentionChoice {
  std::string name;  ///< "standard", "standard, checkpointed", "flash2"
  std::string algorithm;
  ScheduleVariant variant;
};

/// The choices compared: standard, standard with checkpointing, flash1, flash2.
std::vector<AttentionChoice> attention_choices();

/// Bytes of one layer's attention, over batch and heads.
struct LayerMemory {
  Index kept_bytes = 0;      ///< from its forward until its backward pass; inference: K, V cache
  Index forward_bytes = 0;   ///< all that the forward pass touches
  Index backward_bytes = 0;  ///< all that the backward pass touches; 0 in inference
};

/// The memory of one layer. invalid_request for a problem that cannot be computed.
Result<LayerMemory> layer_memory(const AttentionChoice& choice, const AttentionProblem& problem,
                                 ModelMode mode);

/// A model and the memory available to it.
struct ModelQuestion {
  AttentionProblem problem;  ///< heads, d, type and mask of a layer; batch and N if given
  Index layers = 1;
  ModelMode mode = ModelMode::training;
  Index capacity_bytes = 0;
  Index weights_bytes = 0;  ///< weights, and in training gradients and optimizer state
};

/// Attention as in GPT-2 medium: 24 layers, H 16, d 64, bf16; B 1, N 1024.
ModelQuestion usual_model(ModelMode mode);

/// 12 (H d)^2 weights per layer (attention's projections, an MLP four times as wide), without
/// embeddings: 16 bytes each in training (weight, gradient, fp32 copy, two moments), one element of
/// the type in inference.
Index estimated_weights_bytes(const ModelQuestion& question);

/// Peak of the whole model: the weights, the memory that all other layers keep, and the larger pass
/// of one layer, without activations outside attention. Nothing if layer_memory() rejects the
/// problem.
std::optional<double> model_peak_bytes(const AttentionChoice& choice,
                                       const ModelQuestion& question);

/// The largest batch with which the model fits at the question's N, or the largest N = N_kv at its
/// batch; 0 if not even 1 fits.
Index largest_batch(const AttentionChoice& choice, ModelQuestion question);
Index largest_length(const AttentionChoice& choice, ModelQuestion question);

}  // namespace attnscope
