#include "app/screen/schedule_fields.h"

#include <fmt/format.h>

#include "app/screen/choose.h"
#include "app/step_simulator.h"

namespace attnscope::app {

namespace {

/// What a box with two values says of each.
struct TwoValues {
  const char* off;
  const char* on;
  const char* off_help;
  const char* on_help;
};

/// A box for something that is on or off.
void draw_switch(const Frame& frame, const Rect& box, const std::string& name, bool shown,
                 const TwoValues& words, const std::function<void(Choice&, bool)>& change) {
  const ComboBox combo(frame, name, box, shown ? words.on : words.off);
  if (!combo.open()) return;
  for (const bool on : {false, true}) {
    const char* text = on ? words.on : words.off;
    if (!combo.option(text, on == shown, text, on ? words.on_help : words.off_help)) continue;
    choose(frame, name, [&](Choice& choice) { change(choice, on); });
  }
}

}  // namespace

void draw_alibi_field(const Frame& frame, const Rect& box) {
  draw_switch(frame, box, "alibi", shown_choice(frame).problem.score.has_alibi(),
              {"off", "slopes", "", "S - slope · distance; slope 2^(-8 (h + 1) / H) of head h"},
              [](Choice& choice, bool on) {
                choice.problem.score.alibi_slopes =
                    on ? standard_alibi_slopes(choice.problem.heads) : std::vector<double>{};
              });
}

void draw_tiling_rule_field(const Frame& frame, const Rect& box) {
  const Choice& shown = shown_choice(frame);
  const std::string preview = fmt::format("{} x {}", shown.tiling.Br, shown.tiling.Bc);
  const ComboBox combo(frame, "tiling_rule", box, preview);
  if (!combo.open()) return;
  for (const TilingByRule& rule : tilings_by_rule(shown)) {
    const std::string text =
        rule.tiling ? fmt::format("{}: {} x {}", rule.name, rule.tiling->Br, rule.tiling->Bc)
                    : fmt::format("{}: none", rule.name);
    const bool clicked =
        combo.option(text, rule.tiling == shown.tiling, std::string(rule.name), rule.help);
    if (!clicked || !rule.tiling) continue;
    choose(frame, "Br", [&](Choice& choice) { choice.tiling = *rule.tiling; });
  }
}

void draw_overflow_field(const Frame& frame, const Rect& box) {
  draw_switch(frame, box, "overflow", shown_choice(frame).allow_overflow,
              {"refused", "counted", "tiles that do not fit on chip are refused",
               "tiles that do not fit on chip are counted all the same; no kernel could run so"},
              [](Choice& choice, bool on) { choice.allow_overflow = on; });
}

void draw_rounding_field(const Frame& frame, const Rect& box) {
  draw_switch(frame, box, "rounding", shown_choice(frame).round_to_storage,
              {"double", "rounded",
               "the inputs are in the problem's type, all that follows in double precision",
               "rounded to the type of the problem where a kernel rounds: stores and operands of "
               "matrix products"},
              [](Choice& choice, bool on) { choice.round_to_storage = on; });
}

void draw_unused_kv_field(const Frame& frame, const Rect& box) {
  draw_switch(frame, box, "unused_kv", shown_choice(frame).skip_unused_kv,
              {"loaded", "skipped", "as the paper prints it: outside the guard",
               "K and V of column tiles that no row computes are not loaded"},
              [](Choice& choice, bool on) { choice.skip_unused_kv = on; });
}

void draw_group_field(const Frame& frame, const Rect& box) {
  draw_switch(frame, box, "group", shown_choice(frame).separate_heads,
              {"one tile", "separate heads",
               "the query heads that read the same K and V are the rows of one tile, where the "
               "scores allow it: K and V are read once for all of them",
               "a thread block for each query head, as the GPU kernel has it"},
              [](Choice& choice, bool on) { choice.separate_heads = on; });
}

void draw_fusion_field(const Frame& frame, const Rect& box) {
  const Fusion shown = shown_choice(frame).variant.fusion;
  const ComboBox combo(frame, "fusion", box, std::string(to_string(shown)));
  if (!combo.open()) return;
  const std::pair<Fusion, const char*> all[] = {
      {Fusion::separate, "every elementwise operation is a launch, forward and backward"},
      {Fusion::figure2,
       "one accounting that yields the 40.3 GB of the paper's Figure 2, which does not say how it "
       "counts: the scale in the products, mask and dropout apart"},
      {Fusion::pairs, "two operations a launch: scale and mask, softmax and dropout"},
      {Fusion::rows, "one launch over whole rows does all of them"}};
  for (const auto& [fusion, help] : all) {
    const std::string name(to_string(fusion));
    if (!combo.option(name, fusion == shown, name, help)) continue;
    choose(frame, "fusion",
           [&, chosen = fusion](Choice& choice) { choice.variant.fusion = chosen; });
  }
}

void draw_checkpoint_field(const Frame& frame, const Rect& box) {
  draw_switch(frame, box, "checkpoint", shown_choice(frame).variant.checkpoint,
              {"kept", "recomputed", "the backward pass reads the P that the forward pass stored",
               "Q, K and V alone are kept: the backward pass runs the forward pass again"},
              [](Choice& choice, bool on) { choice.variant.checkpoint = on; });
}

void draw_first_reads_field(const Frame& frame, const Rect& box) {
  draw_switch(frame, box, "first_reads", shown_choice(frame).variant.skip_first_reads,
              {"loaded", "on chip", "as the paper prints it: O, m, l and dQ are read at first too",
               "O, m, l and dQ start on chip: their first reads are skipped"},
              [](Choice& choice, bool on) { choice.variant.skip_first_reads = on; });
}

void draw_d_field(const Frame& frame, const Rect& box) {
  draw_switch(
      frame, box, "d_once", shown_choice(frame).variant.d_once,
      {"in the loop", "once", "D = rowsum(dO o O) for every column tile, as the paper has it",
       "D = rowsum(dO o O) in a launch of its own"},
      [](Choice& choice, bool on) { choice.variant.d_once = on; });
}

}  // namespace attnscope::app
