#include "sim/ops/schedule_variant.h"

#include <fmt/core.h>

#include <iterator>

namespace attnscope {

std::string_view to_string(Fusion fusion) {
  constexpr std::string_view kNames[] = {"separate", "figure2", "pairs", "rows"};
  return kNames[static_cast<std::size_t>(fusion)];
}

std::optional<Fusion> parse_fusion(std::string_view name) {
  for (const Fusion fusion : {Fusion::separate, Fusion::figure2, Fusion::pairs, Fusion::rows}) {
    if (name == to_string(fusion)) return fusion;
  }
  return std::nullopt;
}

std::string to_string(const ScheduleVariant& variant) {
  std::string text;
  const auto add = [&text](std::string_view part) {
    text += text.empty() ? "" : ", ";
    text += part;
  };
  if (variant.fusion != Fusion::rows) add(fmt::format("fusion {}", to_string(variant.fusion)));
  if (variant.checkpoint) add("checkpointed");
  if (variant.skip_first_reads) add("first reads skipped");
  if (variant.d_once) add("D once");
  return text;
}

std::optional<std::string> validate(const ScheduleVariant& variant, std::string_view algorithm,
                                    const ScoreFunction& score) {
  const bool of_standard = variant.fusion != Fusion::rows || variant.checkpoint;
  const bool of_flash1 = variant.skip_first_reads || variant.d_once;
  if (of_standard && algorithm != "standard") {
    return fmt::format("{} is for standard, which keeps S and P in HBM; {} keeps neither",
                       variant.checkpoint ? "--checkpoint" : "--fusion", algorithm);
  }
  if (variant.fusion != Fusion::rows && (score.soft_cap || score.has_alibi())) {
    return fmt::format(
        "--fusion {} has launches for scale, mask and dropout, none for soft-capping "
        "and ALiBi; --fusion rows does both",
        to_string(variant.fusion));
  }
  if (of_flash1 && algorithm != "flash1") {
    return fmt::format("{} is for flash1, whose O and dQ travel through HBM; those of {} do not",
                       variant.d_once ? "--d-once" : "--skip-first-reads", algorithm);
  }
  return std::nullopt;
}

}  // namespace attnscope
