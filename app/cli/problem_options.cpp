#include "app/cli/problem_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "reference/nearest_name.h"
#include "reference/npy.h"
#include "sim/schedule/catalog.h"

namespace attnscope::cli {

std::vector<OptionSpec> problem_options() {
  return joined({{{"algorithm", "NAME", "required; see attnscope-cli list algorithms"},
                  {"pass", "PASS", "forward, backward or both [forward]"}},
                 shape_options({}),
                 {{"carry", "CARRY",
                   "problem or fp32: how flash1 and block_sparse keep O in HBM [problem]"}}});
}

std::vector<OptionSpec> shape_options(const AttentionProblem& defaults) {
  const auto number = [](std::string_view help, Index value) {
    return fmt::format("{} [{}]", help, value);
  };
  return {
      {"batch", "B", number("batch size", defaults.batch)},
      {"heads", "H", number("query heads", defaults.heads)},
      {"kv-heads", "H_KV", "key and value heads, divides heads [heads]"},
      {"seq-len", "N", number("queries of a head", defaults.N)},
      {"kv-len", "N_KV", "keys of a head [seq-len]"},
      {"head-dim", "D", number("head dimension", defaults.d)},
      {"dtype", "TYPE", fmt::format("fp32, fp16 or bf16 [{}]", to_string(defaults.dtype))},
      {"mask", "MASK", "none, causal, causal:top-left, window:KEYS or window:LEFT,RIGHT [none]"},
      {"alibi", "", "ALiBi with slopes 2^(-8 (h + 1) / H)"},
      {"softcap", "CAP", "S = CAP tanh(S / CAP), a number above 0"},
      {"dropout", "P",
       fmt::format("drop elements of P with this probability, 0 <= P < 1 [{}]",
                   defaults.score.dropout.probability)},
      {"dropout-seed", "SEED", "whole number that dropout draws from [0]"},
      {"key-lengths", "L1,L2,...", "valid keys of each batch entry; the rest is padding [kv-len]"},
      {"cu-seqlens-q", "0,...,N", "packed sequences: where each one's queries begin, and N"},
      {"cu-seqlens-k", "0,...,N_KV", "packed sequences: where each one's keys begin, and N_kv"},
      {"block-rows", "BR", "rows of a tile; standard: BM of its products [default tiling]"},
      {"block-cols", "BC", "columns of a tile; standard: BN [default tiling]"},
  };
}

std::vector<OptionSpec> model_options() {
  return {
      {"allow-overflow", "", "count a tiling that does not fit on the chip"},
      {"gpu", "NAME|FILE", "the modelled GPU; see attnscope-cli list gpus [h200]"},
      {"sram-bytes", "BYTES", "shared memory of a thread block, in place of the GPU's"},
      {"l2-bytes", "BYTES", "L2 cache, in place of the GPU's"},
  };
}

std::vector<OptionSpec> input_options() {
  return {
      {"inputs", "KIND", "gaussian, outlier or needle [gaussian]"},
      {"seed", "SEED", "whole number that the inputs are drawn from [0]"},
      {"q", "FILE", "Q as .npy [B, H, N, d]; sizes that are not given are those of the files"},
      {"k", "FILE", "K as .npy [B, H_kv, N_kv, d]"},
      {"v", "FILE", "V as .npy [B, H_kv, N_kv, d]"},
      {"do", "FILE", "dO as .npy [B, H, N, d]"},
  };
}

std::vector<OptionSpec> output_options() {
  return {
      {"json", "FILE", "write JSON; - is standard output, which then holds nothing else"},
      {"csv", "FILE", "write CSV; - is standard output, which then holds nothing else"},
  };
}

std::vector<OptionSpec> joined(std::initializer_list<std::vector<OptionSpec>> lists) {
  std::vector<OptionSpec> all;
  for (const auto& list : lists) all.insert(all.end(), list.begin(), list.end());
  return all;
}

namespace {

Error unknown_value(std::string_view option, std::string_view text, std::string_view accepted) {
  return invalid_request(
      fmt::format("--{} is '{}'; it must be {}", option, printable(text), accepted));
}

/// Sets `target` from a comma-separated list of whole numbers when it was given.
std::optional<Error> read_list(const GivenOptions& given, std::string_view option,
                               std::vector<Index>& target) {
  const auto text = given.text(option);
  if (!text) return std::nullopt;
  std::string_view rest = *text;
  while (true) {
    const std::size_t comma = rest.find(',');
    const auto value = parse_whole(option, rest.substr(0, comma), 0, kMaxSequenceLength);
    if (!value) return value.error();
    target.push_back(value.value());
    if (comma == std::string_view::npos) return std::nullopt;
    rest.remove_prefix(comma + 1);
  }
}

std::optional<Error> read_score(const GivenOptions& given, AttentionProblem& problem) {
  ScoreFunction& score = problem.score;
  if (given.has("alibi")) score.alibi_slopes = standard_alibi_slopes(problem.heads);
  if (const auto text = given.text("softcap")) {
    score.soft_cap = parse_number(*text);
    if (!score.soft_cap) return unknown_value("softcap", *text, "a number above 0, for example 30");
  }
  if (const auto text = given.text("dropout")) {
    const auto probability = parse_number(*text);
    if (!probability) return unknown_value("dropout", *text, "a number from 0 to below 1");
    score.dropout.probability = *probability;
  }
  if (given.has("dropout-seed") && !given.has("dropout") && score.dropout.probability == 0) {
    return invalid_request("--dropout-seed is given without --dropout; nothing is dropped");
  }
  return read_seed(given, "dropout-seed", score.dropout.seed);
}

std::optional<Error> read_sequences(const GivenOptions& given, AttentionProblem& problem) {
  if (auto error = read_list(given, "key-lengths", problem.key_lengths)) return error;
  if (auto error = read_list(given, "cu-seqlens-q", problem.cu_seqlens_q)) return error;
  return read_list(given, "cu-seqlens-k", problem.cu_seqlens_k);
}

/// Whether these are [B, H, N, d] of some problem.
bool is_problem(const std::vector<Index>& shape) {
  constexpr std::array<Index, 4> kMost = {kMaxHeads, kMaxHeads, kMaxSequenceLength, kMaxHeadDim};
  return std::ranges::equal(shape, kMost,
                            [](Index size, Index most) { return size >= 1 && size <= most; });
}

/// The sizes that the first of these files tells; nothing where none is given or can be used:
/// loading it says why.
std::optional<std::vector<Index>> sizes_of_files(const GivenOptions& given,
                                                 std::initializer_list<const char*> options) {
  for (const char* option : options) {
    const auto path = given.text(option);
    if (!path) continue;
    auto shape = read_npy_shape(*path);
    if (shape && is_problem(shape.value())) return std::move(shape).value();
  }
  return std::nullopt;
}

/// Sizes that were given; else those of the input files; else the problem's.
std::optional<Error> read_sizes(const GivenOptions& given, AttentionProblem& problem) {
  const auto queries = sizes_of_files(given, {"q", "do"});
  const auto keys = sizes_of_files(given, {"k", "v"});
  if (const auto& any = queries ? queries : keys) {
    problem.batch = (*any)[0];
    problem.heads = (*any)[1];
    problem.N = (*any)[2];
    problem.d = (*any)[3];
  }
  if (auto error = read_whole(given, "batch", kMaxHeads, problem.batch)) return error;
  if (auto error = read_whole(given, "heads", kMaxHeads, problem.heads)) return error;
  problem.kv_heads = keys ? (*keys)[1] : problem.heads;
  if (auto error = read_whole(given, "kv-heads", kMaxHeads, problem.kv_heads)) return error;
  if (!problem.cu_seqlens_q.empty()) problem.N = problem.cu_seqlens_q.back();
  if (auto error = read_whole(given, "seq-len", kMaxSequenceLength, problem.N)) return error;
  problem.N_kv = keys ? (*keys)[2] : problem.N;
  if (!problem.cu_seqlens_k.empty()) problem.N_kv = problem.cu_seqlens_k.back();
  if (auto error = read_whole(given, "kv-len", kMaxSequenceLength, problem.N_kv)) return error;
  return read_whole(given, "head-dim", kMaxHeadDim, problem.d);
}

std::optional<Error> read_choices(const GivenOptions& given, ProblemRequest& request) {
  if (const auto text = given.text("dtype")) {
    const auto dtype = parse_dtype(*text);
    if (!dtype) return unknown_value("dtype", *text, "fp32, fp16 or bf16");
    request.problem.dtype = *dtype;
  }
  if (const auto text = given.text("mask")) {
    const auto mask = parse_mask(*text);
    if (!mask) {
      return unknown_value("mask", *text,
                           "none, causal, causal:top-left, window:KEYS (at least 1) or "
                           "window:LEFT,RIGHT (-1 = unlimited)");
    }
    request.problem.mask = *mask;
  }
  if (const auto text = given.text("carry")) {
    const auto carry = parse_carry(*text);
    if (!carry) return unknown_value("carry", *text, "problem or fp32");
    request.carry = *carry;
  }
  if (const auto text = given.text("pass")) {
    const auto pass = parse_pass(*text);
    if (!pass) return unknown_value("pass", *text, "forward, backward or both");
    request.pass = *pass;
  }
  return std::nullopt;
}

std::optional<Error> read_inputs(const GivenOptions& given, ProblemRequest& request) {
  if (const auto text = given.text("inputs")) {
    const auto kind = parse_input_kind(*text);
    if (!kind) return unknown_value("inputs", *text, "gaussian, outlier or needle");
    request.inputs.kind = *kind;
  }
  if (auto error = read_seed(given, "seed", request.inputs.seed)) return error;
  for (const char* option : {"q", "k", "v", "do"}) {
    if (given.text(option) == "") {
      return invalid_request(fmt::format("--{} is empty; give an .npy file", option));
    }
  }
  if (given.has("do") && request.pass == PassKind::forward) {
    return invalid_request("--do is for --pass backward or both; the forward pass takes no dO");
  }
  request.input_files = {given.text("q").value_or(""), given.text("k").value_or(""),
                         given.text("v").value_or(""), given.text("do").value_or("")};
  return std::nullopt;
}

}  // namespace

namespace {

/// What parse_shape() and parse_problem() share.
std::optional<Error> read_shape(const GivenOptions& given, ProblemRequest& request) {
  if (auto error = read_sequences(given, request.problem)) return error;
  if (auto error = read_sizes(given, request.problem)) return error;
  if (auto error = read_score(given, request.problem)) return error;
  if (auto error = read_choices(given, request)) return error;
  if (auto error = read_whole(given, "block-rows", kMaxSequenceLength, request.Br)) return error;
  return read_whole(given, "block-cols", kMaxSequenceLength, request.Bc);
}

}  // namespace

Result<ProblemRequest> parse_shape(const GivenOptions& given, const AttentionProblem& defaults) {
  ProblemRequest request;
  request.problem = defaults;
  if (auto error = read_shape(given, request)) return *error;
  return request;
}

Result<ProblemRequest> parse_problem(const GivenOptions& given,
                                     const std::vector<std::string>& algorithms) {
  ProblemRequest request;
  const auto algorithm = given.text("algorithm");
  if (!algorithm) {
    return invalid_request(
        fmt::format("--algorithm is required; known: {}", fmt::join(algorithms, ", ")));
  }
  if (std::find(algorithms.begin(), algorithms.end(), *algorithm) == algorithms.end()) {
    return invalid_request(unknown_name_message("algorithm", *algorithm, algorithms));
  }
  request.algorithm = *algorithm;

  if (auto error = read_shape(given, request)) return *error;
  if (auto error = read_inputs(given, request)) return *error;
  return request;
}

std::optional<Error> check_together(const ProblemRequest& request) {
  if (const auto reason = validate(request.problem)) return invalid_request(*reason);
  const Algorithm* algorithm = find_algorithm(request.algorithm);
  const bool carries = algorithm != nullptr && algorithm->carries_output;
  if (request.carry != Carry::problem && !carries) {
    return invalid_request(fmt::format(
        "--carry {} is for flash1 and block_sparse, which keep O in HBM between passes; {} keeps "
        "no O there",
        to_string(request.carry), request.algorithm));
  }
  return std::nullopt;
}

Result<GpuDescription> parse_gpu(const GivenOptions& given, const std::string& fallback) {
  auto gpu = load_gpu(given.text("gpu").value_or(fallback));
  if (!gpu) return gpu;
  constexpr Index kMaxBytes = Index{1} << 40;
  GivenCapacities capacities;
  if (auto error = read_whole(given, "sram-bytes", kMaxBytes, capacities.sram_bytes)) return *error;
  if (auto error = read_whole(given, "l2-bytes", kMaxBytes, capacities.l2_bytes)) return *error;
  return with_capacities(std::move(gpu).value(), capacities, "command line");
}

}  // namespace attnscope::cli
