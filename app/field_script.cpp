#include "app/field_script.h"

#include <utility>

namespace attnscope::app {

namespace {

using Kind = FieldAction::Kind;

FieldAction type(std::string field, std::string text) {
  return {Kind::type, std::move(field), std::move(text), false, false};
}
FieldAction pick(std::string field, std::string option) {
  return {Kind::pick, std::move(field), std::move(option), false, false};
}
FieldAction open_list(std::string field) {
  return {Kind::open, std::move(field), "", false, false};
}
FieldAction press(std::string widget) {
  return {Kind::press, std::move(widget), "", false, false};
}
FieldAction look(std::string name, std::string value) {
  return {Kind::look, std::move(name), std::move(value), false, false};
}
FieldAction refused(FieldAction action) {
  action.refused = true;
  return action;
}
/// The same, left standing.
FieldAction standing(FieldAction action) {
  action = refused(std::move(action));
  action.stays = true;
  return action;
}

/// A field with a list alone: a text, something valid and something that is refused.
FieldScript text_script(const std::string& field, const std::string& valid,
                        const std::string& invalid) {
  return {field, {open_list(field), type(field, valid), refused(type(field, invalid))}};
}

std::vector<FieldScript> top_bar_scripts() {
  return {
      {"scene", {open_list("scene"), pick("scene", "default")}},
      {"algorithm",
       {open_list("algorithm"), pick("algorithm", "standard"), pick("algorithm", "flash1"),
        pick("algorithm", "block_sparse"), pick("algorithm", "block_sparse2"),
        pick("algorithm", "split_kv"), pick("algorithm", "flash2"), pick("pass", "backward"),
        refused(pick("algorithm", "split_kv"))}},
      {"pass",
       {open_list("pass"), pick("pass", "backward"), pick("pass", "both"), pick("pass", "forward"),
        pick("algorithm", "split_kv"), refused(pick("pass", "backward"))}},
      {"seq_len",
       {open_list("seq_len"), type("seq_len", "512"), refused(type("seq_len", "0")),
        refused(type("seq_len", "100000000")), refused(type("seq_len", "99999999999999999999"))}},
      {"head_dim",
       {open_list("head_dim"), type("head_dim", "32"), refused(type("head_dim", "0")),
        refused(type("head_dim", "4000")), refused(type("head_dim", "99999"))}},
      {"Br",
       {open_list("Br"), type("Br", "32"), refused(type("Br", "0")), refused(type("Br", "5000")),
        refused(type("Br", "999999999"))}},
      {"Bc",
       {open_list("Bc"), type("Bc", "32"), refused(type("Bc", "0")), refused(type("Bc", "5000")),
        refused(type("Bc", "999999999"))}},
      {"mask",
       {open_list("mask"), pick("mask", "causal"), type("mask", "window:100,20"),
        refused(type("mask", "casual"))}},
      {"dtype",
       {open_list("dtype"), pick("dtype", "bf16"), pick("dtype", "fp32"), pick("dtype", "fp16"),
        pick("tiling_rule", "largest"), refused(pick("dtype", "fp32"))}},
      {"gpu",
       {open_list("gpu"), pick("gpu", "a100-80gb"), pick("gpu", "t4"), pick("gpu", "h200"),
        pick("tiling_rule", "largest"), refused(pick("gpu", "t4"))}},
  };
}

std::vector<FieldScript> problem_scripts() {
  return {
      text_script("kv_len", "512", "0"),
      text_script("batch", "2", "0"),
      {"heads",
       {open_list("heads"), type("heads", "4"), refused(type("heads", "0")), type("kv_heads", "2"),
        refused(type("heads", "3")), refused(type("heads", "99999999")),
        standing(type("Br", "5000")), refused(type("heads", "8"))}},
      {"kv_heads",
       {type("heads", "4"), open_list("kv_heads"), type("kv_heads", "2"),
        refused(type("kv_heads", "3")), refused(type("kv_heads", "50000")),
        standing(type("Br", "5000")), refused(type("kv_heads", "4"))}},
      {"key_lengths",
       {open_list("key_lengths"), type("key_lengths", "512"), refused(type("key_lengths", "5000")),
        refused(type("key_lengths", "many"))}},
      {"cu_seqlens_q",
       {open_list("cu_seqlens_q"), type("cu_seqlens_q", "0,400,1024"),
        refused(type("cu_seqlens_q", "0,400,300")), refused(type("cu_seqlens_q", "two"))}},
      {"cu_seqlens_k",
       {type("cu_seqlens_q", "0,400,1024"), open_list("cu_seqlens_k"),
        type("cu_seqlens_k", "0,500,1024"), refused(type("cu_seqlens_k", "0,9"))}},
      text_script("softcap", "30", "-1"),
      {"alibi",
       {open_list("alibi"), pick("alibi", "standard"), pick("alibi", "off"),
        pick("algorithm", "standard"), pick("fusion", "pairs"),
        refused(pick("alibi", "standard"))}},
      text_script("dropout", "0.1", "1"),
      {"dropout_seed",
       {type("dropout", "0.1"), open_list("dropout_seed"), type("dropout_seed", "3"),
        refused(type("dropout_seed", "lucky"))}},
  };
}

std::vector<FieldScript> input_scripts(const InputPaths& files) {
  return {
      {"inputs", {open_list("inputs"), pick("inputs", "outlier"), pick("inputs", "needle")}},
      text_script("seed", "5", "lucky"),
      {"q",
       {open_list("q"), type("q", files.Q), refused(type("heads", "5000")),
        refused(type("q", "none.npy"))}},
      text_script("k", files.K, "none.npy"),
      text_script("v", files.V, "none.npy"),
      {"do",
       {pick("pass", "backward"), open_list("do"), type("do", files.dO),
        refused(type("do", "none.npy"))}},
  };
}

std::vector<FieldScript> schedule_scripts() {
  return {
      {"tiling_rule",
       {open_list("tiling_rule"), pick("tiling_rule", "paper"), pick("tiling_rule", "largest"),
        pick("tiling_rule", "kernel")}},
      {"sram_bytes",
       {open_list("sram_bytes"), type("sram_bytes", "100000"), refused(type("sram_bytes", "16")),
        refused(type("sram_bytes", "much"))}},
      {"l2_bytes",
       {open_list("l2_bytes"), type("l2_bytes", "1000000"), refused(type("l2_bytes", "much"))}},
      {"allow_overflow",
       {open_list("allow_overflow"), pick("allow_overflow", "true"), type("Br", "2048"),
        refused(pick("allow_overflow", "refused"))}},
      {"round_to_storage", {open_list("round_to_storage"), pick("round_to_storage", "double")}},
      {"carry", {pick("algorithm", "flash1"), open_list("carry"), pick("carry", "fp32")}},
      {"block_mask",
       {pick("algorithm", "block_sparse2"), open_list("block_mask"),
        type("block_mask", "random:0.3"), refused(type("block_mask", "checkers")),
        refused(type("seq_len", "100000000")), refused(type("Br", "5000"))}},
      {"skip_unused_kv",
       {pick("algorithm", "block_sparse"), open_list("skip_unused_kv"),
        pick("skip_unused_kv", "true")}},
      {"splits",
       {pick("algorithm", "split_kv"), open_list("splits"), type("splits", "4"),
        refused(type("splits", "5000"))}},
      {"separate_heads",
       {pick("algorithm", "split_kv"), open_list("separate_heads"),
        pick("separate_heads", "true")}},
      {"fusion",
       {pick("algorithm", "standard"), open_list("fusion"), pick("fusion", "separate"),
        pick("fusion", "rows"), type("softcap", "30"), refused(pick("fusion", "pairs"))}},
      {"checkpoint",
       {pick("algorithm", "standard"), pick("pass", "both"), open_list("checkpoint"),
        pick("checkpoint", "true")}},
      {"skip_first_reads",
       {pick("algorithm", "flash1"), open_list("skip_first_reads"),
        pick("skip_first_reads", "true")}},
      {"d_once",
       {pick("algorithm", "flash1"), pick("pass", "backward"), open_list("d_once"),
        pick("d_once", "true")}},
      {"race", {open_list("race"), pick("race", "flash1")}},
      {"race_clock",
       {pick("race", "flash1"), open_list("race_clock"), pick("race_clock", "tiles")}},
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
      {"large chart", {look("large_chart", "on"), look("large_chart", "off")}},
      {"theme", {look("theme", "light"), look("theme", "contrast"), look("theme", "dark")}},
      {"presenter mode", {look("presenter", "on"), look("presenter", "off")}},
      {"keys", {look("keys", "on"), look("keys", "off")}},
  };
}

}  // namespace

std::vector<FieldScript> field_scripts(const InputPaths& files) {
  std::vector<FieldScript> all = top_bar_scripts();
  for (auto&& part :
       {problem_scripts(), input_scripts(files), schedule_scripts(), view_scripts()}) {
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

}  // namespace attnscope::app
