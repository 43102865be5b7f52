#include "app/scene/shown_head.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

namespace attnscope::app {

ShownHead shown_head(const ResolvedRun& run, Index head) {
  const AttentionProblem& problem = run.problem;
  const AttentionProblem& chosen = run.asked.problem;
  head = std::min(head, std::max<Index>(chosen.batch * chosen.heads, 1) - 1);
  ShownHead shown;
  shown.head_count = chosen.heads;
  shown.kv_head_count = chosen.kv_heads;
  shown.entry_count = chosen.batch;
  shown.entry = head / chosen.heads;
  shown.head = head % chosen.heads;
  shown.kv_head = chosen.kv_head_of(shown.head);
  shown.queries = chosen.N;
  const Index group = chosen.heads_per_kv_head();
  if (problem.heads != chosen.heads && problem.N == group * chosen.N) shown.packed = group;
  return shown;
}

std::string among(std::string_view what, Index index, Index count) {
  return fmt::format("{} {} (0-{})", what, index, count - 1);
}

std::vector<std::string> in_words(const ShownHead& shown) {
  if (shown.head_count == 1) {
    if (shown.entry_count == 1) return {"one head"};
    const std::string entry = among("batch entry", shown.entry, shown.entry_count);
    return {entry + ", one head each", entry, fmt::format("batch {}", shown.entry)};
  }

  // Each part in full, abbreviated, and as short as possible
  std::array<std::string, 3> words;
  const auto add = [&](const std::array<std::string, 3>& parts) {
    for (std::size_t k = 0; k < words.size(); ++k) {
      words[k] += (words[k].empty() ? "" : ", ") + parts[k];
    }
  };
  if (shown.packed > 1) {
    const Index first = shown.kv_head * shown.packed;
    const std::string heads = fmt::format("heads {} to {}", first, first + shown.packed - 1);
    add({fmt::format("{} heads of a group × {} {}", shown.packed, shown.queries,
                     shown.queries == 1 ? "query" : "queries"),
         fmt::format("{} (0-{})", heads, shown.head_count - 1), heads});
  } else {
    const std::string head = among("head", shown.head, shown.head_count);
    add({head, head, fmt::format("head {}", shown.head)});
  }
  if (shown.head_count > shown.kv_head_count) {
    add({among("KV head", shown.kv_head, shown.kv_head_count),
         among("KV", shown.kv_head, shown.kv_head_count), fmt::format("KV {}", shown.kv_head)});
  }
  if (shown.entry_count > 1) {
    add({among("batch entry", shown.entry, shown.entry_count),
         among("batch", shown.entry, shown.entry_count), fmt::format("batch {}", shown.entry)});
  }
  return {words.begin(), words.end()};
}

std::string row_in_words(const ShownHead& shown, Index row) {
  if (shown.packed == 1) return fmt::format("query row {}", row);
  return fmt::format("head {}, query {}", shown.kv_head * shown.packed + row / shown.queries,
                     row % shown.queries);
}

}  // namespace attnscope::app
