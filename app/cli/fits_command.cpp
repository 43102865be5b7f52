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

/// The result of the search: the largest batch for a length, or the largest length for a batch.
enum class Sought : std::uint8_t { batch, length };

struct FitsQuestion {
  ModelQuestion model;
  Sought sought = Sought::batch;
  std::string gpu;
  bool weights_given = false;
};

/// The model before any options are applied.
ModelQuestion default_model() {
  return usual_model(ModelMode::training);
}

Result<FitsQuestion> parse_question(const GivenOptions& given) {
  ATTNSCOPE_TRY(const auto spec, parse_run(given, {.problem = default_model().problem}));
  ATTNSCOPE_TRY(const auto gpu, gpu_of(spec));
  if (auto error = validate(spec.problem)) return *error;
  if (given.has("batch") && given.has("seq-len")) {
    return invalid_request(
        "--batch and --seq-len cannot be combined; give one of them, and fits finds the other");
  }
  FitsQuestion question{.model = {.problem = spec.problem, .layers = default_model().layers},
                        .sought = given.has("batch") ? Sought::length : Sought::batch,
                        .gpu = gpu.display_name,
                        .weights_given = given.has("weights-bytes")};
  ModelQuestion& model = question.model;
  ATTNSCOPE_TRY(model.layers, read_whole(given, "layers", 1, 1'000'000, model.layers));
  ATTNSCOPE_TRY(model.mode, read_choice(given, "mode", parse_name<ModelMode>,
                                        "training or inference", model.mode));

  // The memory of the device, and how many bytes of it the weights take
  constexpr Index kMaxBytes = Index{1} << 50;
  model.capacity_bytes = gpu.hbm_bytes;
  model.weights_bytes = estimated_weights_bytes(model);
  for (const auto& [option, target] :
       {std::pair{"hbm-bytes", &model.capacity_bytes}, {"weights-bytes", &model.weights_bytes}}) {
    ATTNSCOPE_TRY(*target, read_whole(given, option, 0, kMaxBytes, *target));
  }
  return question;
}

std::vector<Footnote> assumptions(const FitsQuestion& question) {
  const ModelQuestion& model = question.model;
  const bool training = model.mode == ModelMode::training;
  const std::string weights = bytes_text(model.weights_bytes);
  return {
      {"assumptions"},
      {question.weights_given
           ? fmt::format("- weights, gradients and optimizer take the given {}", weights)
           : fmt::format("- weights take {}: 12 (H d)^2 per layer, {} bytes each{}; no embeddings",
                         weights, training ? 16 : size_bytes(model.problem.dtype),
                         training ? " (weight, gradient, fp32 copy, two moments)" : "")},
      {training ? "- every layer keeps the tensors that its backward pass reads, until that pass"
                : "- every layer keeps K and V"},
      {"- layers run one after another; all tensors of a layer's pass exist at once, except that "
       "dS overwrites dP"},
      {"- activations outside attention, fragmentation and the framework are not counted"}};
}

/// Memory at the given batch and length, and the largest batch or length that fits.
Result<Table> choices_table(const FitsQuestion& question) {
  const ModelQuestion& model = question.model;
  const bool batch = question.sought == Sought::batch;
  Table table{
      .key = "choices",
      .columns = {
          {"attention", "attention"},
          {"kept_bytes_per_layer", "kept per layer", Unit::bytes},
          {"forward_bytes", "forward", Unit::bytes},
          {"backward_bytes", "backward", Unit::bytes},
          batch ? Column{"largest_batch", fmt::format("largest batch at N {}", model.problem.N),
                         Unit::count}
                : Column{"largest_seq_len",
                         fmt::format("largest N at batch {}", model.problem.batch), Unit::count}}};
  for (const AttentionChoice& choice : attention_choices()) {
    ATTNSCOPE_TRY(const auto layer, layer_memory(choice, model.problem, model.mode));
    const Index largest = batch ? largest_batch(choice, model) : largest_length(choice, model);
    const Cell backward = model.mode == ModelMode::training ? Cell(layer.backward_bytes)
                                                            : Cell(layer.backward_bytes, "");
    table.rows.push_back({choice.name, layer.kept_bytes, layer.forward_bytes, backward,
                          largest == 0 ? Cell(largest, "none") : Cell(largest)});
  }
  return table;
}

Result<Study> count_fits(const GivenOptions& given) {
  ATTNSCOPE_TRY(const auto question, parse_question(given));
  ATTNSCOPE_TRY(const auto choices, choices_table(question));
  const ModelQuestion& model = question.model;
  const AttentionProblem& problem = model.problem;
  return Study{
      .title = fmt::format("{} of {} layers, H {} ({} KV), d {}, {}, in {} ({:.1f} GiB) of {}\n"
                           "modelled; one layer's attention at B {}, N {}",
                           to_string(model.mode), model.layers, problem.heads, problem.kv_heads,
                           problem.d, to_string(problem.dtype), bytes_text(model.capacity_bytes),
                           static_cast<double>(model.capacity_bytes) / 0x1p30, question.gpu,
                           problem.batch, problem.N),
      .facts = {{"schema", "attnscope.fits/1"},
                {"kind", "modelled"},
                {"problem", problem_to_json(problem)},
                {"mode", to_string(model.mode)},
                {"layers", model.layers},
                {"capacity_bytes", model.capacity_bytes},
                {"weights_bytes", model.weights_bytes}},
      .tables = {choices},
      .footnotes = assumptions(question)};
}

}  // namespace

CommandSpec fits_command() {
  const auto fields =
      with_help(field_options({"batch", "heads", "kv_heads", "seq_len", "head_dim", "dtype", "gpu"},
                              {.problem = default_model().problem}),
                {{"batch", "", "find the largest N at this batch size"},
                 {"seq-len", "", "find the largest batch at this length [1024]"},
                 {"gpu", "", "the GPU whose memory is used [h200]"}});
  return answering(
      {.name = "fits",
       .summary = "Finds a model's largest batch or sequence length for a GPU's memory.",
       .options = joined(
           {{{"layers", "L", fmt::format("layers of the model [{}]", default_model().layers)},
             {"mode", "MODE", "training or inference [training]"},
             {"hbm-bytes", "BYTES", "memory size, instead of the GPU's"},
             {"weights-bytes", "BYTES", "memory for weights, gradients, optimizer [estimated]"}},
            fields})},
      count_fits);
}

}  // namespace attnscope::cli
