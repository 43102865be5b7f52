/// The rows of the table of fields.
#include "reference/run_fields.h"
#include "reference/field_access.h"

namespace attnscope {

namespace {

using field_access::at;
using field_access::at_parsed;
template <auto member>
constexpr FieldAccess at_dropout =
    at<&RunSpec::problem, &AttentionProblem::score, &ScoreFunction::dropout, member>;

constexpr FieldValue kDTypes[] = {{"fp16", "", ""}, {"bf16", "", ""}, {"fp32", "", ""}};
constexpr FieldValue kPasses[] = {{"forward", "", ""},
                                  {"backward", "", ""},
                                  {"both", "", "the forward pass, then the backward pass"}};
constexpr FieldValue kRules[] = {
    {"paper", "", "Bc = ceil(M / 4d), Br = min(Bc, d), for an SRAM of M elements"},
    {"largest", "", "the largest square tiles that fit on the chip"},
    {"kernel", "", "the default tiles of the GPU kernel"}};
constexpr FieldValue kCarries[] = {
    {"problem", "the problem's",
     "O (backward: dQ) is rounded to the problem's type after every column tile: AttnScope's "
     "choice, which moves the bytes that the paper counts"},
    {"fp32", "",
     "O (backward: dQ) is kept in fp32 between column tiles, as in the 2022 implementation"}};
constexpr FieldValue kFusions[] = {
    {"separate", "", "every elementwise operation is a separate launch, forward and backward"},
    {"figure2", "",
     "one accounting that yields the 40.3 GB of the paper's Figure 2, which does not say how it "
     "counts: scale in the products, mask and dropout separate"},
    {"pairs", "", "two operations per launch: scale and mask, softmax and dropout"},
    {"rows", "", "scale, mask, softmax and dropout in one launch over whole rows"}};
constexpr FieldValue kInputKinds[] = {
    {"gaussian", "", ""}, {"outlier", "", ""}, {"needle", "", ""}};
constexpr FieldValue kPartitions[] = {{"split-q", "", "each warp has its own query rows"},
                                      {"sliced-k", "", "each warp has its own keys"}};
constexpr FieldValue kAlibi[] = {
    {"", "off", ""},
    {"standard", "slopes", "S - slope · distance; slope 2^(-8 (h + 1) / H) for head h"}};
constexpr FieldValue kCheckpoints[] = {
    {"", "kept", "the backward pass reads the P that the forward pass stored"},
    {"true", "recomputed", "only Q, K and V are kept: the backward pass repeats the forward pass"}};
constexpr FieldValue kFirstReads[] = {
    {"", "loaded", "as printed in the paper: the first visit reads O, m, l and dQ too"},
    {"true", "on chip", "O, m, l and dQ start on chip: their first reads are skipped"}};
constexpr FieldValue kDs[] = {
    {"", "in the loop", "D = rowsum(dO o O) for every column tile, as in the paper"},
    {"true", "once", "D = rowsum(dO o O) in a separate launch"}};
constexpr FieldValue kUnusedKv[] = {
    {"", "loaded", "as printed in the paper: the loads are outside the guard"},
    {"true", "skipped", "K and V of column tiles that no row tile computes are not loaded"}};
constexpr FieldValue kHidden[] = {
    {"", "skipped", "tiles in which the mask leaves no key are neither loaded nor computed"},
    {"true", "visited",
     "every tile up to the last key that is not padding is loaded and computed, as if no tile were "
     "hidden"}};
constexpr FieldValue kGroups[] = {
    {"", "one tile",
     "query heads that read the same K and V form the rows of one tile, if the scores allow it: "
     "K and V are read once for all of them"},
    {"true", "separate heads", "a thread block for each query head, as in the GPU kernel"}};
constexpr FieldValue kRoundings[] = {
    {"", "double", "the inputs are in the problem's type, everything else in double precision"},
    {"true", "rounded",
     "rounded to the problem's type where a kernel rounds: stores and operands of matrix "
     "products"}};
constexpr FieldValue kAccumulators[] = {
    {"", "double", "results on chip are kept in double precision"},
    {"true", "fp32", "every result on chip is rounded to fp32, so that it can overflow"}};
constexpr FieldValue kStaleMemory[] = {
    {"", "invalid", "a slot on chip whose tile was not loaded holds NaN"},
    {"true", "the previous tile", "a slot keeps the last tile loaded into it, as on a GPU"}};
constexpr FieldValue kOverflows[] = {
    {"", "rejected", "tiles that do not fit on the chip are rejected"},
    {"true", "counted", "tiles that do not fit on the chip are counted; no kernel could run them"}};

constexpr Index kMostMemoryBytes = Index{1} << 40;
constexpr Index kMostSms = 1024;
constexpr std::string_view kMultiple = "a number from 0.05 to 20";
constexpr FieldValue kOrders[] = {
    {"", "any order", "atomic adds, in an order that varies from run to run"},
    {"true", "fixed order", "bit-identical on every run"}};

constexpr FieldScope kTrained = {
    [](const Algorithm& a) { return a.has_backward; },
    "all algorithms but split_kv, which is for decoding and has no backward pass"};
constexpr FieldScope kCarriers = {[](const Algorithm& a) { return a.carries_output; },
                                  "flash1 and block_sparse, which keep O in HBM between passes"};
constexpr FieldScope kSparse = {
    [](const Algorithm& a) { return a.takes_block_mask; },
    "block_sparse and block_sparse2; the others compute every tile that the mask leaves visible"};
constexpr FieldScope kSplitting = {[](const Algorithm& a) { return a.splits_keys; },
                                   "split_kv; the others do not split the keys"};
constexpr FieldScope kWithWarps = {
    [](const Algorithm& a) { return a.warps.has_value(); },
    "the flash algorithms; no paper says how the warps of standard attention share a tile"};
constexpr FieldScope kKeepers = {
    [](const Algorithm& a) { return a.softmax == SoftmaxForm::whole_rows; },
    "standard, which keeps S and P in HBM"};
constexpr FieldScope kLoadingKvInside = {
    [](const Algorithm& a) { return a.softmax == SoftmaxForm::divided_once; },
    "flash2, block_sparse2 and split_kv, whose inner loop loads K and V"};
constexpr FieldScope kWithAgents = {
    [](const Algorithm& a) { return a.softmax == SoftmaxForm::divided_once && !a.splits_keys; },
    "flash2 and block_sparse2, whose kernels have groups of warps that load or compute"};
constexpr FieldScope kSkippingHidden = {[](const Algorithm& a) {
                                          return a.softmax == SoftmaxForm::divided_once &&
                                                 !a.takes_block_mask && !a.splits_keys;
                                        },
                                        "flash2"};
constexpr FieldScope kFlash1 = {[](const Algorithm& a) { return a.sets_tiling_from_sram; },
                                "flash1, whose O and dQ travel through HBM"};

// clang-format off
const RunField kFields[] = {
    {.key = "algorithm", .json_key = "algorithm", .option = "algorithm", .value_name = "NAME",
     .label = "Algorithm", .help = "see attnscope-cli list algorithms",
     .accepted = "the name of an algorithm", .always_stored = true,
     .access = at<&RunSpec::algorithm>},
    {.key = "pass", .json_key = "pass", .option = "pass", .value_name = "PASS", .label = "Pass",
     .help = "forward, backward or both", .kind = FieldKind::name, .always_stored = true,
     .values = kPasses, .access = at<&RunSpec::pass>, .scope = kTrained},
    {.key = "batch", .json = "problem", .json_key = "batch", .option = "batch", .value_name = "B",
     .label = "batch", .help = "batch size", .kind = FieldKind::whole, .always_stored = true,
     .min = 1, .max = kMaxHeads, .access = at<&RunSpec::problem, &AttentionProblem::batch>},
    {.key = "heads", .json = "problem", .json_key = "heads", .option = "heads", .value_name = "H",
     .label = "heads", .help = "query heads", .kind = FieldKind::whole, .always_stored = true,
     .min = 1, .max = kMaxHeads, .access = at<&RunSpec::problem, &AttentionProblem::heads>},
    {.key = "kv_heads", .json = "problem", .json_key = "kv_heads", .option = "kv-heads",
     .value_name = "H_KV", .label = "KV heads",
     .help = "key and value heads; must divide the query heads",
     .by_rule = "heads", .kind = FieldKind::whole, .always_stored = true, .min = 1,
     .max = kMaxHeads, .access = at<&RunSpec::problem, &AttentionProblem::kv_heads>},
    {.key = "seq_len", .json = "problem", .json_key = "seq_len", .option = "seq-len",
     .value_name = "N", .label = "N", .help = "queries per head", .kind = FieldKind::whole,
     .always_stored = true, .min = 1, .max = kMaxSequenceLength,
     .access = at<&RunSpec::problem, &AttentionProblem::N>},
    {.key = "kv_len", .json = "problem", .json_key = "kv_len", .option = "kv-len",
     .value_name = "N_KV", .label = "keys, N_kv", .help = "keys per head", .by_rule = "seq-len",
     .kind = FieldKind::whole, .always_stored = true, .min = 1, .max = kMaxSequenceLength,
     .access = at<&RunSpec::problem, &AttentionProblem::N_kv>},
    {.key = "head_dim", .json = "problem", .json_key = "head_dim", .option = "head-dim",
     .value_name = "D", .label = "d", .help = "head dimension", .kind = FieldKind::whole,
     .always_stored = true, .min = 1, .max = kMaxHeadDim,
     .access = at<&RunSpec::problem, &AttentionProblem::d>},
    {.key = "dtype", .json = "problem", .json_key = "dtype", .option = "dtype",
     .value_name = "TYPE", .label = "Type", .help = "fp32, fp16 or bf16", .kind = FieldKind::name,
     .always_stored = true, .values = kDTypes,
     .access = at<&RunSpec::problem, &AttentionProblem::dtype>},
    {.key = "mask", .json = "problem", .json_key = "mask", .option = "mask", .value_name = "MASK",
     .label = "Mask", .help = "none, causal, causal:top-left, window:KEYS or window:LEFT,RIGHT",
     .accepted = "none, causal, causal:top-left, window:KEYS (at least 1) or window:LEFT,RIGHT "
         "(-1 = unlimited)", .always_stored = true,
     .access = at_parsed<parse_mask, &RunSpec::problem, &AttentionProblem::mask>},
    {.key = "alibi", .json = "problem", .json_key = "alibi", .option = "alibi", .label = "ALiBi",
     .help = "ALiBi with slopes 2^(-8 (h + 1) / H)",
     .accepted = "standard, or a slope for each query head", .by_rule = "off",
     .kind = FieldKind::slopes, .values = kAlibi,
     .access = {field_access::print_slopes, field_access::parse_slopes}},
    {.key = "softcap", .json = "problem", .json_key = "softcap", .option = "softcap",
     .value_name = "CAP", .label = "soft-capping",
     .help = "S = CAP tanh(S / CAP), CAP > 0",
     .accepted = "a number above 0, for example 30", .by_rule = "off", .kind = FieldKind::decimal,
     .access = at<&RunSpec::problem, &AttentionProblem::score, &ScoreFunction::soft_cap>},
    {.key = "dropout", .json = "problem/dropout", .json_key = "probability", .option = "dropout",
     .value_name = "P", .label = "dropout",
     .help = "drop elements of P with this probability, 0 <= P < 1",
     .accepted = "a number from 0 to below 1", .kind = FieldKind::decimal, .always_stored = true,
     .access = at_dropout<&Dropout::probability>},
    {.key = "dropout_seed", .json = "problem/dropout", .json_key = "seed", .option = "dropout-seed",
     .value_name = "SEED", .label = "dropout seed", .help = "whole number that seeds dropout",
     .kind = FieldKind::seed, .always_stored = true,
     .access = at_dropout<&Dropout::seed>},
    {.key = "dropout_first_batch", .json = "problem/dropout", .json_key = "first_batch",
     .help = "this problem's first batch entry within a larger problem",
     .kind = FieldKind::whole, .always_stored = true, .min = 0, .max = kMaxHeads,
     .access = at_dropout<&Dropout::first_batch>},
    {.key = "dropout_first_head", .json = "problem/dropout", .json_key = "first_head",
     .help = "the same for its first query head", .kind = FieldKind::whole, .always_stored = true,
     .min = 0, .max = kMaxHeads,
     .access = at_dropout<&Dropout::first_head>},
    {.key = "key_lengths", .json = "problem", .json_key = "key_lengths", .option = "key-lengths",
     .value_name = "L1,L2,...", .label = "valid keys",
     .help = "valid keys of each batch entry; the rest is padding",
     .accepted = "whole numbers, separated by commas", .by_rule = "kv-len",
     .kind = FieldKind::list, .access = at<&RunSpec::problem, &AttentionProblem::key_lengths>},
    {.key = "cu_seqlens_q", .json = "problem", .json_key = "cu_seqlens_q", .option = "cu-seqlens-q",
     .value_name = "0,...,N", .label = "sequences",
     .help = "packed sequences: the first query of each, then N",
     .accepted = "whole numbers, separated by commas", .by_rule = "one sequence",
     .kind = FieldKind::list, .access = at<&RunSpec::problem, &AttentionProblem::cu_seqlens_q>},
    {.key = "cu_seqlens_k", .json = "problem", .json_key = "cu_seqlens_k", .option = "cu-seqlens-k",
     .value_name = "0,...,N_KV", .label = "their keys",
     .help = "packed sequences: the first key of each, then N_kv",
     .accepted = "whole numbers, separated by commas", .by_rule = "one sequence",
     .kind = FieldKind::list, .access = at<&RunSpec::problem, &AttentionProblem::cu_seqlens_k>},
    {.key = "Br", .json = "tiling", .json_key = "Br", .option = "block-rows", .value_name = "BR",
     .label = "Br", .help = "rows per tile; standard: BM of its products",
     .by_rule = "default tiling", .kind = FieldKind::whole, .min = 1, .max = kMaxSequenceLength,
     .access = at<&RunSpec::Br>},
    {.key = "Bc", .json = "tiling", .json_key = "Bc", .option = "block-cols", .value_name = "BC",
     .label = "Bc", .help = "columns per tile; standard: BN", .by_rule = "default tiling",
     .kind = FieldKind::whole, .min = 1, .max = kMaxSequenceLength, .access = at<&RunSpec::Bc>},
    {.key = "tiling_rule", .option = "tiling", .value_name = "RULE", .label = "tiles by rule",
     .help =
         "paper: Bc = ceil(M/4d), Br = min(Bc, d); largest: the largest that fit; kernel: the GPU "
         "kernel's default", .by_rule = "flash1: paper if it fits, else largest",
     .kind = FieldKind::name, .target = FieldTarget::model, .values = kRules,
     .access = at<&RunSpec::tiling_rule>},
    {.key = "carry", .json_key = "carry", .option = "carry", .value_name = "CARRY",
     .label = "precision of O",
     .help = "problem or fp32: precision of flash1's and block_sparse's O in HBM between passes",
     .kind = FieldKind::name, .always_stored = true, .values = kCarries,
     .access = at<&RunSpec::variant, &ScheduleVariant::carry>, .scope = kCarriers},
    {.key = "block_mask", .json_key = "block_mask", .option = "block-mask", .value_name = "MASK",
     .label = "block mask",
     .help = "block-sparse attention: butterfly, local-global:W,G, random:DENSITY[,SEED], "
         "uniform:DENSITY[,SEED] or FILE.npy [Tr, Tc]",
     .accepted = "butterfly, local-global:W,G, random:DENSITY[,SEED], uniform:DENSITY[,SEED] (W, "
         "G, SEED whole numbers, 0 < DENSITY <= 1) or a file FILE.npy", .by_rule = "all tiles",
     .file = FieldFile::npy_or_pattern,
     .access = {field_access::print<&RunSpec::block_mask>, field_access::parse_pattern},
     .scope = kSparse},
    {.key = "skip_unused_kv", .json_key = "skip_unused_kv", .option = "skip-unused-kv",
     .label = "unused K, V",
     .help = "block_sparse, block_sparse2: do not load K and V of unused column tiles",
     .kind = FieldKind::flag, .target = FieldTarget::model, .values = kUnusedKv,
     .access = at<&RunSpec::variant, &ScheduleVariant::skip_unused_kv>, .scope = kSparse},
    {.key = "splits", .json_key = "splits", .option = "splits", .value_name = "COUNT",
     .label = "splits", .help = "split_kv: number of parts into which the keys are split",
     .by_rule = "enough to fill the SMs", .kind = FieldKind::whole, .target = FieldTarget::model,
     .min = 1, .max = kMaxSequenceLength, .access = at<&RunSpec::splits>, .scope = kSplitting},
    {.key = "separate_heads", .json_key = "separate_heads", .option = "separate-heads",
     .label = "group of heads",
     .help = "split_kv: a thread block for each query head, not for its group",
     .kind = FieldKind::flag, .target = FieldTarget::model, .values = kGroups,
     .access = at<&RunSpec::separate_heads>, .scope = kSplitting},
    {.key = "warps", .json_key = "warps", .option = "warps", .value_name = "COUNT",
     .label = "warps", .help = "warps per thread block, up to 32", .by_rule = "4",
     .kind = FieldKind::whole, .target = FieldTarget::model, .min = 1, .max = kMaxWarps,
     .access = at<&RunSpec::warps>, .scope = kWithWarps},
    {.key = "warp_partition", .json_key = "warp_partition", .option = "warp-partition",
     .value_name = "KIND", .label = "warps share", .help = "split-q or sliced-k",
     .by_rule = "as in the algorithm's paper", .kind = FieldKind::name,
     .target = FieldTarget::model, .values = kPartitions, .access = at<&RunSpec::warp_partition>,
     .scope = kWithWarps},
    {.key = "fusion", .json = "variant", .json_key = "fusion", .option = "fusion",
     .value_name = "LEVEL", .label = "fusion",
     .help = "standard: separate, figure2, pairs or rows; how much a launch fuses",
     .kind = FieldKind::name, .target = FieldTarget::model, .values = kFusions,
     .access = at<&RunSpec::variant, &ScheduleVariant::fusion>, .scope = kKeepers},
    {.key = "checkpoint", .json = "variant", .json_key = "checkpoint", .option = "checkpoint",
     .label = "P for backward",
     .help = "standard: keep only Q, K and V; the backward pass repeats the forward pass",
     .kind = FieldKind::flag, .target = FieldTarget::model, .values = kCheckpoints,
     .access = at<&RunSpec::variant, &ScheduleVariant::checkpoint>, .scope = kKeepers},
    {.key = "skip_first_reads", .json = "variant", .json_key = "skip_first_reads",
     .option = "skip-first-reads", .label = "O, m, l start",
     .help = "flash1: O, m, l and dQ start on chip, without a first read", .kind = FieldKind::flag,
     .target = FieldTarget::model, .values = kFirstReads,
     .access = at<&RunSpec::variant, &ScheduleVariant::skip_first_reads>, .scope = kFlash1},
    {.key = "d_once", .json = "variant", .json_key = "d_once", .option = "d-once", .label = "D",
     .help = "flash1: D = rowsum(dO * O) in a separate launch", .kind = FieldKind::flag,
     .target = FieldTarget::model, .values = kDs,
     .access = at<&RunSpec::variant, &ScheduleVariant::d_once>, .scope = kFlash1},
    {.key = "stages", .json = "variant", .json_key = "stages", .option = "stages",
     .value_name = "COUNT", .label = "stages of K, V",
     .help = "buffers of K and V (backward, with consumers: of Q and dO) in shared memory; with 2, "
         "the next tile is loaded early",
     .kind = FieldKind::whole, .target = FieldTarget::model, .min = 1, .max = kMaxStages,
     .access = at<&RunSpec::variant, &ScheduleVariant::stages>, .scope = kLoadingKvInside},
    {.key = "consumers", .json = "variant", .json_key = "consumers", .option = "consumers",
     .value_name = "COUNT", .label = "consumers",
     .help = "flash2, block_sparse2: warp groups that compute, with a producer that loads, as in "
         "the Hopper kernel; 0: every warp does both; must divide Br (backward: Bc)",
     .kind = FieldKind::whole, .target = FieldTarget::model, .min = 0, .max = kMaxConsumers,
     .access = at<&RunSpec::variant, &ScheduleVariant::consumers>, .scope = kWithAgents},
    {.key = "visit_hidden", .json_key = "visit_hidden", .option = "visit-hidden",
     .label = "hidden tiles", .help = "flash2: visit the tiles that the mask hides, too",
     .kind = FieldKind::flag, .values = kHidden,
     .access = at<&RunSpec::variant, &ScheduleVariant::visit_hidden>, .scope = kSkippingHidden},
    {.key = "deterministic", .json_key = "deterministic", .option = "deterministic", .label = "dQ",
     .help = "backward: sum dQ in a fixed order", .kind = FieldKind::flag,
     .target = FieldTarget::kernel, .values = kOrders, .access = at<&RunSpec::deterministic>,
     .scope = kTrained},
    {.key = "kernel", .json_key = "kernel", .option = "kernel", .value_name = "NAME",
     .label = "Kernel", .help = "see attnscope-cli list kernels",
     .accepted = "the name of a kernel", .by_rule = "the algorithm's",
     .target = FieldTarget::kernel,
     .access = {field_access::print_kernel, field_access::parse<&RunSpec::kernel>}},
    {.key = "switches", .json_key = "switches", .option = "knob", .value_name = "NAME=VALUE",
     .label = "Switches", .help = "optimisations to change; see attnscope-cli knobs",
     .accepted = "NAME=VALUE, each name once; several are separated by commas",
     .by_rule = "the kernel's",
     .target = FieldTarget::kernel, .repeatable = true,
     .access = {field_access::print_switches, field_access::parse_switches}},
    {.key = "round_to_storage", .json_key = "round_to_storage", .option = "round-to-storage",
     .label = "values", .help = "round values where a kernel rounds them", .kind = FieldKind::flag,
     .target = FieldTarget::model, .values = kRoundings, .access = at<&RunSpec::round_to_storage>},
    {.key = "fp32_accumulators", .json_key = "fp32_accumulators", .option = "fp32-accumulators",
     .label = "accumulators", .help = "round every result on chip to fp32",
     .kind = FieldKind::flag, .target = FieldTarget::model, .values = kAccumulators,
     .access = at<&RunSpec::fp32_accumulators>},
    {.key = "break", .json = "variant", .json_key = "break", .option = "break", .value_name = "BREAK",
     .label = "break",
     .help = "drop an operation, or set a row statistic to 0 or 1; see attnscope-cli break",
     .accepted = "drop:LAUNCH:LINE, drop:LAUNCH:KIND:TENSOR (KIND and TENSOR as attnscope-cli "
         "break lists them) or TENSOR=0 or TENSOR=1, for example D=0",
     .by_rule = "nothing", .target = FieldTarget::model,
     .access = at_parsed<parse_run_break, &RunSpec::variant, &ScheduleVariant::broken>},
    {.key = "stale_memory", .json_key = "stale_memory", .option = "stale-memory",
     .label = "unloaded memory",
     .help = "on-chip memory that was not loaded holds the previous tile, not NaN",
     .kind = FieldKind::flag, .target = FieldTarget::model, .values = kStaleMemory,
     .access = at<&RunSpec::stale_memory>},
    {.key = "allow_overflow", .json_key = "allow_overflow", .option = "allow-overflow",
     .label = "overflow", .help = "count a tiling that does not fit on the chip",
     .kind = FieldKind::flag, .target = FieldTarget::model, .values = kOverflows,
     .access = at<&RunSpec::allow_overflow>},
    {.key = "gpu", .json_key = "gpu", .option = "gpu", .value_name = "NAME|FILE", .label = "GPU",
     .help = "the modelled GPU; see attnscope-cli list gpus",
     .accepted = "the name of a GPU, or a file that describes one", .target = FieldTarget::model,
     .file = FieldFile::gpu, .always_stored = true, .access = at<&RunSpec::gpu>},
    {.key = "sram_bytes", .json_key = "sram_bytes", .option = "sram-bytes", .value_name = "BYTES",
     .label = "SRAM, bytes", .help = "shared memory per thread block, in bytes",
     .by_rule = "the GPU's", .kind = FieldKind::whole, .target = FieldTarget::model, .min = 1,
     .max = kMostMemoryBytes, .access = at<&RunSpec::what_if, &WhatIf::sram_bytes>},
    {.key = "l2_bytes", .json_key = "l2_bytes", .option = "l2-bytes", .value_name = "BYTES",
     .label = "L2, bytes", .help = "L2 cache, in bytes", .by_rule = "the GPU's",
     .kind = FieldKind::whole, .target = FieldTarget::model, .min = 1, .max = kMostMemoryBytes,
     .access = at<&RunSpec::what_if, &WhatIf::l2_bytes>},
    {.key = "sm_count", .json_key = "sm_count", .option = "sms", .value_name = "COUNT",
     .label = "SMs", .help = "streaming multiprocessors", .by_rule = "the GPU's",
     .kind = FieldKind::whole, .target = FieldTarget::model, .min = 1, .max = kMostSms,
     .access = at<&RunSpec::what_if, &WhatIf::sm_count>},
    {.key = "sm_clock", .json_key = "sm_clock", .option = "sm-clock", .value_name = "TIMES",
     .label = "SM clock, times", .help = "clock of the SMs, as a multiple of the GPU's",
     .accepted = kMultiple, .by_rule = "the GPU's", .kind = FieldKind::decimal,
     .target = FieldTarget::model, .access = at<&RunSpec::what_if, &WhatIf::sm_clock>},
    {.key = "dram_rate", .json_key = "dram_rate", .option = "dram-rate", .value_name = "TIMES",
     .label = "DRAM rate, times", .help = "bandwidth of DRAM, as a multiple of the GPU's",
     .accepted = kMultiple, .by_rule = "the GPU's", .kind = FieldKind::decimal,
     .target = FieldTarget::model, .access = at<&RunSpec::what_if, &WhatIf::dram_rate>},
    {.key = "l2_rate", .json_key = "l2_rate", .option = "l2-rate", .value_name = "TIMES",
     .label = "L2 rate, times", .help = "bandwidth of L2, as a multiple of the GPU's",
     .accepted = kMultiple, .by_rule = "the GPU's", .kind = FieldKind::decimal,
     .target = FieldTarget::model, .access = at<&RunSpec::what_if, &WhatIf::l2_rate>},
    {.key = "matrix_rate", .json_key = "matrix_rate", .option = "matrix-rate",
     .value_name = "TIMES", .label = "tensor cores, times",
     .help = "rate of an SM's tensor cores, as a multiple of the GPU's",
     .accepted = kMultiple, .by_rule = "the GPU's", .kind = FieldKind::decimal,
     .target = FieldTarget::model, .access = at<&RunSpec::what_if, &WhatIf::matrix_rate>},
    {.key = "exp_rate", .json_key = "exp_rate", .option = "exp-rate", .value_name = "TIMES",
     .label = "exp rate, times",
     .help = "rate of an SM's exponentials, as a multiple of the GPU's",
     .accepted = kMultiple, .by_rule = "the GPU's", .kind = FieldKind::decimal,
     .target = FieldTarget::model, .access = at<&RunSpec::what_if, &WhatIf::exp_rate>},
    {.key = "inputs", .json = "inputs", .json_key = "kind", .option = "inputs",
     .value_name = "KIND", .label = "drawn", .help = "gaussian, outlier or needle",
     .kind = FieldKind::name, .always_stored = true, .values = kInputKinds,
     .access = at<&RunSpec::inputs, &InputSpec::kind>},
    {.key = "seed", .json = "inputs", .json_key = "seed", .option = "seed", .value_name = "SEED",
     .label = "seed", .help = "whole number that seeds the random inputs", .kind = FieldKind::seed,
     .always_stored = true, .access = at<&RunSpec::inputs, &InputSpec::seed>},
    {.key = "q", .json = "inputs", .json_key = "q", .option = "q", .value_name = "FILE",
     .label = "Q",
     .help = "Q as .npy [B, H, N, d], [H, N, d] or [N, d]; sizes not given are taken from the files",
     .accepted = "an .npy file, as numpy.save writes it", .by_rule = "generated",
     .file = FieldFile::npy, .access = at<&RunSpec::files, &InputPaths::Q>},
    {.key = "k", .json = "inputs", .json_key = "k", .option = "k", .value_name = "FILE",
     .label = "K", .help = "K as .npy [B, H_kv, N_kv, d], or without B and H_kv",
     .accepted = "an .npy file, as numpy.save writes it", .by_rule = "generated",
     .file = FieldFile::npy, .access = at<&RunSpec::files, &InputPaths::K>},
    {.key = "v", .json = "inputs", .json_key = "v", .option = "v", .value_name = "FILE",
     .label = "V", .help = "V as .npy [B, H_kv, N_kv, d], or without B and H_kv",
     .accepted = "an .npy file, as numpy.save writes it", .by_rule = "generated",
     .file = FieldFile::npy, .access = at<&RunSpec::files, &InputPaths::V>},
    {.key = "do", .json = "inputs", .json_key = "do", .option = "do", .value_name = "FILE",
     .label = "dO", .help = "dO as .npy, with Q's shape",
     .accepted = "an .npy file, as numpy.save writes it", .by_rule = "generated",
     .file = FieldFile::npy, .access = at<&RunSpec::files, &InputPaths::dO>},
};
// clang-format on

}  // namespace

std::span<const RunField> what_if_fields() {
  const auto* const first = std::ranges::find(kFields, "sram_bytes", &RunField::key);
  const auto* const last = std::ranges::find(kFields, "exp_rate", &RunField::key);
  return {first, last + 1};
}

std::span<const RunField> run_fields() {
  return kFields;
}

}  // namespace attnscope
