
#include <gtest/gtest.h>

#include <sstream>

#include "app/scene/scene.h"
#include "reference/field_rules.h"

namespace attnscope::app {
namespace {

/// The run that the options request, split as in a shell: quotes keep a word together.
RunSpec run_of_options(const std::string& text) {
  std::vector<std::string> words;
  bool quoted = false;
  for (const char letter : text) {
    if (letter == '\'') {
      quoted = !quoted;
    } else if (letter == ' ' && !quoted) {
      words.emplace_back();
    } else {
      words.back() += letter;
    }
  }
  RunSpec run;
  for (std::size_t k = 0; k < words.size(); ++k) {
    EXPECT_TRUE(words[k].starts_with("--")) << words[k];
    const auto field =
        std::ranges::find(run_fields(), std::string_view(words[k]).substr(2), &RunField::option);
    const bool is_flag = field->kind == FieldKind::flag;
    const auto refused = set_field(*field, is_flag ? "true" : words[++k], run);
    EXPECT_FALSE(refused) << text;
  }
  return run;
}

TEST(OptionsText, ReproducesTheRunOfEveryScene) {
  for (const ShippedScene& scene : list_shipped_scenes()) {
    const RunSpec run = load_scene(scene.name).value().view.choice;
    const RunSpec again = run_of_options(options_text(run, FieldTarget::model));
    for (const RunField& field : run_fields()) {
      if (field.option.empty() || field.target == FieldTarget::kernel) continue;
      EXPECT_EQ(field.print(again), field.print(run)) << scene.name << ": " << field.key;
    }
  }
}

TEST(OptionsText, NamesFieldsThatDoNotFollowOthers) {
  RunSpec run;
  run.problem.heads = 8;
  run.problem.kv_heads = 1;
  run.problem.N = run.problem.N_kv = 4096;
  EXPECT_EQ(options_text(run, FieldTarget::model),
            fmt::format(" --algorithm {} --heads 8 --kv-heads 1 --seq-len 4096", run.algorithm));
}

TEST(OptionsText, QuotesWhatAShellWouldSplit) {
  RunSpec run;
  run.files.Q = "my $own q's.npy";
  const std::string text = options_text(run, FieldTarget::model);
  EXPECT_NE(text.find(R"( --q 'my $own q'\''s.npy')"), std::string::npos) << text;
}

}  // namespace
}  // namespace attnscope::app
