#include "reference/schedule_variant.h"

#include <fmt/core.h>

namespace attnscope {

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
  if (variant.stages > 1) {
    const bool by_agents = variant.consumers > 0;
    add(fmt::format("{} stages{}", variant.stages, by_agents ? "" : " of K and V"));
  }
  if (variant.consumers > 0) {
    add(fmt::format("a producer and {} consumer{}", variant.consumers,
                    variant.consumers > 1 ? "s" : ""));
  }
  if (variant.visit_hidden) add("hidden tiles visited");
  if (variant.broken.any()) add(fmt::format("break {}", to_string(variant.broken)));
  return text;
}

}  // namespace attnscope
