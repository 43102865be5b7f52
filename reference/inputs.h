/// Q, K, V and dO of a problem: generated from a seed, or read from .npy files.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "reference/enum_names.h"
#include "reference/head_tensor.h"
#include "reference/input_element.h"
#include "reference/result.h"

namespace attnscope {

constexpr std::array<std::string_view, 3> enum_names(InputKind) {
  return {"gaussian", "outlier", "needle"};
}

/// The data that a computation runs on; input_element.h describes the kinds.
struct InputSpec {
  InputKind kind = InputKind::gaussian;
  std::uint64_t seed = 0;
  bool operator==(const InputSpec&) const = default;
};

/// Q, dO [B, H, N, d]; K, V [B, H_kv, N_kv, d]; each value is representable in the problem's
/// precision.
struct AttentionInputs {
  HeadTensor Q;
  HeadTensor K;
  HeadTensor V;
  HeadTensor dO;
};

/// FNV-1a over the values of all four tensors in single precision, which represents every storage
/// precision exactly; identifies a user's own tensors.
std::uint64_t hash_of_inputs(const AttentionInputs& inputs);

/// Generates all four tensors. The problem must be valid.
AttentionInputs make_inputs(const AttentionProblem& problem, const InputSpec& spec);

/// Head (b, h) of a problem, as a separate problem: batch, heads and KV heads are 1; key length,
/// ALiBi slope and dropout bits are those of the head.
AttentionProblem one_head_of(const AttentionProblem& problem, Index b = 0, Index h = 0);
/// The tensors of query head (b, h) and of the KV head that it reads, each [1, 1, rows, d]: the
/// same values as in make_inputs(), without generating the rest.
AttentionInputs make_head_inputs(const AttentionProblem& problem, const InputSpec& spec, Index b,
                                 Index h);
/// The same, extracted from the given tensors.
AttentionInputs head_of(const AttentionProblem& problem, const AttentionInputs& inputs, Index b,
                        Index h);

/// Paths of .npy files; an empty path means "generate this tensor".
struct InputPaths {
  std::string Q;
  std::string K;
  std::string V;
  std::string dO;

  bool any() const { return !Q.empty() || !K.empty() || !V.empty() || !dO.empty(); }
  bool operator==(const InputPaths&) const = default;
};

/// Reads the named files, rounds them to the problem's precision, and generates the tensors without
/// a path according to `spec`. invalid_request if a file cannot be read, has a shape other than the
/// problem's tensor, or contains a value that is not finite after rounding.
Result<AttentionInputs> load_inputs(const AttentionProblem& problem, const InputPaths& paths,
                                    const InputSpec& spec = {});

}  // namespace attnscope
