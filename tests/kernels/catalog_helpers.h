/// Queries of the kernels' catalog, for its tests.
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/catalog.h"
#include "kernels/default_tilings.h"
#include "kernels/resolve.h"
#include "tests/support/kernel_run.h"

namespace attnscope::kernels {

inline constexpr DType kDTypes[] = {DType::fp32, DType::fp16, DType::bf16};

inline AttentionProblem problem_of(DType dtype, Index d) {
  AttentionProblem problem;
  problem.dtype = dtype;
  problem.d = d;
  return problem;
}

inline const KernelInfo& kernel_named(std::string_view name) {
  const KernelInfo* kernel = find_kernel(name);
  EXPECT_NE(kernel, nullptr) << name;
  return *kernel;
}

/// The message with which resolve() rejects the run, or "accepted".
inline std::string answer(const RunSpec& spec) {
  const auto run = resolve(spec);
  return run ? "accepted" : words(run.error(), Reader::file);
}

/// The message of the rejection, or "accepted".
inline std::string refusal(const KernelInfo& kernel, const AttentionProblem& problem,
                           std::optional<Tiling> tiling = std::nullopt,
                           Carry carry = Carry::problem) {
  const auto error =
      supports(test::kernel_run(kernel.name, problem, PassKind::forward, tiling, carry));
  if (!error) return "accepted";
  EXPECT_EQ(error->kind, Error::Kind::invalid_request);
  EXPECT_EQ(error->message.find('\n'), std::string::npos) << "one line: " << error->message;
  return words(*error, Reader::file);
}

inline std::string backward_refusal(const KernelInfo& kernel, const AttentionProblem& problem,
                                    std::optional<Tiling> tiling = std::nullopt) {
  const auto error = supports(test::kernel_run(kernel.name, problem, PassKind::backward, tiling));
  if (!error) return "accepted";
  EXPECT_EQ(error->kind, Error::Kind::invalid_request);
  EXPECT_EQ(error->message.find('\n'), std::string::npos) << "one line: " << error->message;
  return words(*error, Reader::file);
}

inline bool is_16_bit_only(const KernelInfo& kernel) {
  return kernel.name == "split_kv" || kernel.name == "block_sparse2";
}

/// Problems with one property each that few kernels support.
inline std::vector<std::pair<AttentionProblem, const char*>> scored_problems(DType dtype) {
  const AttentionProblem plain = problem_of(dtype, 64);
  std::vector<std::pair<AttentionProblem, const char*>> problems(
      6, {plain, "the problem has softcap 30; in fp32, kernel"});
  problems[0].first.score.soft_cap = 30;
  problems[1] = {plain, "alibi"};
  problems[1].first.score.alibi_slopes = {0.5};
  problems[2] = {plain, "dropout 0.1"};
  problems[2].first.score.dropout.probability = 0.1;
  problems[3] = {plain, "key lengths 7"};
  problems[3].first.key_lengths = {7};
  problems[4] = {plain, "2 packed sequences"};
  problems[4].first.cu_seqlens_q = problems[4].first.cu_seqlens_k = {0, 30, 1024};
  problems[5] = {plain, "window:16,0"};
  problems[5].first.mask = Mask::window(16, 0);
  return problems;
}

}  // namespace attnscope::kernels
