/// The head that the screen steps through, as text. If grouped queries are packed, it steps through
/// all heads of a group at once: they are the rows of the run's problem.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "app/scene/view_state.h"

namespace attnscope::app {

struct ShownHead {
  Index head = 0, head_count = 1;        ///< within a batch entry
  Index kv_head = 0, kv_head_count = 1;  ///< the KV head that it reads
  Index entry = 0, entry_count = 1;      ///< the batch entry
  Index packed = 1;                      ///< heads that are rows of one tile
  Index queries = 1;                     ///< rows of each of them
};

/// Head `head` = batch * heads + head of the run, whose problem may have packed groups.
ShownHead shown_head(const ResolvedRun& run, Index head);

/// "head 5 (0-7)": index 5 of 8, counted from 0.
std::string among(std::string_view what, Index index, Index count);

/// "head 5 (0-7), KV head 1 (0-1), batch entry 0 (0-3)", with packed groups "4 heads of a group × 1
/// query, KV head 1 (0-1)", without parts whose count is 1; then shorter wordings.
std::vector<std::string> in_words(const ShownHead& shown);

/// "query row 3"; with packed groups "head 5, query 0".
std::string row_in_words(const ShownHead& shown, Index row);

}  // namespace attnscope::app
