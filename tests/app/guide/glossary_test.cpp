#include "app/guide/glossary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <set>
#include <string>

#include "app/guide/guide.h"
#include "reference/algorithm.h"
#include "sim/schedule/algorithm.h"

namespace attnscope::app {
namespace {

const Guide& shipped_guide() {
  static const Guide guide = [] {
    std::vector<std::string> problems;
    return load_guide(problems);
  }();
  return guide;
}

std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

/// The words of the text as the screen separates them.
std::set<std::string> words_of(const std::string& text) {
  std::set<std::string> words;
  std::string word;
  for (const char c : text + " ") {
    const bool in_word = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '~' ||
                         c == '^' || c == '[' || c == ']';
    if (in_word) word += c;
    if (!in_word && !word.empty()) words.insert(std::exchange(word, {}));
  }
  return words;
}

/// The pseudo-code of every algorithm and pass, plain and with every step of the score function.
std::vector<std::string> pseudo_code() {
  std::vector<std::string> code;
  AttentionProblem with_steps;
  with_steps.score.soft_cap = 8.0;
  with_steps.score.alibi_slopes = {0.5};
  with_steps.score.dropout.probability = 0.25;
  for (const AttentionProblem& problem : {AttentionProblem(), with_steps}) {
    const ScheduleOptions options{.score_steps = score_steps_of(problem), .masked = true};
    for (const Algorithm& algorithm : algorithms()) {
      const PassKind pass = algorithm.has_backward ? PassKind::both : PassKind::forward;
      for (const Launch& launch : make_pass(algorithm, pass, options).launches) {
        for (const PseudoLine& line : launch.pseudo_code) code.emplace_back(line.text);
      }
    }
  }
  return code;
}

TEST(Glossary, HasAtMostSixtyTermsInAlphabeticalOrder) {
  const auto& terms = shipped_guide().glossary.terms();
  EXPECT_GE(terms.size(), 40u);
  EXPECT_LE(terms.size(), 60u);
  for (std::size_t k = 1; k < terms.size(); ++k) {
    EXPECT_LE(lower(terms[k - 1].symbol), lower(terms[k].symbol));
  }
  for (const Term& term : terms) {
    EXPECT_FALSE(term.meaning.empty()) << term.symbol;
    EXPECT_TRUE(term.shape.empty() || !term.unit.empty()) << term.symbol;
  }
}

TEST(Glossary, ExplainsEverySymbolOfThePseudoCode) {
  // English words, function names and numbers; every other word of one or two letters, or with a
  // subscript, is a symbol
  const std::set<std::string> no_symbols{"in", "of", "to", "is", "it", "by", "as",
                                         "at", "p",  "s",  "if", "or", "and"};
  std::set<std::string> unexplained;
  int symbols = 0;
  for (const std::string& line : pseudo_code()) {
    for (const std::string& word : words_of(line)) {
      const bool is_symbol = word.size() <= 2 || word.find_first_of("_~^[") != word.npos;
      const bool is_number = std::isdigit(static_cast<unsigned char>(word[0])) != 0;
      if (!is_symbol || is_number || no_symbols.contains(word)) continue;
      ++symbols;
      if (shipped_guide().glossary.find(word) == nullptr) unexplained.insert(word);
    }
  }
  EXPECT_GT(symbols, 200);
  EXPECT_THAT(unexplained, testing::IsEmpty());
}

TEST(Glossary, ExplainsEveryTensorOfTheMemoryPanel) {
  for (const std::string_view tensor : {"Q",  "K",  "V",  "O",  "LSE", "S",  "P", "m", "l", "alpha",
                                        "dO", "dQ", "dK", "dV", "dP",  "dS", "D", "T", "Z", "P~"}) {
    EXPECT_NE(shipped_guide().glossary.find(tensor), nullptr) << tensor;
  }
}

TEST(Glossary, HasOnlyTermsThatAreUsed) {
  std::string text = "O[c] dQ[c] ";  // symbols of the followed row, with a column's number
  for (const std::string& line : pseudo_code()) text += line + " ";
  for (const GuidePage& page : shipped_guide().pages) {
    if (page.name == "glossary") continue;
    for (const MarkdownBlock& block : page.blocks) {
      if (const auto* paragraph = std::get_if<Paragraph>(&block)) {
        text += plain_text(paragraph->text) + " ";
      } else if (const auto* item = std::get_if<ListItem>(&block)) {
        text += plain_text(item->text) + " ";
      } else if (const auto* code = std::get_if<CodeBlock>(&block)) {
        for (const std::string& line : code->lines) text += line + " ";
      } else if (const auto* table = std::get_if<MarkdownTable>(&block)) {
        for (const auto& row : table->rows) {
          for (const TextLine& cell : row) text += plain_text(cell) + " ";
        }
      }
    }
  }
  std::set<const Term*> used;
  for (const std::string& word : words_of(text)) used.insert(shipped_guide().glossary.find(word));
  for (const Term& term : shipped_guide().glossary.terms()) {
    EXPECT_TRUE(used.contains(&term)) << term.symbol;
  }
}

TEST(Glossary, FindsSymbolsWithSubscriptsAndNumbersOfColumns) {
  const auto meaning_of = [](std::string_view word) {
    const Term* term = shipped_guide().glossary.find(word);
    return term != nullptr ? term->symbol : "";
  };
  EXPECT_EQ(meaning_of("Q_i"), "Q");
  EXPECT_EQ(meaning_of("S_ij"), "S");
  EXPECT_EQ(meaning_of("LSE_i^s"), "LSE");
  EXPECT_EQ(meaning_of("m_prev"), "m_prev");
  EXPECT_EQ(meaning_of("M_ij"), "M_ij");
  EXPECT_EQ(meaning_of("O[12]"), "O[c]");
  EXPECT_EQ(meaning_of("D"), "D");
  EXPECT_EQ(meaning_of("d"), "d");
  for (const char* word : {"", "the", "O[x]", "H100", "Qi", "_i"}) EXPECT_EQ(meaning_of(word), "");
}

TEST(Glossary, SaysMeaningShapeAndUnit) {
  const Term term{"N", "queries per head", "one number", "queries"};
  EXPECT_EQ(explanation(term, "N"), "N: queries per head\nshape: one number; unit: queries");
  EXPECT_EQ(explanation({"m", "row maximum", "Br", "none"}, "m_i"),
            "m_i: row maximum\nshape: Br; no unit");
  EXPECT_EQ(explanation({"warp", "32 threads", "", ""}, "warp"), "warp: 32 threads");
}

TEST(Glossary, RejectsAPageWithoutATableAndASymbolTwice) {
  EXPECT_FALSE(Glossary::parse("# Glossary\n"));
  const std::string head = "| symbol | meaning | shape | unit |\n|---|---|---|---|\n";
  EXPECT_TRUE(Glossary::parse(head + "| `a` | b | c | d |\n"));
  EXPECT_FALSE(Glossary::parse(head + "| `a` | b | c | d |\n| `a` | b | c | d |\n"));
}

}  // namespace
}  // namespace attnscope::app
