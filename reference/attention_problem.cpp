#include "reference/attention_problem.h"

#include <fmt/core.h>

#include "reference/parse_number.h"

namespace attnscope {

std::string to_string(const Mask& mask) {
  if (mask.is_none()) return "none";
  if (mask.is_causal()) {
    return mask.alignment == Mask::Alignment::top_left ? "causal:top-left" : "causal";
  }
  return fmt::format("window:{},{}{}", mask.left, mask.right,
                     mask.alignment == Mask::Alignment::top_left ? ":top-left" : "");
}

namespace {

/// A whole decimal number of at least -1, or nothing.
std::optional<Index> parse_window_side(std::string_view text) {
  const auto side = parse_number<Index>(text);
  return side && *side >= Mask::kUnlimited ? side : std::nullopt;
}

}  // namespace

std::optional<Mask> parse_mask(std::string_view text) {
  if (text == "none") return Mask::none();
  if (text == "causal") return Mask::causal();
  if (text == "causal:top-left") return Mask::causal(Mask::Alignment::top_left);

  constexpr std::string_view kPrefix = "window:";
  constexpr std::string_view kTopLeft = ":top-left";
  if (!text.starts_with(kPrefix)) return std::nullopt;
  std::string_view sides = text.substr(kPrefix.size());
  const bool is_top_left = sides.ends_with(kTopLeft);
  if (is_top_left) sides.remove_suffix(kTopLeft.size());
  const std::size_t comma = sides.find(',');
  if (comma == std::string_view::npos) {
    const auto keys = parse_window_side(sides);
    if (!keys || *keys < 1 || is_top_left) return std::nullopt;
    return Mask::window(*keys - 1, 0);
  }
  const auto left = parse_window_side(sides.substr(0, comma));
  const auto right = parse_window_side(sides.substr(comma + 1));
  if (!left || !right) return std::nullopt;
  Mask mask = Mask::window(*left, *right);
  if (is_top_left) mask.alignment = Mask::Alignment::top_left;
  return mask;
}

namespace {

std::optional<Error> check_range(std::string_view key, Index value, Index max) {
  if (value >= 1 && value <= max) return std::nullopt;
  return invalid_field(ErrorCode::out_of_range, key, "{} is {}; it must lie between 1 and {}",
                       field_name(key), value, max);
}

std::optional<Error> validate_block_mask(const AttentionProblem& problem) {
  if (problem.block_mask == nullptr) return std::nullopt;
  const BlockMask& M = *problem.block_mask;
  const Index Tr = ceil_div(problem.N, M.tiling().Br);
  const Index Tc = ceil_div(problem.N_kv, M.tiling().Bc);
  if (M.Tr() == Tr && M.Tc() == Tc) return std::nullopt;
  return invalid_field(ErrorCode::contradiction, "block_mask",
                       "block mask {} has {} x {} tiles; this problem has {} x {} of {} x {}",
                       M.text(), M.Tr(), M.Tc(), Tr, Tc, M.tiling().Br, M.tiling().Bc);
}

}  // namespace

bool AttentionProblem::attends(Index query, Index key, Index b) const {
  const KeyRange keys = keys_of(query, b);
  const bool in_range = key >= keys.begin && key < keys.end;
  return in_range && (block_mask == nullptr || block_mask->attends(query, key));
}

std::optional<Error> validate(const AttentionProblem& problem) {
  if (auto error = check_range("batch", problem.batch, kMaxHeads)) return error;
  if (auto error = check_range("heads", problem.heads, kMaxHeads)) return error;
  if (auto error = check_range("kv_heads", problem.kv_heads, kMaxHeads)) return error;
  if (auto error = check_range("seq_len", problem.N, kMaxSequenceLength)) return error;
  if (auto error = check_range("kv_len", problem.N_kv, kMaxSequenceLength)) return error;
  if (auto error = check_range("head_dim", problem.d, kMaxHeadDim)) return error;
  if (problem.heads % problem.kv_heads != 0) {
    return invalid_field(ErrorCode::contradiction, "kv_heads",
                         "{0} is {1} and {2} is {3}; {2} must divide {0}", field_name("heads"),
                         problem.heads, field_name("kv_heads"), problem.kv_heads);
  }
  const double multiply_adds = static_cast<double>(problem.batch) *
                               static_cast<double>(problem.heads) * static_cast<double>(problem.N) *
                               static_cast<double>(problem.N_kv) * static_cast<double>(problem.d);
  if (multiply_adds > kMaxMultiplyAdds) {
    return invalid_field(
        ErrorCode::too_many, "seq_len",
        "{} x {} x {} x {} x {} is {:.3g}; it must be at most {:.3g}, so that counts "
        "fit in 63 bits",
        field_name("batch"), field_name("heads"), field_name("seq_len"), field_name("kv_len"),
        field_name("head_dim"), multiply_adds, kMaxMultiplyAdds);
  }
  if (problem.mask.left < Mask::kUnlimited || problem.mask.right < Mask::kUnlimited) {
    return invalid_field(ErrorCode::out_of_range, "mask",
                         "mask {} has a side below -1; -1 means unlimited",
                         to_string(problem.mask));
  }
  if (auto error = validate(problem.score, problem.heads)) return error;
  if (auto error = validate_key_lengths(problem)) return error;
  if (auto error = validate_block_mask(problem)) return error;
  return validate_packing(problem);
}

std::optional<Error> validate(const Tiling& tiling) {
  if (auto error = check_range("Br", tiling.Br, kMaxSequenceLength)) return error;
  return check_range("Bc", tiling.Bc, kMaxSequenceLength);
}

}  // namespace attnscope
