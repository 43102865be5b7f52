/// The symbols of the screen and of the user guide, from one page of the guide:
/// assets/guide/glossary.md.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "reference/result.h"

namespace attnscope::app {

/// One line of the glossary.
struct Term {
  std::string symbol;
  std::string meaning;
  std::string shape;  ///< of one head; empty where there is none
  std::string unit;   ///< "none" for a number without a unit; empty where there is no number
};

class Glossary {
 public:
  Glossary() = default;
  /// invalid_request where the page has no table of four columns, or a symbol twice.
  static Result<Glossary> parse(std::string_view page);

  /// The term of a word as it stands on the screen: with a subscript ("Q_i", "LSE_i^s"), or an
  /// element of a row ("O[3]"); nullptr for any other word.
  const Term* find(std::string_view word) const;
  const std::vector<Term>& terms() const { return terms_; }

 private:
  std::vector<Term> terms_;
};

/// Its tooltip: the word, its meaning, shape and unit, a line each.
std::string explanation(const Term& term, std::string_view word);

}  // namespace attnscope::app
