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
      {"N",
       {open_list("N"), type("N", "512"), refused(type("N", "0")), refused(type("N", "100000000")),
        refused(type("N", "99999999999999999999"))}},
      {"d",
       {open_list("d"), type("d", "32"), refused(type("d", "0")), refused(type("d", "4000")),
        refused(type("d", "99999"))}},
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
      text_script("N_kv", "512", "0"),
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
      {"sequences",
       {open_list("sequences"), type("sequences", "0,400,1024"),
        refused(type("sequences", "0,400,300")), refused(type("sequences", "two"))}},
      {"key_sequences",
       {type("sequences", "0,400,1024"), open_list("key_sequences"),
        type("key_sequences", "0,500,1024"), refused(type("key_sequences", "0,9"))}},
      text_script("softcap", "30", "-1"),
      {"alibi",
       {open_list("alibi"), pick("alibi", "slopes"), pick("alibi", "off"),
        pick("algorithm", "standard"), pick("fusion", "pairs"), refused(pick("alibi", "slopes"))}},
      text_script("dropout", "0.1", "1"),
      {"dropout_seed",
       {type("dropout", "0.1"), open_list("dropout_seed"), type("dropout_seed", "3"),
        refused(type("dropout_seed", "lucky"))}},
  };
}

std::vector<FieldScript> input_scripts(const InputFiles& files) {
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
      {"sram",
       {open_list("sram"), type("sram", "100000"), refused(type("sram", "16")),
        refused(type("sram", "much"))}},
      {"l2", {open_list("l2"), type("l2", "1000000"), refused(type("l2", "much"))}},
      {"overflow",
       {open_list("overflow"), pick("overflow", "counted"), type("Br", "2048"),
        refused(pick("overflow", "refused"))}},
      {"rounding", {open_list("rounding"), pick("rounding", "double")}},
      {"carry", {pick("algorithm", "flash1"), open_list("carry"), pick("carry", "fp32")}},
      {"block_mask",
       {pick("algorithm", "block_sparse2"), open_list("block_mask"),
        type("block_mask", "random:0.3"), refused(type("block_mask", "checkers")),
        refused(type("N", "100000000")), refused(type("Br", "5000"))}},
      {"unused_kv",
       {pick("algorithm", "block_sparse"), open_list("unused_kv"), pick("unused_kv", "skipped")}},
      {"splits",
       {pick("algorithm", "split_kv"), open_list("splits"), type("splits", "4"),
        refused(type("splits", "5000"))}},
      {"group",
       {pick("algorithm", "split_kv"), open_list("group"), pick("group", "separate heads")}},
      {"fusion",
       {pick("algorithm", "standard"), open_list("fusion"), pick("fusion", "separate"),
        pick("fusion", "rows"), type("softcap", "30"), refused(pick("fusion", "pairs"))}},
      {"checkpoint",
       {pick("algorithm", "standard"), pick("pass", "both"), open_list("checkpoint"),
        pick("checkpoint", "recomputed")}},
      {"first_reads",
       {pick("algorithm", "flash1"), open_list("first_reads"), pick("first_reads", "on chip")}},
      {"d_once",
       {pick("algorithm", "flash1"), pick("pass", "backward"), open_list("d_once"),
        pick("d_once", "once")}},
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

std::vector<FieldScript> field_scripts(const InputFiles& files) {
  std::vector<FieldScript> all = top_bar_scripts();
  for (auto&& part :
       {problem_scripts(), input_scripts(files), schedule_scripts(), view_scripts()}) {
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

}  // namespace attnscope::app
