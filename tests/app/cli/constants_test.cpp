/// Checks the guide's list of the predictions' constants against code and data of an H200.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/measure/calibrate/tile_steps.h"
#include "sim/device/calibration.h"
#include "tests/app/cli/cli_process.h"

namespace attnscope {
namespace {

namespace fs = std::filesystem;
const fs::path kCodeRoot = ATTNSCOPE_SOURCE_DIR;

constexpr const char* kPage = "assets/guide/constants.md";

/// The pattern's first group in each of its matches.
std::vector<std::string> all_matches(const std::string& text, const std::regex& pattern) {
  std::vector<std::string> matches;
  for (std::sregex_iterator match(text.begin(), text.end(), pattern), end; match != end; ++match) {
    matches.push_back((*match)[1]);
  }
  return matches;
}

/// The strings in backticks.
std::vector<std::string> quoted(const std::string& text) {
  static const std::regex kQuoted("`([^`]*)`");
  return all_matches(text, kQuoted);
}

// The page of the guide

using Row = std::vector<std::string>;  // cells

std::string trimmed(const std::string& text) {
  const std::size_t begin = text.find_first_not_of(' ');
  return begin == text.npos ? "" : text.substr(begin, text.find_last_not_of(' ') + 1 - begin);
}

Row cells_of(const std::string& line) {
  Row cells;
  std::istringstream stream(line.substr(1));
  for (std::string cell; std::getline(stream, cell, '|');) cells.push_back(trimmed(cell));
  return cells;
}

/// The rows of all tables whose first column has this heading; each has four cells.
std::vector<Row> rows_of(const std::string& heading) {
  std::vector<Row> rows;
  std::istringstream page(read_text(kCodeRoot / kPage));
  std::string table;
  for (std::string line; std::getline(page, line);) {
    if (!line.starts_with('|')) {
      table.clear();
      continue;
    }
    const Row cells = cells_of(line);
    EXPECT_EQ(cells.size(), 4u) << line;
    if (table.empty()) {
      table = cells.front();
    } else if (table == heading && !cells.front().starts_with("---") && cells.size() == 4) {
      rows.push_back(cells);
    }
  }
  EXPECT_GT(rows.size(), 5u) << heading;
  return rows;
}

/// The first cells of the table's rows, without backticks.
std::set<std::string> names_of(const std::vector<Row>& rows) {
  std::set<std::string> names;
  for (const Row& row : rows) {
    const auto name = quoted(row[0]);
    EXPECT_EQ(name.size(), 1u) << row[0];
    EXPECT_TRUE(name.empty() || names.insert(name.front()).second) << row[0] << " is there twice";
  }
  return names;
}

// The code

/// Code without comments and includes, on one line.
std::string code_of(const fs::path& file) {
  static const std::regex kIgnored(R"(//[^\n]*|/\*[^*]*\*/|#[^\n]*)"), kSpace(R"(\s+)");
  return std::regex_replace(std::regex_replace(read_text(file), kIgnored, ""), kSpace, " ");
}

/// The code of the predictions, by file.
const std::map<std::string, std::string>& prediction_code() {
  static const auto kCode = [] {
    std::map<std::string, std::string> code;
    for (const char* folder : {"sim/dram", "sim/time"}) {
      for (const auto& entry : fs::directory_iterator(kCodeRoot / folder)) {
        code[fs::relative(entry.path(), kCodeRoot).generic_string()] = code_of(entry.path());
      }
    }
    for (const std::string file :
         {"app/report/kernel_dram.cpp", "app/report/kernel_dram.h", "app/report/kernel_time.cpp",
          "app/report/kernel_time.h", "app/report/residency.cpp", "app/report/residency.h",
          "sim/residency.cpp", "sim/residency.h"}) {
      code[file] = code_of(kCodeRoot / file);
    }
    return code;
  }();
  return kCode;
}

const std::regex kDeclaration(R"(constexpr [\w:<>, ]*\b(k[A-Z]\w*) = ([^;]*);)");

/// The value of a number, or of a number shifted to the left, of any type; nothing for other
/// expressions.
std::optional<double> value_of(std::string expression) {
  static const std::regex kTyped(R"([\w:]+\{(\w+)\})"), kUnsigned(R"(([0-9])U\b)");
  expression = std::regex_replace(expression, kTyped, "$1");
  expression = std::regex_replace(expression, kUnsigned, "$1");
  static const std::regex kShifted(R"(([0-9][0-9.e+-]*)(?: << ([0-9]+))?)");
  std::smatch match;
  if (!std::regex_match(expression, match, kShifted)) return std::nullopt;
  return std::ldexp(std::stod(match[1]), match[2].matched ? std::stoi(match[2]) : 0);
}

/// A number of the page, "62,914,560"; nothing for any other text.
std::optional<double> number_of(std::string cell) {
  std::erase(cell, ',');
  return value_of(cell);
}

TEST(ConstantsPage, HasEveryConstantOfTheCodeWithItsValue) {
  std::map<std::string, std::string> declared;
  for (const auto& [file, code] : prediction_code()) {
    for (std::sregex_iterator match(code.begin(), code.end(), kDeclaration), end; match != end;
         ++match) {
      declared[file + " " + (*match)[1].str()] = (*match)[2];
    }
  }
  std::set<std::string> on_page;
  for (const Row& row : rows_of("constant")) {
    ASSERT_EQ(quoted(row[0]).size(), 1u) << row[0];
    ASSERT_EQ(quoted(row[2]).size(), 1u) << row[2];
    const std::string name = quoted(row[2]).front() + " " + quoted(row[0]).front();
    EXPECT_TRUE(on_page.insert(name).second) << name << " is there twice";
    const auto constant = declared.find(name);
    if (constant == declared.end()) {
      ADD_FAILURE() << name << " is not in the code";
    } else if (const auto value = value_of(constant->second)) {
      EXPECT_EQ(number_of(row[1].substr(0, row[1].find(' '))), value) << name;
    } else {
      EXPECT_EQ(row[1], "`" + constant->second + "`") << name;
    }
  }
  for (const auto& [name, value] : declared) {
    EXPECT_TRUE(on_page.contains(name)) << name << " = " << value << " is not on the page";
  }
}

/// Marks the characters of a part of the code.
void mark(std::vector<bool>& places, std::size_t begin, std::size_t length) {
  std::fill_n(places.begin() + static_cast<std::ptrdiff_t>(begin), length, true);
}

TEST(ConstantsPage, HasTheExpressionOfEveryOtherNumber) {
  std::map<std::string, std::vector<bool>> explained;
  for (const auto& [file, code] : prediction_code()) {
    std::vector<bool>& places = explained[file];
    places.resize(code.size());
    for (std::sregex_iterator match(code.begin(), code.end(), kDeclaration), end; match != end;
         ++match) {
      mark(places, static_cast<std::size_t>(match->position()),
           static_cast<std::size_t>(match->length()));
    }
  }
  for (const Row& row : rows_of("expression")) {
    ASSERT_EQ(quoted(row[0]).size(), 1u) << row[0];
    ASSERT_EQ(quoted(row[1]).size(), 1u) << row[1];
    const std::string expression = quoted(row[0]).front(), file = quoted(row[1]).front();
    ASSERT_TRUE(prediction_code().contains(file)) << file;
    const std::string& code = prediction_code().at(file);
    std::size_t at = code.find(expression);
    EXPECT_TRUE(at != code.npos) << file << " lacks " << expression;
    for (; at != code.npos; at = code.find(expression, at + 1)) {
      mark(explained[file], at, expression.size());
    }
  }

  // Strings and names are matched as well, so that their digits do not count as numbers
  static const std::regex kToken(
      R"("[^"]*"|[A-Za-z_]\w*|(0x[0-9a-f]+|[0-9][0-9.']*(?:e[-+]?[0-9]+)?)[uUlLfF]*)");
  for (const auto& [file, code] : prediction_code()) {
    for (std::sregex_iterator token(code.begin(), code.end(), kToken), end; token != end; ++token) {
      if (!(*token)[1].matched) continue;
      const double value = std::stod((*token)[1]);
      const auto at = static_cast<std::size_t>(token->position());
      if (value == 0 || value == 1 || explained[file][at]) continue;
      ADD_FAILURE() << token->str() << " of " << file << " is not on the page: "
                    << code.substr(at - std::min<std::size_t>(at, 40), 80);
    }
  }
}

// The data of an H200

/// The value as the page writes it: "4.699 TB/s" for 4.699e12 bytes/s.
std::string shown(double value, const std::string& unit) {
  static const std::map<std::string, std::pair<double, std::string>> kShown = {
      {"bytes/s", {1e12, "TB/s"}}, {"Hz", {1e9, "GHz"}}, {"s", {1e-6, "us"}}};
  const auto other = kShown.find(unit);
  if (other == kShown.end()) return fmt::format("{:.4g} {}", value, unit);
  return fmt::format("{:.4g} {}", value / other->second.first, other->second.second);
}

Calibration calibration_of_h200() {
  const auto calibration = load_calibration("h200");
  EXPECT_TRUE(calibration && calibration.value());
  return *calibration.value();
}

TEST(ConstantsPage, HasEveryCalibratedQuantityThatIsRead) {
  static const std::regex kName(R"rx("([a-z0-9_]+)")rx");
  const auto read = all_matches(prediction_code().at("sim/time/machine_rates.cpp"), kName);
  const std::vector<Row> rows = rows_of("quantity");
  EXPECT_EQ(names_of(rows), std::set<std::string>(read.begin(), read.end()));

  const Calibration calibration = calibration_of_h200();
  for (const Row& row : rows) {
    const MeasuredQuantity* const quantity = calibration.find(quoted(row[0]).front());
    ASSERT_NE(quantity, nullptr) << row[0];
    EXPECT_EQ(row[1] + " " + row[2], shown(quantity->value, quantity->unit)) << row[0];
  }
}

TEST(ConstantsPage, NamesTheQuantitiesOfTileSteps) {
  const std::vector<std::string> quotes = quoted(read_text(kCodeRoot / kPage));
  const std::set<std::string> names(quotes.begin(), quotes.end());
  using kernels::StepCost;
  for (const StepCost cost : {StepCost::plain, StepCost::masked, StepCost::rescaled,
                              StepCost::from_dram, StepCost::one_consumer}) {
    std::string name = kernels::step_cycles_name("STEPS", 1, cost);
    name.replace(name.find("_1_"), 3, "_K_");
    EXPECT_TRUE(names.contains(name)) << name;
  }
  EXPECT_TRUE(names.contains(kernels::step_clock_name("STEPS")));
  EXPECT_TRUE(names.contains(kernels::first_step_name("STEPS")));
  EXPECT_TRUE(names.contains(kernels::lone_first_step_name("STEPS")));

  const Calibration calibration = calibration_of_h200();
  int examples = 0;
  for (const std::string& name : names) {
    if (!name.starts_with("flash1_") && !name.starts_with("flash2_")) continue;
    EXPECT_NE(calibration.find(kernels::step_cycles_name(name, 1)), nullptr) << name;
    ++examples;
  }
  EXPECT_GE(examples, 2);
}

TEST(ConstantsPage, HasEveryFieldOfTheGpuThatIsRead) {
  static const std::regex kField(R"(gpu_?\.(\w+))");
  std::set<std::string> read;
  for (const auto& [file, code] : prediction_code()) {
    for (const std::string& field : all_matches(code, kField)) read.insert(field);
  }
  read.erase("what_if");  // set by the user
  const std::vector<Row> rows = rows_of("field");
  EXPECT_EQ(names_of(rows), read);

  const auto gpu = nlohmann::json::parse(read_text(kCodeRoot / "assets/gpus/h200.json"));
  for (const Row& row : rows) {
    const nlohmann::json& field = gpu.at(quoted(row[0]).front());
    const nlohmann::json& value = field.is_object() ? field.at("value") : field;
    if (value.is_string()) {
      EXPECT_EQ(row[1], value.get<std::string>()) << row[0];
    } else {
      EXPECT_EQ(number_of(row[1]), value.get<double>()) << row[0];
    }
    const std::string unit = field.is_object() ? field.at("unit").get<std::string>() : "";
    EXPECT_EQ(row[2], unit) << row[0];
  }
  EXPECT_EQ(calibration_of_h200().device.sm_count, gpu.at("sm_count").at("value"));
}

}  // namespace
}  // namespace attnscope
