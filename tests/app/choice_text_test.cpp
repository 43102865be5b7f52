#include "app/choice_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/app.h"

namespace attnscope::app {
namespace {

using testing::HasSubstr;

Choice small_choice() {
  return load_scene("default").value().view.choice;
}

/// What the field shows after the text was typed.
std::string shown_after(std::string_view field, const std::string& typed) {
  Choice choice = small_choice();
  const auto reason = text_choice(field).read(typed, choice);
  EXPECT_FALSE(reason) << *reason;
  return text_choice(field).text(choice);
}

TEST(ChoiceText, WhatIsTypedIsWhatIsShown) {
  const std::pair<const char*, const char*> cases[] = {{"mask", "window:15,0:top-left"},
                                                       {"mask", "causal:top-left"},
                                                       {"softcap", "30"},
                                                       {"dropout", "0.25"},
                                                       {"dropout_seed", "18446744073709551615"},
                                                       {"seed", "18446744073709551615"},
                                                       {"key_lengths", "48"},
                                                       {"sequences", "0,20,64"},
                                                       {"block_mask", "random:0.3,7"},
                                                       {"splits", "3"},
                                                       {"sram", "49152"},
                                                       {"q", "/a/q.npy"},
                                                       {"do", "/a/do.npy"}};
  for (const auto& [field, typed] : cases) EXPECT_EQ(shown_after(field, typed), typed) << field;
}

TEST(ChoiceText, AnEmptyTextTakesTheChoiceBack) {
  const std::pair<const char*, const char*> cases[] = {
      {"mask", "none"},       {"softcap", "off"},    {"dropout", "off"}, {"sequences", "one"},
      {"key_lengths", "all"}, {"splits", "by rule"}, {"q", "generated"}, {"sram", "the GPU's"}};
  for (const auto& [field, shown] : cases) EXPECT_EQ(shown_after(field, ""), shown) << field;
}

TEST(ChoiceText, AWordIsRefusedInOneLineThatNamesWhatWouldBeAccepted) {
  for (const TextChoice& part : text_choices()) {
    const bool is_path = part.help.find("generated") != std::string_view::npos;
    if (is_path) continue;  // any text is a path
    Choice choice = small_choice();
    const auto reason = part.read("nonsense", choice);
    ASSERT_TRUE(reason) << part.name;
    EXPECT_THAT(*reason, HasSubstr("nonsense")) << part.name;
    EXPECT_EQ(reason->find('\n'), std::string::npos);
  }
}

TEST(ChoiceText, SequencesOfQueriesBringThoseOfTheKeys) {
  Choice choice = small_choice();
  ASSERT_FALSE(text_choice("sequences").read("0,20,64", choice));
  EXPECT_EQ(choice.problem.cu_seqlens_k, (std::vector<Index>{0, 20, 64}));
  EXPECT_FALSE(validate(choice.problem));
  choice.problem.N_kv = 32;
  ASSERT_FALSE(text_choice("sequences").read("0,5,20,64", choice));
  EXPECT_FALSE(validate(choice.problem));
}

/// The nearest choice to one that was typed, and what it is called.
std::string nearest_of(std::string_view field, const std::string& typed, Choice choice) {
  const Choice valid = choice;
  EXPECT_FALSE(text_choice(field).read(typed, choice));
  const auto refused = refuse(choice, std::string(field), valid);
  EXPECT_TRUE(refused && refused->nearest) << field << " " << typed;
  if (!refused || !refused->nearest) return "";
  EXPECT_FALSE(refuse(*refused->nearest, "", valid)) << "the nearest choice must work";
  return refused->nearest_label;
}

TEST(ChoiceText, WhatCannotWorkIsAnsweredByTheNearestThatDoes) {
  const Choice plain = small_choice();
  EXPECT_EQ(nearest_of("dropout", "1.5", plain), "dropout = 0.99");
  EXPECT_EQ(nearest_of("softcap", "-3", plain), "soft-capping off");
  EXPECT_EQ(nearest_of("key_lengths", "99", plain), "valid keys = 64");
  EXPECT_EQ(nearest_of("sequences", "0,30,20,64", plain), "sequences = 0,20,30,64");
  Choice split = load_scene("split-kv").value().view.choice;
  EXPECT_EQ(nearest_of("splits", "99", split), "splits = 16");
}

TEST(ChoiceText, AnAlgorithmWithoutTheChosenPassIsAnsweredByTheForwardPass) {
  const Choice valid = small_choice();
  Choice choice = valid;
  choice.algorithm = "split_kv";
  choice.pass = "backward";
  const auto refused = refuse(choice, "algorithm", valid);
  ASSERT_TRUE(refused && refused->nearest);
  EXPECT_EQ(refused->nearest_label, "pass = forward");
  EXPECT_EQ(refused->nearest->algorithm, "split_kv");
}

}  // namespace
}  // namespace attnscope::app
