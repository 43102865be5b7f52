#include "reference/attention_problem.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <map>

#include "reference/dropout.h"

namespace attnscope {

namespace {

/// No key is farther from a diagonal than this.
constexpr Index kLongestSide = 2 * kMaxSequenceLength;
/// Longer lists are summarised by their smallest and largest value.
constexpr Index kMostNamedLengths = 16;

Index value_at(const std::vector<Index>& values, Index index) {
  return values[static_cast<std::size_t>(index)];
}

}  // namespace

Sequence AttentionProblem::sequence(Index s) const {
  if (!is_packed()) return {0, N, {0, N_kv}};
  return {value_at(cu_seqlens_q, s),
          value_at(cu_seqlens_q, s + 1),
          {value_at(cu_seqlens_k, s), value_at(cu_seqlens_k, s + 1)}};
}

Sequence AttentionProblem::sequence_of(Index query) const {
  if (!is_packed()) return sequence(0);
  const auto past = std::upper_bound(cu_seqlens_q.begin(), cu_seqlens_q.end(), query);
  return sequence(past - cu_seqlens_q.begin() - 1);
}

Index AttentionProblem::aligned_key(Index query, Mask::Alignment alignment) const {
  const Sequence own = sequence_of(query);
  const Index top_left = own.keys.begin + query - own.query_begin;
  if (alignment == Mask::Alignment::top_left) return top_left;
  return top_left + own.keys.end - own.keys.begin - own.queries();
}

KeyRange AttentionProblem::keys_of(Index query, Index b) const {
  KeyRange own = is_packed() ? sequence_of(query).keys : KeyRange{0, N_kv};
  if (has_key_lengths()) own.end = std::min(own.end, value_at(key_lengths, b));
  KeyRange keys = own;
  const Index centre = diagonal(query);
  // A side longer than any sequence hides nothing; clamping it keeps the sums in range
  if (mask.left != Mask::kUnlimited) {
    keys.begin = std::clamp(centre - std::min(mask.left, kLongestSide), own.begin, own.end);
  }
  if (mask.right != Mask::kUnlimited) {
    keys.end = std::clamp(centre + std::min(mask.right, kLongestSide) + 1, own.begin, own.end);
  }
  return keys;
}

double AttentionProblem::alibi_bias(Index h, Index query, Index key) const {
  const Index distance = std::abs(key - aligned_key(query, Mask::Alignment::bottom_right));
  return -score.alibi_slopes[static_cast<std::size_t>(h)] * static_cast<double>(distance);
}

double AttentionProblem::dropout_factor(Index b, Index h, Index query, Index key) const {
  const Dropout& dropout = score.dropout;
  const std::uint32_t word =
      dropout_word(dropout.seed, static_cast<std::uint32_t>(dropout.first_batch + b),
                   static_cast<std::uint32_t>(dropout.first_head + h),
                   static_cast<std::uint32_t>(query), static_cast<std::uint32_t>(key));
  return word < dropout_threshold(dropout.probability) ? 0.0 : dropout.scale();
}

std::vector<KeyLengthGroup> group_batch_by_key_length(const AttentionProblem& problem) {
  if (!problem.has_key_lengths()) return {{0, problem.batch, problem.N_kv}};
  std::map<Index, KeyLengthGroup> by_length;
  for (Index b = 0; b < problem.batch; ++b) {
    const Index length = value_at(problem.key_lengths, b);
    KeyLengthGroup& group = by_length[length];
    if (group.count++ == 0) group = {b, 1, length};
  }
  std::vector<KeyLengthGroup> groups;
  for (const auto& [length, group] : by_length) groups.push_back(group);
  return groups;
}

void leave_one_entry(AttentionProblem& problem, const KeyLengthGroup& group) {
  problem.batch = 1;
  if (problem.has_key_lengths()) problem.key_lengths = {group.key_count};
}

std::optional<Error> validate_key_lengths(const AttentionProblem& problem) {
  if (!problem.has_key_lengths()) return std::nullopt;
  const auto count = static_cast<Index>(problem.key_lengths.size());
  if (count != problem.batch) {
    return invalid_field(ErrorCode::contradiction, "key_lengths",
                         "{} has {} numbers and {} is {}; it needs one for each entry",
                         field_name("key_lengths"), count, field_name("batch"), problem.batch);
  }
  for (const Index length : problem.key_lengths) {
    if (length >= 0 && length <= problem.N_kv) continue;
    return invalid_field(ErrorCode::out_of_range, "key_lengths",
                         "{} has {}; each must lie between 0 and {}, which is {}",
                         field_name("key_lengths"), length, field_name("kv_len"), problem.N_kv);
  }
  return std::nullopt;
}

namespace {

std::optional<Error> check_boundaries(std::string_view key, std::string_view length_key,
                                      const std::vector<Index>& boundaries, Index length) {
  const auto refuse = [&](ErrorCode code, const std::string& why) {
    return invalid_field(code, key, "{} {}", field_name(key), why);
  };
  if (boundaries.size() < 2 || boundaries.front() != 0) {
    return refuse(
        ErrorCode::out_of_range,
        fmt::format("must begin with 0 and have at least two numbers, for example 0,{}", length));
  }
  const auto fall = std::is_sorted_until(boundaries.begin(), boundaries.end());
  if (fall != boundaries.end()) {
    return refuse(
        ErrorCode::out_of_range,
        fmt::format("has {} after {}; its numbers must not decrease", *fall, *(fall - 1)));
  }
  if (boundaries.back() == length) return std::nullopt;
  return refuse(ErrorCode::contradiction,
                fmt::format("ends with {}; it must end with {}, which is {}", boundaries.back(),
                            field_name(length_key), length));
}

}  // namespace

std::optional<Error> validate_packing(const AttentionProblem& problem) {
  const auto& of_q = problem.cu_seqlens_q;
  const auto& of_k = problem.cu_seqlens_k;
  if (of_q.empty() && of_k.empty()) return std::nullopt;
  if (of_q.size() != of_k.size()) {
    return invalid_field(
        ErrorCode::contradiction, "cu_seqlens_k",
        "{} has {} numbers and {} has {}; both need one more than there are sequences",
        field_name("cu_seqlens_q"), of_q.size(), field_name("cu_seqlens_k"), of_k.size());
  }
  if (problem.batch != 1) {
    return invalid_field(
        ErrorCode::contradiction, "batch",
        "{} is {} with packed sequences; it must be 1, as they are packed into one entry",
        field_name("batch"), problem.batch);
  }
  if (problem.has_key_lengths()) {
    return invalid_field(ErrorCode::contradiction, "key_lengths",
                         "{0} and {1} are both given; packed sequences have their lengths in {1}",
                         field_name("key_lengths"), field_name("cu_seqlens_k"));
  }
  if (auto error = check_boundaries("cu_seqlens_q", "seq_len", of_q, problem.N)) return error;
  return check_boundaries("cu_seqlens_k", "kv_len", of_k, problem.N_kv);
}

std::string extras_text(const AttentionProblem& problem) {
  std::string text = problem.score.is_plain() ? "" : to_string(problem.score);
  const auto add = [&text](const std::string& part) {
    if (!text.empty()) text += ", ";
    text += part;
  };
  if (problem.has_key_lengths()) {
    const auto [least, most] = std::ranges::minmax(problem.key_lengths);
    add(problem.batch <= kMostNamedLengths
            ? fmt::format("key lengths {}", fmt::join(problem.key_lengths, ","))
            : fmt::format("key lengths from {} to {}", least, most));
  }
  if (problem.is_packed()) {
    add(fmt::format("{} packed sequence{}", problem.sequence_count(),
                    problem.sequence_count() == 1 ? "" : "s"));
  }
  return text;
}

}  // namespace attnscope
