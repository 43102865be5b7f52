#include "reference/field_rules.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>

#include "reference/check.h"
#include "reference/message_text.h"
#include "reference/npy.h"

namespace attnscope {

const RunField* find_field(std::string_view key) {
  const auto found = std::ranges::find(run_fields(), key, &RunField::key);
  return found == run_fields().end() ? nullptr : &*found;
}

const RunField& run_field(std::string_view key) {
  const RunField* field = find_field(key);
  ATTNSCOPE_CHECK(field != nullptr, ==, true);
  return *field;
}

std::string accepted_text(const RunField& field) {
  if (!field.accepted.empty()) return std::string(field.accepted);
  if (field.kind == FieldKind::seed) {
    return fmt::format("a whole number from 0 to {}", std::numeric_limits<std::uint64_t>::max());
  }
  if (field.kind == FieldKind::whole) {
    return fmt::format("a whole number from {} to {}", field.min, field.max);
  }
  std::vector<std::string_view> names;
  for (const FieldValue& value : field.values) names.push_back(value.name);
  return alternatives(names);
}

bool is_default(const RunField& field, const RunSpec& spec) {
  static const RunSpec defaults;
  return field.print(spec) == field.print(defaults);
}

namespace {

/// "did you mean 'paper'? ", for a field with a fixed list of values; else "".
std::string nearest_value(const RunField& field, std::string_view text) {
  std::vector<std::string> names;
  for (const FieldValue& value : field.values) names.emplace_back(value.name);
  const auto nearest = field.kind == FieldKind::name ? nearest_name(text, names) : std::nullopt;
  return nearest ? fmt::format("did you mean '{}'? ", *nearest) : "";
}

}  // namespace

Error not_understood(const RunField& field, std::string_view text) {
  const std::string accepted = accepted_text(field);
  return {.kind = Error::Kind::invalid_request,
          .message = fmt::format("{} is '{}'; {}it must be {}", field_name(field.key),
                                 printable(text), nearest_value(field, text), accepted),
          .code = ErrorCode::not_understood,
          .field = std::string(field.key),
          .value = std::string(text),
          .accepted = accepted};
}

std::optional<Error> set_field(const RunField& field, std::string_view text, RunSpec& spec) {
  const AttentionProblem before = spec.problem;
  // Some text fields cannot be unset: the algorithm, the GPU
  const bool is_needed =
      field.kind != FieldKind::flag && field.by_rule.empty() && !field.print(RunSpec{}).empty();
  if (text.empty() && is_needed) return not_understood(field, text);
  if (!field.parse(text, spec)) return not_understood(field, text);

  // Fields that were equal remain equal
  AttentionProblem& problem = spec.problem;
  if (field.key == "seq_len" && before.N == before.N_kv) problem.N_kv = problem.N;
  if (field.key != "heads") return std::nullopt;
  if (before.heads == before.kv_heads) problem.kv_heads = problem.heads;
  const auto& slopes = before.score.alibi_slopes;
  const bool sane_heads = problem.heads >= 1 && problem.heads <= kMaxHeads;
  if (sane_heads && !slopes.empty() && slopes == standard_alibi_slopes(before.heads)) {
    problem.score.alibi_slopes = standard_alibi_slopes(problem.heads);
  }
  return std::nullopt;
}

std::optional<Error> check_range(const RunField& field, const RunSpec& spec) {
  if (field.kind != FieldKind::whole) return std::nullopt;
  const std::string text = field.print(spec);
  if (text.empty()) return std::nullopt;
  const Index value = std::stoll(text);
  if (value >= field.min && value <= field.max) return std::nullopt;
  Error error = not_understood(field, text);
  error.code = ErrorCode::out_of_range;
  return error;
}

std::optional<Error> check_applies(const RunSpec& spec) {
  const Algorithm* algorithm = find_algorithm(spec.algorithm);
  ATTNSCOPE_CHECK(algorithm != nullptr, ==, true);
  for (const RunField& field : run_fields()) {
    if (field.scope.has(*algorithm) || is_default(field, spec)) continue;
    const std::string value =
        field.kind == FieldKind::name ? fmt::format(" {}", field.print(spec)) : "";
    return not_applicable(field.key, "{}{} is for {}; the algorithm is {}", field_name(field.key),
                          value, field.scope.algorithms, spec.algorithm);
  }
  return std::nullopt;
}

/// out_of_range for a multiple beyond the limits.
static std::optional<Error> validate(const WhatIf& what_if) {
  const std::pair<std::string_view, std::optional<double>> multiples[] = {
      {"sm_clock", what_if.sm_clock},
      {"dram_rate", what_if.dram_rate},
      {"l2_rate", what_if.l2_rate},
      {"matrix_rate", what_if.matrix_rate},
      {"exp_rate", what_if.exp_rate}};
  for (const auto& [key, multiple] : multiples) {
    if (!multiple || (*multiple >= kLeastMultiple && *multiple <= kMostMultiple)) continue;
    return invalid_field(ErrorCode::out_of_range, key, "{} must be from {} to {}, but is {}",
                         field_name(key), kLeastMultiple, kMostMultiple, *multiple);
  }
  return std::nullopt;
}

std::optional<Error> validate(const RunSpec& spec) {
  if (find_algorithm(spec.algorithm) == nullptr) {
    return invalid_field(ErrorCode::unknown_name, "algorithm",
                         unknown_name_message("algorithm", spec.algorithm, algorithm_names()));
  }
  for (const RunField& field : run_fields()) {
    if (auto error = check_range(field, spec)) return error;
  }
  if (auto error = validate(spec.problem)) return error;
  if (auto error = validate(spec.what_if)) return error;
  if (auto error = check_applies(spec)) return error;
  const ScoreFunction& score = spec.problem.score;
  if (spec.variant.fusion != Fusion::rows && (score.soft_cap || score.has_alibi())) {
    return invalid_field(ErrorCode::contradiction, "fusion",
                         "{} {} has launches for scale, mask and dropout, but none for "
                         "soft-capping and ALiBi; {} rows does both",
                         field_name("fusion"), to_string(spec.variant.fusion),
                         field_name("fusion"));
  }
  if (spec.variant.visit_hidden && spec.problem.is_packed()) {
    return invalid_field(
        ErrorCode::contradiction, "visit_hidden",
        "{} is for sequences that are not packed: with {}, the sequences determine the tiles",
        field_name("visit_hidden"), field_name("cu_seqlens_q"));
  }
  if (spec.pass == PassKind::forward && !spec.files.dO.empty()) {
    return invalid_field(ErrorCode::contradiction, "do",
                         "{} is for {} backward or both; the forward pass takes no dO",
                         field_name("do"), field_name("pass"));
  }
  return std::nullopt;
}

namespace {

/// The value scaled to an axis of another length; at least 1.
Index scaled(Index value, Index before, Index after) {
  const auto size = [](Index any) { return std::clamp<Index>(any, 1, kMaxSequenceLength); };
  return std::clamp<Index>(
      std::clamp<Index>(value, 0, kMaxSequenceLength) * size(after) / size(before), 1, size(after));
}

void scale_key_lengths(const AttentionProblem& before, AttentionProblem& after) {
  if (!after.has_key_lengths() || after.key_lengths != before.key_lengths) return;
  const Index batch = std::clamp<Index>(after.batch, 1, kMaxHeads);
  after.key_lengths.resize(static_cast<std::size_t>(batch), after.key_lengths.back());
  for (Index& length : after.key_lengths) length = scaled(length, before.N_kv, after.N_kv);
}

/// Stretches the boundaries of packed sequences to an axis of another length.
void scale_boundaries(const std::vector<Index>& before, Index old_size, std::vector<Index>& after,
                      Index size) {
  if (after.empty() || after != before || size == old_size) return;
  for (Index& boundary : after) boundary = boundary == 0 ? 0 : scaled(boundary, old_size, size);
  after.back() = size;
}

void scale_sequences(const AttentionProblem& before, AttentionProblem& after) {
  const bool were_packed = !before.cu_seqlens_q.empty() && !before.cu_seqlens_k.empty();
  const bool one_is_left = after.cu_seqlens_q.empty() != after.cu_seqlens_k.empty();
  if (were_packed && one_is_left) {  // without packing on one axis, the other axis has none either
    after.cu_seqlens_q.clear();
    after.cu_seqlens_k.clear();
  }
  scale_boundaries(before.cu_seqlens_q, before.N, after.cu_seqlens_q, after.N);
  scale_boundaries(before.cu_seqlens_k, before.N_kv, after.cu_seqlens_k, after.N_kv);
}

}  // namespace

RunSpec with_consequences(const RunSpec& before, RunSpec after) {
  scale_key_lengths(before.problem, after.problem);
  scale_sequences(before.problem, after.problem);
  if (!after.problem.score.has_dropout()) after.problem.score.dropout.seed = 0;
  if (after.pass == PassKind::forward && before.pass != after.pass) after.files.dO.clear();
  if (after.kernel == after.algorithm) after.kernel.clear();  // unset: the algorithm's
  const Algorithm* algorithm = find_algorithm(after.algorithm);
  if (algorithm == nullptr) return after;
  const bool is_new = before.algorithm != after.algorithm;
  if (is_new) {
    after.kernel.clear();
    after.switches.clear();
  }
  // A break names launches and operations of a particular algorithm and pass
  const bool has_new_launches = before.pass != after.pass && after.pass != PassKind::both;
  if ((is_new || has_new_launches) && before.variant.broken == after.variant.broken) {
    after.variant.broken = {};
  }
  if (is_new && algorithm->takes_block_mask && !after.block_mask) after.block_mask = BlockPattern{};
  for (const RunField& field : run_fields()) {
    // A pass that the algorithm does not have is rejected, not replaced
    if (field.scope.has(*algorithm) || field.key == "pass") continue;
    field.parse(field.print(RunSpec{}), after);
  }
  return after;
}

namespace {

/// Whether the shape is a possible [B, H, N, d] of a problem.
bool is_problem(const std::vector<Index>& shape) {
  constexpr Index kMost[] = {kMaxHeads, kMaxHeads, kMaxSequenceLength, kMaxHeadDim};
  return std::ranges::equal(shape, kMost,
                            [](Index size, Index most) { return size >= 1 && size <= most; });
}

/// The shape in the first of these files that has a usable one; nothing if none has.
std::optional<std::vector<Index>> sizes_of(std::initializer_list<const std::string*> files) {
  for (const std::string* path : files) {
    if (path->empty()) continue;
    const auto read = read_npy_shape(*path);
    if (!read) continue;
    std::vector<Index> shape = with_batch_and_heads(read.value());
    if (is_problem(shape)) return shape;
  }
  return std::nullopt;
}

}  // namespace

void take_sizes_of_files(RunSpec& spec) {
  AttentionProblem& problem = spec.problem;
  const auto queries = sizes_of({&spec.files.Q, &spec.files.dO});
  const auto keys = sizes_of({&spec.files.K, &spec.files.V});
  if (const auto& any = queries ? queries : keys) {
    problem.batch = (*any)[0];
    problem.heads = problem.kv_heads = (*any)[1];
    problem.N = problem.N_kv = (*any)[2];
    problem.d = (*any)[3];
  }
  if (keys) {
    problem.kv_heads = (*keys)[1];
    problem.N_kv = (*keys)[2];
  }
  if (!problem.cu_seqlens_q.empty()) {
    if (problem.N == problem.N_kv) problem.N_kv = problem.cu_seqlens_q.back();
    problem.N = problem.cu_seqlens_q.back();
  }
  if (!problem.cu_seqlens_k.empty()) problem.N_kv = problem.cu_seqlens_k.back();
}

std::optional<Error> draw_block_mask(ResolvedRun& run, const std::atomic<bool>* cancel) {
  AttentionProblem& problem = run.problem;
  if (!run.asked.block_mask || problem.block_mask) return std::nullopt;
  ATTNSCOPE_TRY(problem.block_mask, make_block_mask(*run.asked.block_mask, problem.N, problem.N_kv,
                                                    run.tiling, {}, cancel));
  return std::nullopt;
}

namespace {

constexpr char kOnScreen = '\x1e';  // between the wordings of worded()

}  // namespace

std::string field_name(std::string_view key) {
  return fmt::format("\x1f{}\x1f", key);
}

std::string worded(std::string_view elsewhere, std::string_view on_screen) {
  return fmt::format("\x1f{}{}{}\x1f", elsewhere, kOnScreen, on_screen);
}

namespace {

std::string with_names_for(std::string_view text, Reader reader) {
  std::string result;
  while (true) {
    const std::size_t begin = text.find('\x1f');
    const std::size_t end = begin == text.npos ? text.npos : text.find('\x1f', begin + 1);
    result += text.substr(0, begin);
    if (end == text.npos) return result;
    const std::string_view key = text.substr(begin + 1, end - begin - 1);
    const std::size_t wordings = key.find(kOnScreen);
    const RunField* field = find_field(key);
    if (wordings != key.npos) {
      result += reader == Reader::screen ? key.substr(wordings + 1) : key.substr(0, wordings);
    } else if (field == nullptr || reader == Reader::file) {
      result += key;
    } else if (reader == Reader::screen) {
      result += field->label;
    } else {
      result += field->option.empty() ? std::string(key) : fmt::format("--{}", field->option);
    }
    text.remove_prefix(end + 1);
  }
}

}  // namespace

std::string words(std::string_view text, Reader reader) {
  return shortened(one_line(with_names_for(text, reader)));
}

namespace {

/// The text as a single shell word, quoted if necessary.
std::string shell_word(std::string_view text) {
  constexpr std::string_view kPlain =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._:/,=+-";
  if (text.find_first_not_of(kPlain) == std::string_view::npos) return std::string(text);
  std::string word = "'";
  for (const char letter : text) {
    if (letter == '\'') {
      word.append("'\\''");
    } else {
      word.push_back(letter);
    }
  }
  word.push_back('\'');
  return word;
}

}  // namespace

std::string options_text(const RunSpec& spec, FieldTarget target) {
  std::string text;
  RunSpec given;  // the state set by the options so far: some fields follow others
  for (const RunField& field : run_fields()) {
    const bool is_option =
        !field.option.empty() && (field.target == FieldTarget::both || field.target == target);
    const std::string value = field.print(spec);
    const bool is_required = field.key == "algorithm";
    if (!is_option || (value == field.print(given) && !is_required)) continue;
    set_field(field, value, given);
    text += fmt::format(" --{}", field.option);
    if (field.kind != FieldKind::flag) text += fmt::format(" {}", shell_word(value));
  }
  return text;
}

}  // namespace attnscope
