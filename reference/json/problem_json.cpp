#include "reference/json/problem_json.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace attnscope {

nlohmann::json problem_to_json(const AttentionProblem& problem) {
  return {{"batch", problem.batch},
          {"heads", problem.heads},
          {"kv_heads", problem.kv_heads},
          {"seq_len", problem.N},
          {"kv_len", problem.N_kv},
          {"head_dim", problem.d},
          {"dtype", to_string(problem.dtype)},
          {"mask", to_string(problem.mask)}};
}

nlohmann::json tiling_to_json(const Tiling& tiling) {
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
                                     object.path_of("dtype"), dtype_name));
  }
  problem.dtype = *dtype;

  const std::string mask_name = object.string_or("mask", "none");
  const auto mask = parse_mask(mask_name);
  if (!mask) {
    throw JsonFieldError(
        fmt::format("{}: \"{}\" is not a mask; use none, causal, causal:top-left or "
                    "window:LEFT,RIGHT",
                    object.path_of("mask"), mask_name));
  }
  problem.mask = *mask;

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
