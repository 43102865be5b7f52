/// attnscope-cli fits: the largest batch or sequence of a model in a GPU's memory.

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "app/cli/commands.h"
#include "app/cli/outputs.h"
#include "app/cli/run_options.h"
#include "app/report/table.h"
#include "reference/json/run_json.h"
#include "sim/resolve.h"
#include "sim/studies/model_memory.h"

namespace attnscope::cli {

using nlohmann::ordered_json;

namespace {

/// What is looked for: the largest batch at a length, or the largest length at a batch.
enum class Sought : std::uint8_t { batch, length };

struct FitsQuestion {
  ModelQuestion model;
  Sought sought = Sought::batch;
  std::string gpu;
  bool weights_given = false;
};

struct FitsRow {
  AttentionChoice choice;
  LayerMemory layer;  ///< at the question's own batch and length
  Index largest = 0;
};

/// The model whose attention the defaults are.
ModelQuestion default_model() {
  return usual_model(ModelMode::training);
}

Result<FitsQuestion> parse_question(const GivenOptions& given) {
  const auto spec = parse_run(given, {.problem = default_model().problem});
  if (!spec) return spec.error();
  const auto gpu = gpu_of(spec.value());
  if (!gpu) return gpu.error();
  if (auto error = validate(spec.value().problem)) return *error;
  if (given.has("batch") && given.has("seq-len")) {
    return invalid_request(
        "--batch and --seq-len leave nothing to look for; give one of them, the other is found");
  }
  FitsQuestion question{
      .model = {.problem = spec.value().problem, .layers = default_model().layers},
      .sought = given.has("batch") ? Sought::length : Sought::batch,
      .gpu = gpu.value().display_name,
      .weights_given = given.has("weights-bytes")};
  ModelQuestion& model = question.model;
  if (auto error = read_whole(given, "layers", 1, 1'000'000, model.layers)) return *error;
  if (auto error =
          read_choice(given, "mode", parse_name<ModelMode>, "training or inference", model.mode)) {
    return *error;
  }

  // Memory: the device's, and what the weights leave of it
  constexpr Index kMaxBytes = Index{1} << 50;
  model.capacity_bytes = gpu.value().hbm_bytes;
  model.weights_bytes = estimated_weights_bytes(model);
  for (const auto& [option, target] :
       {std::pair{"hbm-bytes", &model.capacity_bytes}, {"weights-bytes", &model.weights_bytes}}) {
    if (auto error = read_whole(given, option, 0, kMaxBytes, *target)) return *error;
  }
  return question;
}

Result<std::vector<FitsRow>> find_rows(const FitsQuestion& question) {
  std::vector<FitsRow> rows;
  for (const AttentionChoice& choice : attention_choices()) {
    const auto layer = layer_memory(choice, question.model.problem, question.model.mode);
    if (!layer) return layer.error();
    const Index largest = question.sought == Sought::batch ? largest_batch(choice, question.model)
                                                           : largest_length(choice, question.model);
    rows.push_back({choice, layer.value(), largest});
  }
  return rows;
}

std::string fits_text(const FitsQuestion& question, const std::vector<FitsRow>& rows) {
  const ModelQuestion& model = question.model;
  const AttentionProblem& problem = model.problem;
  const bool training = model.mode == ModelMode::training;
  Lines lines = {{"attention", "kept a layer", "forward", "backward",
                  question.sought == Sought::batch
                      ? fmt::format("largest batch at N {}", problem.N)
                      : fmt::format("largest N at batch {}", problem.batch)}};
  for (const FitsRow& row : rows) {
    lines.push_back({row.choice.name, bytes_text(row.layer.kept_bytes),
                     bytes_text(row.layer.forward_bytes),
                     training ? bytes_text(row.layer.backward_bytes) : "",
                     row.largest == 0 ? "none" : std::to_string(row.largest)});
  }
  std::string text = fmt::format(
      "{} of {} layers, H {} ({} KV), d {}, {}, in {} ({:.1f} GiB) of {}\n"
      "modelled; one layer's attention at B {}, N {}\n\n{}\nassumptions\n",
      to_string(model.mode), model.layers, problem.heads, problem.kv_heads, problem.d,
      to_string(problem.dtype), bytes_text(model.capacity_bytes),
      static_cast<double>(model.capacity_bytes) / 0x1p30, question.gpu, problem.batch, problem.N,
      table_text(lines));
  text +=
      question.weights_given
          ? fmt::format("- {} are taken by weights and whatever else was given\n",
                        bytes_text(model.weights_bytes))
          : fmt::format("- weights take {}: 12 (H d)^2 a layer, {} bytes each{}; no embeddings\n",
                        bytes_text(model.weights_bytes), training ? 16 : size_bytes(problem.dtype),
                        training ? " (weight, gradient, fp32 copy, two moments)" : "");
  text += training ? "- every layer keeps what its backward pass reads, until that pass\n"
                   : "- every layer keeps K and V\n";
  text +=
      "- one layer at a time computes; all tensors of its pass are alive at once, dS in the place "
      "of dP\n"
      "- activations outside attention, fragmentation and the framework take nothing\n";
  return text;
}

ordered_json fits_json(const FitsQuestion& question, const std::vector<FitsRow>& rows) {
  const ModelQuestion& model = question.model;
  const bool batch = question.sought == Sought::batch;
  ordered_json choices = ordered_json::array();
  for (const FitsRow& row : rows) {
    choices.push_back({{"attention", row.choice.name},
                       {"kept_bytes_per_layer", row.layer.kept_bytes},
                       {"forward_bytes", row.layer.forward_bytes},
                       {"backward_bytes", row.layer.backward_bytes},
                       {batch ? "largest_batch" : "largest_seq_len", row.largest}});
  }
  return {{"schema", "attnscope.fits/1"},
          {"kind", "modelled"},
          {"problem", problem_to_json(model.problem)},
          {"mode", to_string(model.mode)},
          {"layers", model.layers},
          {"capacity_bytes", model.capacity_bytes},
          {"weights_bytes", model.weights_bytes},
          {"choices", choices}};
}

std::optional<Error> run_fits(const GivenOptions& given) {
  const auto outputs = parse_outputs(given);
  if (!outputs) return outputs.error();
  const auto question = parse_question(given);
  if (!question) return question.error();
  const auto rows = find_rows(question.value());
  if (!rows) return rows.error();
  const ordered_json document = fits_json(question.value(), rows.value());
  const auto lines = document.at("choices").get<std::vector<ordered_json>>();
  return write_outputs(outputs.value(), document, lines, fits_text(question.value(), rows.value()));
}

}  // namespace

CommandSpec fits_command() {
  auto fields = field_options({"batch", "heads", "kv_heads", "seq_len", "head_dim", "dtype", "gpu"},
                              {.problem = default_model().problem});
  fields = with_help(std::move(fields), "batch", "find the largest N at this batch");
  fields = with_help(std::move(fields), "seq-len", "find the largest batch at this length [1024]");
  fields = with_help(std::move(fields), "gpu", "the GPU whose memory it is [h200]");
  return {.name = "fits",
          .summary = "The largest batch or sequence of a model that a GPU's memory holds.",
          .operand = "",
          .options = joined(
              {{{"layers", "L", fmt::format("layers of the model [{}]", default_model().layers)},
                {"mode", "MODE", "training or inference [training]"},
                {"hbm-bytes", "BYTES", "memory, in place of the GPU's"},
                {"weights-bytes", "BYTES", "memory of weights, gradients, optimizer [estimated]"}},
               fields,
               output_options()}),
          .run = run_fits};
}

}  // namespace attnscope::cli
