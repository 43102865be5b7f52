#include <iterator>
#include <utility>

#include "tests/bench/field_bench.h"

namespace attnscope::app {

namespace {

using Kind = FieldAction::Kind;

// Actions on the script's field
FieldAction open_list() {
  return {.kind = Kind::open};
}
FieldAction type(std::string text) {
  return {.kind = Kind::type, .value = std::move(text)};
}
FieldAction pick(std::string option) {
  return {.kind = Kind::pick, .value = std::move(option)};
}

FieldAction press(std::string widget) {
  return {.kind = Kind::press, .place = std::move(widget)};
}
template <typename T>
FieldAction look(T ViewState::*member, T value) {
  return {.kind = Kind::look, .set = [=](ViewState& view) { view.*member = value; }};
}
/// The same action on a different field.
FieldAction in(std::string field, FieldAction action) {
  action.place = std::move(field);
  return action;
}
FieldAction refused(FieldAction action) {
  action.refused = true;
  return action;
}
/// The same action for a choice that must be rejected, and whose rejection is not dismissed.
FieldAction standing(FieldAction action) {
  action = refused(std::move(action));
  action.stays = true;
  return action;
}

/// A script that opens the list and picks these options in turn.
FieldScript picks(std::string field, const std::vector<std::string>& options) {
  FieldScript script{std::move(field), {open_list()}};
  for (const std::string& option : options) script.actions.push_back(pick(option));
  return script;
}

/// A script that opens the list, types valid text, and then invalid text.
FieldScript texts(std::string field, std::string valid, const std::vector<std::string>& invalid) {
  FieldScript script{std::move(field), {open_list(), type(std::move(valid))}};
  for (const std::string& text : invalid) script.actions.push_back(refused(type(text)));
  return script;
}

/// The script, preceded by changes of other fields.
FieldScript after(const std::vector<FieldAction>& changes, FieldScript script) {
  script.actions.insert(script.actions.begin(), changes.begin(), changes.end());
  return script;
}

std::vector<FieldScript> top_bar_scripts() {
  return {
      picks("scene", {"default"}),
      {"algorithm",
       {open_list(), pick("standard"), pick("flash1"), pick("block_sparse"), pick("block_sparse2"),
        pick("split_kv"), pick("flash2"), in("pass", pick("backward")), refused(pick("split_kv"))}},
      {"pass",
       {open_list(), pick("backward"), pick("both"), pick("forward"),
        in("algorithm", pick("split_kv")), refused(pick("backward"))}},
      texts("seq_len", "512", {"0", "100000000", "99999999999999999999"}),
      texts("head_dim", "32", {"0", "4000", "99999"}),
      texts("Br", "32", {"0", "5000", "999999999"}),
      texts("Bc", "32", {"0", "5000", "999999999"}),
      {"mask", {open_list(), pick("causal"), type("window:100,20"), refused(type("casual"))}},
      {"dtype",
       {open_list(), pick("bf16"), pick("fp32"), pick("fp16"), in("tiling_rule", pick("largest")),
        refused(pick("fp32"))}},
      {"gpu",
       {open_list(), pick("a100-80gb"), pick("t4"), pick("h200"),
        in("tiling_rule", pick("largest")), refused(pick("t4"))}},
  };
}

std::vector<FieldScript> problem_scripts(const InputPaths& files) {
  return {
      texts("kv_len", "512", {"0"}),
      texts("batch", "2", {"0"}),
      {"heads",
       {open_list(), type("4"), refused(type("0")), in("kv_heads", type("2")), refused(type("3")),
        refused(type("99999999")), standing(in("Br", type("5000"))), refused(type("8"))}},
      {"kv_heads",
       {in("heads", type("4")), open_list(), type("2"), refused(type("3")), refused(type("50000")),
        standing(in("Br", type("5000"))), refused(type("4"))}},
      texts("key_lengths", "512", {"5000", "many"}),
      texts("cu_seqlens_q", "0,400,1024", {"0,400,300", "two"}),
      after({in("cu_seqlens_q", type("0,400,1024"))}, texts("cu_seqlens_k", "0,500,1024", {"0,9"})),
      texts("softcap", "30", {"-1"}),
      {"alibi",
       {open_list(), pick("standard"), pick("off"), in("algorithm", pick("standard")),
        in("fusion", pick("pairs")), refused(pick("standard"))}},
      texts("dropout", "0.1", {"1"}),
      after({in("dropout", type("0.1"))}, texts("dropout_seed", "3", {"lucky"})),
      picks("inputs", {"outlier", "needle"}),
      texts("seed", "5", {"lucky"}),
      {"q",
       {open_list(), type(files.Q), refused(in("heads", type("5000"))), refused(type("none.npy"))}},
      texts("k", files.K, {"none.npy"}),
      texts("v", files.V, {"none.npy"}),
      after({in("pass", pick("backward"))}, texts("do", files.dO, {"none.npy"})),
  };
}

std::vector<FieldScript> schedule_scripts() {
  const auto with = [](std::string algorithm) {
    return in("algorithm", pick(std::move(algorithm)));
  };
  return {
      picks("tiling_rule", {"paper", "largest", "kernel"}),
      texts("sram_bytes", "100000", {"16", "much"}),
      texts("l2_bytes", "1000000", {"much"}),
      {"allow_overflow",
       {open_list(), pick("true"), in("Br", type("2048")), refused(pick("rejected"))}},
      picks("round_to_storage", {"double"}),
      after({with("flash1")}, picks("carry", {"fp32"})),
      {"block_mask",
       {with("block_sparse2"), open_list(), type("random:0.3"), refused(type("checkers")),
        refused(in("seq_len", type("100000000"))), refused(in("Br", type("5000")))}},
      after({with("block_sparse")}, picks("skip_unused_kv", {"true"})),
      after({with("split_kv")}, texts("splits", "4", {"5000"})),
      after({with("split_kv")}, picks("separate_heads", {"true"})),
      {"fusion",
       {with("standard"), open_list(), pick("separate"), pick("rows"), in("softcap", type("30")),
        refused(pick("pairs"))}},
      after({with("standard"), in("pass", pick("both"))}, picks("checkpoint", {"true"})),
      after({with("flash1")}, picks("skip_first_reads", {"true"})),
      after({with("flash1"), in("pass", pick("backward"))}, picks("d_once", {"true"})),
      picks("race", {"flash1"}),
      after({in("race", pick("flash1"))}, picks("race_clock", {"tiles"})),
  };
}

std::vector<FieldScript> view_scripts() {
  return {
      {"memory tabs", {press("memory.tab.WARPS"), press("memory.tab.MEMORY")}},
      {"softmax tabs",
       {press("online_softmax.tab.WHY ONLINE"), press("online_softmax.tab.ONLINE SOFTMAX")}},
      {"explain tabs", {press("explain.tab.CUDA source"), press("explain.tab.pseudo-code")}},
      {"ledger tabs", {press("ledger.tab.whole pass"), press("ledger.tab.so far")}},
      {"timeline tabs", {press("timeline.tab.SMs"), press("timeline.tab.operations")}},
      {"chart tabs",
       {press("charts.tab.theorems"), press("charts.tab.density"), press("charts.tab.fusion"),
        press("charts.tab.models"), press("charts.tab.sizes")}},
      {"large chart",
       {look(&ViewState::enlarged, std::optional(Slot::charts)),
        look(&ViewState::enlarged, std::optional<Slot>())}},
      {"theme",
       {look(&ViewState::theme, ThemeName::light), look(&ViewState::theme, ThemeName::contrast),
        look(&ViewState::theme, ThemeName::dark)}},
      {"presenter mode", {look(&ViewState::presenter, true), look(&ViewState::presenter, false)}},
      {"keys", {look(&ViewState::show_keys, true), look(&ViewState::show_keys, false)}},
  };
}

}  // namespace

std::vector<FieldScript> field_scripts(const InputPaths& files) {
  std::vector<FieldScript> all = top_bar_scripts();
  for (auto&& part : {problem_scripts(files), schedule_scripts(), view_scripts()}) {
    std::ranges::copy(part, std::back_inserter(all));
  }
  for (FieldScript& script : all) {
    for (FieldAction& action : script.actions) {
      if (action.place.empty()) action.place = script.field;
    }
  }
  return all;
}

}  // namespace attnscope::app
