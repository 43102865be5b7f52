#include "reference/json/problem_json.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>
#include <type_traits>

#include "reference/nearest_name.h"

namespace attnscope {

namespace {

void add_score(const AttentionProblem& problem, nlohmann::json& object) {
  const ScoreFunction& score = problem.score;
  if (score.soft_cap) object["softcap"] = *score.soft_cap;
  if (score.has_alibi()) {
    if (score.alibi_slopes == standard_alibi_slopes(problem.heads)) {
      object["alibi"] = "standard";
    } else {
      object["alibi"] = score.alibi_slopes;
    }
  }
  if (score.dropout != Dropout{}) {
    object["dropout"] = {{"probability", score.dropout.probability},
                         {"seed", score.dropout.seed},
                         {"first_batch", score.dropout.first_batch},
                         {"first_head", score.dropout.first_head}};
  }
}

void add_sequences(const AttentionProblem& problem, nlohmann::json& object) {
  if (problem.has_key_lengths()) object["key_lengths"] = problem.key_lengths;
  if (!problem.is_packed()) return;
  object["cu_seqlens_q"] = problem.cu_seqlens_q;
  object["cu_seqlens_k"] = problem.cu_seqlens_k;
}

/// The numbers of an array field; empty when there is no such field.
template <typename Number>
std::vector<Number> numbers_of(const JsonObject& object, std::string_view key) {
  std::vector<Number> numbers;
  if (!object.has(key)) return numbers;
  for (const nlohmann::json& element : object.array(key)) {
    const bool is_number =
        std::is_integral_v<Number> ? element.is_number_integer() : element.is_number();
    if (!is_number) {
      throw JsonFieldError(fmt::format("{}: expected {}, found {}", object.path_of(key),
                                       std::is_integral_v<Number> ? "integers" : "numbers",
                                       element.type_name()));
    }
    numbers.push_back(element.get<Number>());
  }
  return numbers;
}

ScoreFunction score_from_json(const JsonObject& object, Index heads) {
  ScoreFunction score;
  if (object.has("softcap")) score.soft_cap = object.number("softcap");
  if (object.has("alibi")) {
    if (object.at("alibi").is_array()) {
      score.alibi_slopes = numbers_of<double>(object, "alibi");
    } else if (object.string("alibi") == "standard") {
      score.alibi_slopes = standard_alibi_slopes(heads);
    } else {
      throw JsonFieldError(fmt::format("{}: \"{}\" is neither \"standard\" nor a list of slopes",
                                       object.path_of("alibi"), printable(object.string("alibi"))));
    }
  }
  if (object.has("dropout")) {
    const JsonObject dropout = object.object("dropout");
    score.dropout.probability = dropout.number("probability");
    score.dropout.seed = dropout.unsigned_or("seed", 0);
    score.dropout.first_batch = dropout.integer_or("first_batch", 0);
    score.dropout.first_head = dropout.integer_or("first_head", 0);
  }
  return score;
}

}  // namespace

nlohmann::json problem_to_json(const AttentionProblem& problem) {
  nlohmann::json object{{"batch", problem.batch},
                        {"heads", problem.heads},
                        {"kv_heads", problem.kv_heads},
                        {"seq_len", problem.N},
                        {"kv_len", problem.N_kv},
                        {"head_dim", problem.d},
                        {"dtype", to_string(problem.dtype)},
                        {"mask", to_string(problem.mask)}};
  add_score(problem, object);
  add_sequences(problem, object);
  return object;
}

nlohmann::ordered_json tiling_to_json(const Tiling& tiling) {
  return {{"Br", tiling.Br}, {"Bc", tiling.Bc}};
}

AttentionProblem problem_from_json(const JsonObject& object) {
  AttentionProblem problem;
  problem.batch = object.integer_or("batch", 1);
  problem.heads = object.integer_or("heads", 1);
  problem.kv_heads = object.integer_or("kv_heads", problem.heads);
  problem.N = object.integer("seq_len");
  problem.N_kv = object.integer_or("kv_len", problem.N);
  problem.d = object.integer("head_dim");

  const std::string dtype_name = object.string_or("dtype", "bf16");
  const auto dtype = parse_dtype(dtype_name);
  if (!dtype) {
    throw JsonFieldError(fmt::format("{}: \"{}\" is not a precision; use fp32, fp16 or bf16",
                                     object.path_of("dtype"), printable(dtype_name)));
  }
  problem.dtype = *dtype;

  const std::string mask_name = object.string_or("mask", "none");
  const auto mask = parse_mask(mask_name);
  if (!mask) {
    throw JsonFieldError(
        fmt::format("{}: \"{}\" is not a mask; use none, causal, causal:top-left, "
                    "window:KEYS (at least 1) or window:LEFT,RIGHT",
                    object.path_of("mask"), printable(mask_name)));
  }
  problem.mask = *mask;

  // Slopes are made for a number of heads that is known to be sane
  if (const auto error = validate(problem)) {
    throw JsonFieldError(fmt::format("{}: {}", object.path(), *error));
  }
  problem.score = score_from_json(object, problem.heads);
  problem.key_lengths = numbers_of<Index>(object, "key_lengths");
  problem.cu_seqlens_q = numbers_of<Index>(object, "cu_seqlens_q");
  problem.cu_seqlens_k = numbers_of<Index>(object, "cu_seqlens_k");
  if (const auto error = validate(problem)) {
    throw JsonFieldError(fmt::format("{}: {}", object.path(), *error));
  }
  return problem;
}

Tiling tiling_from_json(const JsonObject& object) {
  const Tiling tiling{object.integer("Br"), object.integer("Bc")};
  if (const auto error = validate(tiling)) {
    throw JsonFieldError(fmt::format("{}: {}", object.path(), *error));
  }
  return tiling;
}

}  // namespace attnscope
