/// Results of studies as typed tables. They are written as aligned text and Markdown (here), JSON
/// and CSV (app/documents/study_json.h); commands write all four (app/cli/outputs.h).
#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "reference/attention_problem.h"

namespace attnscope {

/// The kind of a column's values, which decides how text shows them: words are aligned left,
/// numbers right.
enum class Unit : std::uint8_t {
  words,
  count,  ///< shown as a whole number, or with four digits
  error,  ///< shown with three digits
  share,  ///< a share of 1, shown in percent
  percent,
  bytes,
  flops,
  seconds
};

struct Column {
  std::string key;  ///< name in JSON and CSV, "tiling.Br" for a nested member; empty: only in text
  std::string heading;  ///< heading in text; empty: only in JSON and CSV
  Unit unit = Unit::words;
};

struct Table;

/// A typed value; a missing one is left out of JSON and empty in CSV and text.
class Cell {
 public:
  using Document = std::shared_ptr<const nlohmann::ordered_json>;
  using List = std::shared_ptr<const Table>;  ///< a table within a row
  using Value = std::variant<std::monostate, bool, Index, double, std::string, Document, List>;

  Cell() = default;
  template <typename T>
  Cell(const T& value) : value_(value_of(value)) {}
  /// Shows `text` instead of the value's text.
  template <typename T>
  Cell(const T& value, std::string text) : value_(value_of(value)), text_(std::move(text)) {}
  /// A cell that has only text, such as "-".
  static Cell only_text(std::string text) { return Cell(std::monostate(), std::move(text)); }

  const Value& value() const { return value_; }
  bool has_value() const { return !std::holds_alternative<std::monostate>(value_); }
  /// The value in the format of its unit, unless the cell has its own text; empty for JSON and
  /// lists.
  std::string text(Unit unit) const;

 private:
  template <typename T>
  static Value value_of(const std::optional<T>& value) {
    return value ? value_of(*value) : Value();
  }
  template <typename T>
  static Value value_of(const T& value) {
    if constexpr (std::same_as<T, nlohmann::ordered_json> || std::same_as<T, nlohmann::json>) {
      return std::make_shared<const nlohmann::ordered_json>(value);
    } else if constexpr (std::same_as<T, Table>) {
      return std::make_shared<const Table>(value);
    } else if constexpr (std::convertible_to<T, std::string_view>) {
      return std::string(std::string_view(value));
    } else if constexpr (std::integral<T> && !std::same_as<T, bool>) {
      return static_cast<Index>(value);
    } else {
      return value;
    }
  }

  Value value_;
  std::optional<std::string> text_;
};

struct Table {
  std::string key;    ///< key of the list in JSON; empty: only in text
  std::string title;  ///< the lines above the table in text
  std::vector<Column> columns;
  std::vector<std::vector<Cell>> rows = {};  ///< a cell for each column
  std::string indent = {};                   ///< text before the first column
  bool columns_as_lines = false;             ///< true: in text, a line for each column
  /// Whether CSV has a line for each row, or for each row of the lists within a row, after the
  /// outer row's own cells.
  enum class Csv : std::uint8_t { none, rows, listed_rows } csv = Csv::rows;
};

/// A sentence below the tables; with a key, a member of the JSON document as well.
struct Footnote {
  std::string text;  ///< the note, without a line break at its end; empty: none
  std::string key = {};
  std::string mark = {};  ///< the mark that the text explains, such as "*"; shown before it
};

/// The results of a study: facts about the whole, tables and footnotes.
struct Study {
  std::string title;                                ///< the lines above the tables in text
  std::vector<std::pair<std::string, Cell>> facts;  ///< members of the JSON document, schema first
  std::vector<Table> tables;
  std::vector<Footnote> footnotes = {};
};

/// The title, the table in aligned columns, then the tables within rows. Columns without text are
/// left out. Control characters become '?'.
std::string to_text(const Table& table);
/// The title, the tables and the footnotes, an empty line between them.
std::string to_text(const Study& study);

/// The columns that to_text() shows, as a Markdown table without the title and tables within rows.
std::string to_markdown(const Table& table);
/// The title, all tables with their titles, also those within rows, and the footnotes as a list.
std::string to_markdown(const Study& study);

}  // namespace attnscope
