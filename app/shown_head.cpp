#include "app/shown_head.h"

#include <fmt/core.h>

namespace attnscope::app {

ShownHead shown_head(const AttentionProblem& problem, const ViewState& view) {
  const AttentionProblem& chosen = view.choice.problem;
  ShownHead shown;
  shown.heads = chosen.heads;
  shown.kv_heads = chosen.kv_heads;
  shown.batches = chosen.batch;
  shown.batch = view.head / chosen.heads;
  shown.head = view.head % chosen.heads;
  shown.kv_head = chosen.kv_head_of(shown.head);
  shown.queries = chosen.N;
  const Index group = chosen.heads_per_kv_head();
  if (problem.heads != chosen.heads && problem.N == group * chosen.N) shown.packed = group;
  return shown;
}

std::vector<std::string> in_words(const ShownHead& shown) {
  const bool packed = shown.packed > 1;
  std::string full;
  std::string brief;
  if (packed) {
    full = fmt::format("{} heads of a group × {} {}", shown.packed, shown.queries,
                       shown.queries == 1 ? "query" : "queries");
    const Index first = shown.kv_head * shown.packed;
    brief = fmt::format("heads {} to {}", first, first + shown.packed - 1);
  } else if (shown.heads > 1) {
    full = fmt::format("head {} of {}", shown.head, shown.heads);
    brief = fmt::format("head {}", shown.head);
  } else {
    full = brief = "one head";
  }
  if (shown.heads > shown.kv_heads) {
    full += fmt::format(", KV head {} of {}", shown.kv_head, shown.kv_heads);
    brief += fmt::format(", KV {}", shown.kv_head);
  }
  if (shown.batches > 1) {
    full += fmt::format(", batch entry {} of {}", shown.batch, shown.batches);
    brief += fmt::format(", batch {}", shown.batch);
  }
  return {full, brief};
}

std::string row_in_words(const ShownHead& shown, Index row) {
  if (shown.packed == 1) return fmt::format("query row {}", row);
  return fmt::format("head {}, query {}", shown.kv_head * shown.packed + row / shown.queries,
                     row % shown.queries);
}

}  // namespace attnscope::app
