/// The symbols on the screen and in the user guide, from one page of the guide,
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
  std::string shape;  ///< the shape in one head; empty if there is none
  std::string unit;   ///< "none" for a number without a unit; empty if there is no number
};

class Glossary {
 public:
  Glossary() = default;
  /// invalid_request if the page has no table of four columns, or lists a symbol twice.
  static Result<Glossary> parse(std::string_view page);

  /// The term of a word as it appears on the screen: with a subscript ("Q_i", "LSE_i^s"), or an
  /// element of a row ("O[3]"); nullptr for any other word.
  const Term* find(std::string_view word) const;
  const std::vector<Term>& terms() const { return terms_; }

 private:
  std::vector<Term> terms_;
};

/// The tooltip of a word: the word, its meaning, shape and unit, each on a line.
std::string explanation(const Term& term, std::string_view word);

}  // namespace attnscope::app
