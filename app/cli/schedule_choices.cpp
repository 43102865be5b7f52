#include "app/cli/schedule_choices.h"

#include <fmt/core.h>

#include "reference/nearest_name.h"
#include "sim/block_mask_request.h"
#include "sim/packed_groups.h"
#include "sim/schedule/catalog.h"

namespace attnscope::cli {

std::vector<OptionSpec> schedule_choice_options() {
  return {
      {"block-mask", "MASK",
       "block_sparse: butterfly, local-global:W,G, random:DENSITY[,SEED], uniform:DENSITY[,SEED] "
       "or FILE.npy [Tr, Tc]"},
      {"skip-unused-kv", "", "block_sparse: do not load K and V of unused column tiles"},
      {"splits", "COUNT", "split_kv: parts into which the keys are cut [what fills the SMs]"},
      {"separate-heads", "", "split_kv: a thread block for each query head, not for its group"},
      {"warps", "COUNT", "warps of a thread block, up to 32 [4]"},
      {"warp-partition", "KIND", "split-q or sliced-k [as the algorithm's paper has it]"},
      {"fusion", "LEVEL",
       "standard: separate, figure2, pairs or rows; how much a launch fuses [rows]"},
      {"checkpoint", "", "standard: keep Q, K, V alone; the backward pass runs the forward again"},
      {"skip-first-reads", "", "flash1: O, m, l and dQ start on chip, without a first read"},
      {"d-once", "", "flash1: D = rowsum(dO * O) in a launch of its own"},
  };
}

namespace {

std::optional<Error> check_splits(const GivenOptions& given, std::string_view algorithm,
                                  const Algorithm* chosen) {
  for (const char* option : {"splits", "separate-heads"}) {
    if (!given.has(option) || (chosen != nullptr && chosen->splits_keys)) continue;
    return invalid_request(fmt::format(
        "--{} is for split_kv; {} sweeps over all keys in one thread block", option, algorithm));
  }
  const auto text = given.text("splits");
  if (!text) return std::nullopt;
  const auto splits = parse_whole("splits", *text, 1, kMaxSequenceLength);
  return splits ? std::nullopt : std::optional(splits.error());
}

/// The variant that the options ask for; invalid_request when the algorithm has none such.
Result<ScheduleVariant> parse_variant(const GivenOptions& given, std::string_view algorithm) {
  ScheduleVariant variant;
  if (const auto text = given.text("fusion")) {
    const auto fusion = parse_fusion(*text);
    if (!fusion) {
      return invalid_request(fmt::format(
          "--fusion is '{}'; it must be separate, figure2, pairs or rows", printable(*text)));
    }
    variant.fusion = *fusion;
  }
  variant.checkpoint = given.has("checkpoint");
  variant.skip_first_reads = given.has("skip-first-reads");
  variant.d_once = given.has("d-once");
  if (const auto reason = validate(variant, algorithm, {})) return invalid_request(*reason);
  return variant;
}

}  // namespace

std::optional<Error> check_schedule_choices(const GivenOptions& given, std::string_view algorithm) {
  if (const auto variant = parse_variant(given, algorithm); !variant) return variant.error();
  const Algorithm* chosen = find_algorithm(algorithm);
  const bool is_sparse = chosen != nullptr && chosen->takes_block_mask;
  for (const char* option : {"block-mask", "skip-unused-kv"}) {
    if (!given.has(option) || is_sparse) continue;
    return invalid_request(
        fmt::format("--{} is for block_sparse and block_sparse2; {} computes every tile that the "
                    "mask shows",
                    option, algorithm));
  }
  if (const auto text = given.text("block-mask")) {
    const auto pattern = parse_block_pattern(*text);
    if (!pattern) return invalid_request("--block-mask: " + pattern.error().message);
  }
  if (auto error = check_splits(given, algorithm, chosen)) return error;
  if (const auto warps = parse_warp_choice(given); !warps) return warps.error();
  for (const char* option : {"warps", "warp-partition"}) {
    if (!given.has(option) || (chosen != nullptr && chosen->warps)) continue;
    return invalid_request(fmt::format(
        "--{} is for the flash algorithms; no paper says how the warps of {} share a tile", option,
        algorithm));
  }
  return std::nullopt;
}

Result<WarpChoice> parse_warp_choice(const GivenOptions& given) {
  WarpChoice choice;
  if (const auto text = given.text("warps")) {
    const auto warps = parse_whole("warps", *text, 1, kMaxWarps);
    if (!warps) return warps.error();
    choice.warps = warps.value();
  }
  if (const auto text = given.text("warp-partition")) {
    choice.partition = parse_warp_partition(*text);
    if (!choice.partition) {
      return invalid_request(fmt::format("--warp-partition is '{}'; it must be split-q or sliced-k",
                                         printable(*text)));
    }
  }
  return choice;
}

bool packs_groups(const GivenOptions& given, const SimulationRequest& request) {
  const Algorithm* chosen = find_algorithm(request.algorithm);
  const bool splits_keys = chosen != nullptr && chosen->splits_keys;
  return splits_keys && !given.has("separate-heads") && can_pack_groups(request.problem);
}

Result<SimulationRequest> with_schedule_choices(const GivenOptions& given,
                                                SimulationRequest request) {
  const auto variant = parse_variant(given, request.algorithm);
  if (!variant) return variant.error();
  request.variant = variant.value();
  request.skip_unused_kv = given.has("skip-unused-kv");
  if (const auto text = given.text("splits")) {
    const auto splits = parse_whole("splits", *text, 1, kMaxSequenceLength);
    if (!splits) return splits.error();
    request.splits = splits.value();
  }
  if (packs_groups(given, request)) request.problem = with_packed_groups(request.problem);
  const auto text = given.text("block-mask");
  if (!text) return request;
  const auto pattern = parse_block_pattern(*text);
  if (!pattern) return pattern.error();
  return with_block_mask(std::move(request), pattern.value());
}

}  // namespace attnscope::cli
