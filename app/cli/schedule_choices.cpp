#include "app/cli/schedule_choices.h"

#include <fmt/format.h>

#include "sim/block_mask_request.h"
#include "sim/schedule/catalog.h"

namespace attnscope::cli {

std::vector<OptionSpec> schedule_choice_options() {
  return {
      {"block-mask", "MASK",
       "block_sparse: butterfly, local-global:W,G, random:DENSITY[,SEED], uniform:DENSITY[,SEED] "
       "or FILE.npy [Tr, Tc]"},
      {"skip-unused-kv", "", "block_sparse: leave K and V of unused column tiles in HBM"},
  };
}

std::optional<Error> check_schedule_choices(const GivenOptions& given, std::string_view algorithm) {
  const Algorithm* chosen = find_algorithm(algorithm);
  const bool is_sparse = chosen != nullptr && chosen->takes_block_mask;
  for (const char* option : {"block-mask", "skip-unused-kv"}) {
    if (!given.has(option) || is_sparse) continue;
    return invalid_request(
        fmt::format("--{} is for block_sparse and block_sparse2; {} computes every tile that the "
                    "mask shows",
                    option, algorithm));
  }
  const auto text = given.text("block-mask");
  if (!text) return std::nullopt;
  const auto pattern = parse_block_pattern(*text);
  if (pattern) return std::nullopt;
  return invalid_request("--block-mask: " + pattern.error().message);
}

Result<SimulationRequest> with_schedule_choices(const GivenOptions& given,
                                                SimulationRequest request) {
  request.skip_unused_kv = given.has("skip-unused-kv");
  const auto text = given.text("block-mask");
  if (!text) return request;
  const auto pattern = parse_block_pattern(*text);
  if (!pattern) return pattern.error();
  return with_block_mask(std::move(request), pattern.value());
}

}  // namespace attnscope::cli
