/// The reference of fields that attnscope-cli guide prints, compared with the table and the
/// commands.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "app/cli/commands.h"
#include "reference/field_rules.h"
#include "reference/run_fields.h"
#include "tests/app/cli/cli_process.h"

namespace attnscope {
namespace {

using nlohmann::json;

TEST(Guide, HasALineForEveryField) {
  const CliOutcome outcome = run_cli("guide");
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  const auto lines = std::count(outcome.out.begin(), outcome.out.end(), '\n');
  EXPECT_EQ(lines, static_cast<std::ptrdiff_t>(run_fields().size()) + 6);
  EXPECT_NE(outcome.out.find("| `--seq-len N` | N | `problem/seq_len` | queries per head | a whole "
                             "number from 1 to 134217728 | 1024 | both |\n"),
            std::string::npos)
      << outcome.out;
  EXPECT_NE(outcome.out.find("`--gpu NAME\\|FILE`"), std::string::npos);
}

TEST(Guide, GivesProgramsTheSameFields) {
  const json document = answered("guide");
  EXPECT_EQ(document["schema"], "attnscope.guide/1");
  ASSERT_EQ(document["fields"].size(), run_fields().size());
  const auto row = [&](std::string_view key) {
    return document["fields"][static_cast<std::size_t>(&run_field(key) - run_fields().data())];
  };
  EXPECT_EQ(row("tiling_rule"), (json{{"option", "--tiling RULE"},
                                      {"screen", "tiles by rule"},
                                      {"json", ""},
                                      {"help", run_field("tiling_rule").help},
                                      {"accepts", "paper, largest or kernel"},
                                      {"default", "flash1: paper if it fits, else largest"},
                                      {"of", "model"}}));
  EXPECT_EQ(row("deterministic")["of"], "kernel");
  EXPECT_EQ(row("deterministic")["accepts"], "on or off");
  EXPECT_EQ(row("dropout_first_head")["option"], "");
}

TEST(Guide, NamesTheOptionsThatTheCommandsTake) {
  for (const RunField& field : run_fields()) {
    if (field.option.empty()) continue;
    const auto takes = [&](const cli::CommandSpec& command) {
      return std::ranges::find(command.options, field.option, &cli::OptionSpec::name) !=
             command.options.end();
    };
    const bool of_model = field.target != FieldTarget::kernel;
    EXPECT_EQ(takes(cli::simulate_command()), of_model) << field.option;
    if (field.target != FieldTarget::model) {
      EXPECT_TRUE(takes(cli::measure_command()) && takes(cli::run_command())) << field.option;
    }
  }
}

}  // namespace
}  // namespace attnscope
