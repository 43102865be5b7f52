#include "app/guide/glossary.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <variant>

#include "app/guide/markdown.h"

namespace attnscope::app {

namespace {

constexpr std::size_t kColumns = 4;  // symbol, meaning, shape, unit

/// The word with "c" instead of a column's number: "O[c]" for "O[3]".
std::string with_any_column(std::string_view word) {
  const std::size_t open = word.find('[');
  if (open == std::string_view::npos || !word.ends_with(']')) return std::string(word);
  const std::string_view index = word.substr(open + 1, word.size() - open - 2);
  const bool is_number =
      !index.empty() && index.find_first_not_of("0123456789") == std::string_view::npos;
  return is_number ? std::string(word.substr(0, open)) + "[c]" : std::string(word);
}

/// The symbol without its tile or split.
std::string_view without_subscript(std::string_view word) {
  for (const std::string_view ending : {"^s", "_ij", "_i", "_j"}) {
    if (word.ends_with(ending)) word.remove_suffix(ending.size());
  }
  return word;
}

}  // namespace

Result<Glossary> Glossary::parse(std::string_view page) {
  Glossary glossary;
  for (const MarkdownBlock& block : parse_markdown(page)) {
    const auto* table = std::get_if<MarkdownTable>(&block);
    if (table == nullptr || table->header.size() != kColumns) continue;
    for (const auto& cells : table->rows) {
      Term term{plain_text(cells[0]), plain_text(cells[1]), plain_text(cells[2]),
                plain_text(cells[3])};
      if (std::ranges::count(glossary.terms_, term.symbol, &Term::symbol) > 0) {
        return invalid_request("glossary: '{}' is defined twice", term.symbol);
      }
      glossary.terms_.push_back(std::move(term));
    }
  }
  if (glossary.terms_.empty()) {
    return invalid_request("glossary: no table of symbol, meaning, shape and unit");
  }
  return glossary;
}

const Term* Glossary::find(std::string_view word) const {
  const std::string indexed = with_any_column(word);
  for (const std::string_view spelling : {std::string_view(indexed), without_subscript(indexed)}) {
    const auto found = std::ranges::find(terms_, spelling, &Term::symbol);
    if (found != terms_.end()) return &*found;
  }
  return nullptr;
}

std::string explanation(const Term& term, std::string_view word) {
  std::string text = fmt::format("{}: {}", word, term.meaning);
  const std::string unit = term.unit == "none" ? "no unit" : "unit: " + term.unit;
  if (!term.shape.empty()) text += "\nshape: " + term.shape;
  if (!term.unit.empty()) text += (term.shape.empty() ? "\n" : "; ") + unit;
  return text;
}

}  // namespace attnscope::app
