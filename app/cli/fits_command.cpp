/// attnscope-cli fits: the largest batch or sequence of a model in a GPU's memory.

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "app/cli/commands.h"
#include "app/cli/outputs.h"
#include "app/cli/run_options.h"
#include "app/report/report_text.h"
#include "reference/json/run_json.h"
#include "sim/resolve.h"
#include "sim/studies/model_memory.h"

namespace attnscope::cli {

namespace {

/// The question: the largest batch at a length, or the largest length at a batch.
enum class Sought : std::uint8_t { batch, length };

struct FitsQuestion {
  ModelQuestion model;
  Sought sought = Sought::batch;
  std::string gpu;
  bool weights_given = false;
};

/// The model that the defaults describe.
ModelQuestion default_model() {
  return usual_model(ModelMode::training);
}

Result<FitsQuestion> parse_question(const GivenOptions& given) {
  ATTNSCOPE_TRY(const auto spec, parse_run(given, {.problem = default_model().problem}));
  ATTNSCOPE_TRY(const auto gpu, gpu_of(spec));
  if (auto error = validate(spec.problem)) return *error;
  if (given.has("batch") && given.has("seq-len")) {
    return invalid_request(
        "--batch and --seq-len cannot be combined; give one of them, and the other is found");
  }
  FitsQuestion question{.model = {.problem = spec.problem, .layers = default_model().layers},
                        .sought = given.has("batch") ? Sought::length : Sought::batch,
                        .gpu = gpu.display_name,
                        .weights_given = given.has("weights-bytes")};
  ModelQuestion& model = question.model;
  ATTNSCOPE_TRY(model.layers, read_whole(given, "layers", 1, 1'000'000, model.layers));
  ATTNSCOPE_TRY(model.mode, read_choice(given, "mode", parse_name<ModelMode>,
                                        "training or inference", model.mode));

  // Memory: the device's, and the part that the weights leave free
  constexpr Index kMaxBytes = Index{1} << 50;
  model.capacity_bytes = gpu.hbm_bytes;
  model.weights_bytes = estimated_weights_bytes(model);
  for (const auto& [option, target] :
       {std::pair{"hbm-bytes", &model.capacity_bytes}, {"weights-bytes", &model.weights_bytes}}) {
    ATTNSCOPE_TRY(*target, read_whole(given, option, 0, kMaxBytes, *target));
  }
  return question;
}

std::string fits_text(const FitsQuestion& question, const Lines& lines) {
  const ModelQuestion& model = question.model;
  const AttentionProblem& problem = model.problem;
  const bool training = model.mode == ModelMode::training;
  std::string text = fmt::format(
      "{} of {} layers, H {} ({} KV), d {}, {}, in {} ({:.1f} GiB) of {}\n"
      "modelled; one layer's attention at B {}, N {}\n\n{}\nassumptions\n",
      to_string(model.mode), model.layers, problem.heads, problem.kv_heads, problem.d,
      to_string(problem.dtype), bytes_text(model.capacity_bytes),
      static_cast<double>(model.capacity_bytes) / 0x1p30, question.gpu, problem.batch, problem.N,
      table_text(lines));
  text +=
      question.weights_given
          ? fmt::format("- weights, gradients and optimizer take the given {}\n",
                        bytes_text(model.weights_bytes))
          : fmt::format("- weights take {}: 12 (H d)^2 per layer, {} bytes each{}; no embeddings\n",
                        bytes_text(model.weights_bytes), training ? 16 : size_bytes(problem.dtype),
                        training ? " (weight, gradient, fp32 copy, two moments)" : "");
  text += training ? "- every layer keeps what its backward pass reads, until that pass\n"
                   : "- every layer keeps K and V\n";
  text +=
      "- layers run one after another; all tensors of a layer's pass are alive at once, with dS in "
      "place of dP\n"
      "- activations outside attention, fragmentation and the framework are not counted\n";
  return text;
}

Result<Answer> answer_fits(const GivenOptions& given) {
  ATTNSCOPE_TRY(const auto question, parse_question(given));
  const ModelQuestion& model = question.model;
  const bool batch = question.sought == Sought::batch;
  const bool training = model.mode == ModelMode::training;
  Lines lines = {{"attention", "kept per layer", "forward", "backward",
                  batch ? fmt::format("largest batch at N {}", model.problem.N)
                        : fmt::format("largest N at batch {}", model.problem.batch)}};
  ordered_json rows = ordered_json::array();
  for (const AttentionChoice& choice : attention_choices()) {
    // Memory at the question's own batch and length
    ATTNSCOPE_TRY(const auto layer, layer_memory(choice, model.problem, model.mode));
    const auto& [kept_bytes, forward_bytes, backward_bytes] = layer;
    const Index largest = batch ? largest_batch(choice, model) : largest_length(choice, model);
    lines.push_back({choice.name, bytes_text(kept_bytes), bytes_text(forward_bytes),
                     training ? bytes_text(backward_bytes) : "",
                     largest == 0 ? "none" : std::to_string(largest)});
    rows.push_back({{"attention", choice.name},
                    {"kept_bytes_per_layer", kept_bytes},
                    {"forward_bytes", forward_bytes},
                    {"backward_bytes", backward_bytes},
                    {batch ? "largest_batch" : "largest_seq_len", largest}});
  }
  const ordered_json document = {{"schema", "attnscope.fits/1"},
                                 {"kind", "modelled"},
                                 {"problem", problem_to_json(model.problem)},
                                 {"mode", to_string(model.mode)},
                                 {"layers", model.layers},
                                 {"capacity_bytes", model.capacity_bytes},
                                 {"weights_bytes", model.weights_bytes},
                                 {"choices", rows}};
  return Answer{json_text(document), csv_text(rows), fits_text(question, lines)};
}

}  // namespace

CommandSpec fits_command() {
  const auto fields =
      with_help(field_options({"batch", "heads", "kv_heads", "seq_len", "head_dim", "dtype", "gpu"},
                              {.problem = default_model().problem}),
                {{"batch", "", "find the largest N at this batch"},
                 {"seq-len", "", "find the largest batch at this length [1024]"},
                 {"gpu", "", "the GPU whose memory is used [h200]"}});
  return answering(
      {.name = "fits",
       .summary = "The largest batch or sequence of a model that a GPU's memory holds.",
       .options = joined(
           {{{"layers", "L", fmt::format("layers of the model [{}]", default_model().layers)},
             {"mode", "MODE", "training or inference [training]"},
             {"hbm-bytes", "BYTES", "memory, in place of the GPU's"},
             {"weights-bytes", "BYTES", "memory of weights, gradients, optimizer [estimated]"}},
            fields})},
      answer_fits);
}

}  // namespace attnscope::cli
