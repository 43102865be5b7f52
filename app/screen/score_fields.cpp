#include "app/screen/score_fields.h"

#include <fmt/format.h>

#include "app/choice_rules.h"
#include "app/screen/choose.h"

namespace attnscope::app {

namespace {

std::string lengths_text(const AttentionProblem& problem) {
  if (!problem.has_key_lengths()) return "all";
  return fmt::format("{} of {}", problem.key_lengths.front(), problem.N_kv);
}

std::string sequences_text(const AttentionProblem& problem) {
  return problem.is_packed() ? fmt::format("{} packed", problem.sequence_count()) : "one";
}

}  // namespace

void draw_soft_cap_field(const Frame& frame, const Rect& box) {
  const std::optional<double>& shown = shown_choice(frame).problem.score.soft_cap;
  const ComboBox combo(frame, "softcap", box, shown ? fmt::format("{:g}", *shown) : "off");
  if (!combo.open()) return;
  const auto change = [&](std::optional<double> cap) {
    choose(frame, "softcap", [&](Choice& choice) { choice.problem.score.soft_cap = cap; });
  };
  if (combo.option("off", !shown, "off")) change(std::nullopt);
  for (const double cap : {1.0, 5.0, 15.0, 30.0, 50.0}) {
    const std::string name = fmt::format("{:g}", cap);
    if (combo.option(name, shown == cap, name, "S = cap · tanh(S / cap)")) change(cap);
  }
}

void draw_alibi_field(const Frame& frame, const Rect& box) {
  const bool shown = shown_choice(frame).problem.score.has_alibi();
  const ComboBox combo(frame, "alibi", box, shown ? "slopes" : "off");
  if (!combo.open()) return;
  for (const bool on : {false, true}) {
    if (!combo.option(on ? "slopes" : "off", on == shown, on ? "slopes" : "off",
                      on ? "S - slope · distance; slope 2^(-8 (h + 1) / H) of head h" : "")) {
      continue;
    }
    choose(frame, "alibi", [&](Choice& choice) {
      choice.problem.score.alibi_slopes =
          on ? standard_alibi_slopes(choice.problem.heads) : std::vector<double>{};
    });
  }
}

void draw_dropout_field(const Frame& frame, const Rect& box) {
  const double shown = shown_choice(frame).problem.score.dropout.probability;
  const ComboBox combo(frame, "dropout", box, shown > 0 ? fmt::format("{:g}", shown) : "off");
  if (!combo.open()) return;
  for (const double p : {0.0, 0.1, 0.25, 0.5}) {
    const std::string name = p > 0 ? fmt::format("{:g}", p) : "off";
    if (!combo.option(name, p == shown, name, p > 0 ? "the share of P that is dropped" : "")) {
      continue;
    }
    choose(frame, "dropout", [&](Choice& choice) { choice.problem.score.dropout.probability = p; });
  }
}

void draw_key_length_field(const Frame& frame, const Rect& box) {
  const AttentionProblem& shown = shown_choice(frame).problem;
  const ComboBox combo(frame, "key_lengths", box, lengths_text(shown));
  if (!combo.open()) return;
  const auto change = [&](std::vector<Index> lengths) {
    choose(frame, "key_lengths",
           [&](Choice& choice) { choice.problem.key_lengths = std::move(lengths); });
  };
  if (combo.option("all", !shown.has_key_lengths(), "all")) change({});
  for (const Index quarters : {3, 2, 1}) {
    const Index length = std::max<Index>(shown.N_kv * quarters / 4, 1);
    const std::string name = fmt::format("{}", length);
    const bool selected = shown.has_key_lengths() && shown.key_lengths.front() == length;
    if (combo.option(name, selected, name, "valid keys; the rest is padding, hidden")) {
      change(std::vector<Index>(static_cast<std::size_t>(shown.batch), length));
    }
  }
}

void draw_sequences_field(const Frame& frame, const Rect& box) {
  const AttentionProblem& shown = shown_choice(frame).problem;
  const ComboBox combo(frame, "sequences", box, sequences_text(shown));
  if (!combo.open()) return;
  for (const Index parts : {1, 2, 3, 4}) {
    const std::string name = parts == 1 ? "one" : fmt::format("{} packed", parts);
    if (!combo.option(name, parts == shown.sequence_count(), name,
                      parts > 1 ? "sequences of unequal length behind each other: a query sees the "
                                  "keys of its own"
                                : "")) {
      continue;
    }
    choose(frame, "sequences", [&](Choice& choice) {
      AttentionProblem& problem = choice.problem;
      problem.cu_seqlens_q = parts > 1 ? packed_ends(parts, problem.N) : std::vector<Index>{};
      problem.cu_seqlens_k = parts > 1 ? packed_ends(parts, problem.N_kv) : std::vector<Index>{};
    });
  }
}

void draw_block_mask_field(const Frame& frame, const Rect& box) {
  const Choice& shown = shown_choice(frame);
  const std::string text = shown.block_mask ? to_string(*shown.block_mask) : "none";
  const ComboBox combo(frame, "block_mask", box, text);
  if (!combo.open()) return;
  if (!shown.block_mask) {
    combo.option("for block_sparse and block_sparse2", false, "none");
    return;
  }
  using Kind = BlockPattern::Kind;
  const BlockPattern patterns[] = {{.kind = Kind::butterfly},
                                   {.kind = Kind::local_global, .window = 1, .global = 1},
                                   {.kind = Kind::random, .density = 0.3},
                                   {.kind = Kind::uniform, .density = 0.3}};
  for (const BlockPattern& pattern : patterns) {
    const std::string name = to_string(pattern);
    if (combo.option(name, pattern == *shown.block_mask, name)) {
      choose(frame, "block_mask", [&](Choice& choice) { choice.block_mask = pattern; });
    }
  }
}

void draw_unused_kv_field(const Frame& frame, const Rect& box) {
  const Choice& shown = shown_choice(frame);
  const ComboBox combo(frame, "unused_kv", box, shown.skip_unused_kv ? "skipped" : "loaded");
  if (!combo.open()) return;
  for (const bool skip : {false, true}) {
    const std::string name = skip ? "skipped" : "loaded";
    if (combo.option(name, skip == shown.skip_unused_kv, name,
                     skip ? "K and V of column tiles that no row computes stay in HBM"
                          : "as the paper prints it: outside the guard")) {
      choose(frame, "unused_kv", [&](Choice& choice) { choice.skip_unused_kv = skip; });
    }
  }
}

}  // namespace attnscope::app
