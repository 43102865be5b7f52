#include "app/scene/scene.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "app/jobs/step_simulator.h"
#include "app/scene/choice_rules.h"
#include "reference/field_rules.h"
#include "sim/device/assets.h"
#include "tests/support/temp_dir.h"

namespace attnscope::app {
namespace {

using nlohmann::json;
using test::TempDir;
using testing::HasSubstr;

constexpr const char* kSmall = R"({
  "schema": "attnscope.scene/1",
  "problem": {"seq_len": 32, "head_dim": 8, "dtype": "fp16", "mask": "causal"},
  "algorithm": "flash1",
  "tiling": {"Br": 16, "Bc": 8},
  "playhead": {"step": 7, "granularity": "tile", "speed": 2.5},
  "view": {"query_row": 3, "theme": "light", "later field": [1, 2]},
  "written by": "a newer program"
})";

std::string message_of(const std::string& text) {
  const Result<Scene> scene = parse_scene(text, "x.json");
  EXPECT_FALSE(scene.ok()) << text;
  return scene.ok() ? "" : scene.error().message;
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const auto at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(Scene, ReadsTheChoiceAndTheView) {
  const Result<Scene> scene = parse_scene(kSmall, "folder/small.json");
  ASSERT_TRUE(scene.ok()) << scene.error().message;
  const ViewState& view = scene.value().view;
  EXPECT_EQ(scene.value().name, "small");
  EXPECT_EQ(view.choice.problem.N, 32);
  EXPECT_EQ(view.choice.problem.N_kv, 32);
  EXPECT_TRUE(view.choice.problem.mask.is_causal());
  EXPECT_EQ(view.choice.algorithm, "flash1");
  EXPECT_EQ(view.choice.tiling(), (Tiling{16, 8}));
  EXPECT_TRUE(view.choice.round_to_storage);
  EXPECT_EQ(view.step, 7);
  EXPECT_EQ(view.granularity, Granularity::tile);
  EXPECT_DOUBLE_EQ(view.speed, 2.5);
  EXPECT_EQ(view.query_row, 3);
  EXPECT_EQ(view.theme, ThemeName::light);
}

TEST(Scene, SavingKeepsTheViewAndEveryUnknownField) {
  Scene scene = parse_scene(kSmall, "small.json").value();
  scene.view.step = 9;
  scene.view.choice.problem.N = 48;
  const std::string text = scene_text(scene);
  const Result<Scene> again = parse_scene(text, "small.json");
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_EQ(again.value().view.step, 9);
  EXPECT_EQ(again.value().view.choice.problem.N, 48);
  EXPECT_EQ(again.value().view.choice.tiling(), scene.view.choice.tiling());
  const auto document = nlohmann::json::parse(text);
  EXPECT_EQ(document["written by"], "a newer program");
  EXPECT_EQ(document["view"]["later field"], nlohmann::json({1, 2}));
}

TEST(Scene, RemembersWhichPanelsAreShown) {
  Scene scene = parse_scene(kSmall, "small.json").value();
  EXPECT_EQ(scene.view.memory_tab, MemoryTab::memory);
  EXPECT_EQ(scene.view.softmax_tab, SoftmaxTab::row);
  scene.view.memory_tab = MemoryTab::warps;
  EXPECT_EQ(scene.view.timeline_tab, TimelineTab::operations);
  scene.view.softmax_tab = SoftmaxTab::why_online;
  scene.view.timeline_tab = TimelineTab::sms;
  const Scene again = parse_scene(scene_text(scene), "small.json").value();
  EXPECT_EQ(again.view.memory_tab, MemoryTab::warps);
  EXPECT_EQ(again.view.softmax_tab, SoftmaxTab::why_online);
  EXPECT_EQ(again.view.timeline_tab, TimelineTab::sms);
  EXPECT_EQ(load_scene("warps").value().view.memory_tab, MemoryTab::warps);
  EXPECT_EQ(load_scene("why-online").value().view.softmax_tab, SoftmaxTab::why_online);
  EXPECT_THAT(message_of(replaced(kSmall, "\"query_row\": 3", "\"memory\": \"threads\"")),
              HasSubstr("memory, warps or gpu"));
  EXPECT_THAT(message_of(replaced(kSmall, "\"query_row\": 3", "\"timeline\": \"warps\"")),
              HasSubstr("operations or sms"));
}

TEST(Scene, KeepsABlockMaskScoreFunctionsAndARace) {
  Scene scene = parse_scene(kSmall, "small.json").value();
  RunSpec& choice = scene.view.choice;
  choice.algorithm = "block_sparse";
  choice.block_mask = parse_block_pattern("local-global:1,1").value();
  choice.variant.skip_unused_kv = true;
  choice.problem.score.soft_cap = 5.0;
  choice.problem.key_lengths = {choice.problem.N_kv - 3};
  choice.problem.key_lengths.resize(static_cast<std::size_t>(choice.problem.batch),
                                    choice.problem.N_kv - 3);
  RunSpec rival = rival_of(choice, "flash1");
  rival.set_tiling({32, 8});
  rival.gpu = "a100-40gb";
  rival.problem.mask = Mask::causal();
  scene.view.race = Race{rival, RaceClock::tiles};
  scene.view.race_tick = 4;
  const Scene again = parse_scene(scene_text(scene), "small.json").value();
  EXPECT_EQ(again.view.choice, choice);
  EXPECT_EQ(again.view.race, scene.view.race);
  EXPECT_EQ(again.view.race_tick, 4);

  // Removed fields are also removed from the file
  Scene plain = again;
  plain.view.race.reset();
  plain.view.choice.block_mask.reset();
  plain.view.choice.variant.skip_unused_kv = false;
  plain.view.choice.problem.score = {};
  plain.view.choice.problem.key_lengths.clear();
  const Scene third = parse_scene(scene_text(plain), "small.json").value();
  EXPECT_EQ(third.view.choice, plain.view.choice);
  EXPECT_FALSE(third.view.race);
}

TEST(Scene, KeepsEveryChoiceThatAnAlgorithmHas) {
  const std::pair<const char*, std::vector<std::pair<const char*, const char*>>> kChoices[] = {
      {"split_kv", {{"splits", "3"}, {"separate_heads", "true"}}},
      {"standard", {{"fusion", "pairs"}, {"checkpoint", "true"}}},
      {"flash1", {{"skip_first_reads", "true"}, {"d_once", "true"}, {"carry", "fp32"}}},
      {"flash2",
       {{"round_to_storage", "true"}, {"deterministic", "true"}, {"visit_hidden", "true"}}}};
  for (const auto& [algorithm, fields] : kChoices) {
    Scene scene = parse_scene(kSmall, "small.json").value();
    RunSpec& choice = scene.view.choice;
    choice.round_to_storage = false;
    choice.algorithm = algorithm;
    for (const auto& [key, text] : fields) ASSERT_FALSE(set_field(run_field(key), text, choice));
    EXPECT_EQ(parse_scene(scene_text(scene), "small.json").value().view.choice, choice)
        << algorithm;
  }
}

TEST(Scene, LeavesOutWhatItsAlgorithmOrPassDoesNotHave) {
  const std::string old = R"("carry": "fp32", "splits": 0, "variant": {"fusion": "pairs"},
      "inputs": {"do": "/a/do.npy"}, "algorithm": "flash2")";
  const Result<Scene> scene =
      parse_scene(replaced(kSmall, "\"algorithm\": \"flash1\"", old), "x.json");
  ASSERT_TRUE(scene) << scene.error().message;
  const RunSpec& choice = scene.value().view.choice;
  EXPECT_EQ(choice.variant, ScheduleVariant{});
  EXPECT_FALSE(choice.splits);
  EXPECT_FALSE(choice.files.any());
  EXPECT_FALSE(validate(choice));
}

TEST(Scene, KeepsMemoriesSeedsFilesAndWhatThePanelsShow) {
  Scene scene = parse_scene(kSmall, "small.json").value();
  ViewState& view = scene.view;
  view.choice.pass = PassKind::backward;
  view.choice.what_if.sram_bytes = 49152;
  view.choice.what_if.l2_bytes = 1 << 20;
  view.choice.allow_overflow = true;
  view.choice.round_to_storage = false;
  view.choice.inputs = {InputKind::needle, ~std::uint64_t{0}};
  view.choice.files = {"/a/q.npy", "/a/k.npy", "/a/v.npy", "/a/do.npy"};
  view.choice.problem.score.dropout = {0.25, ~std::uint64_t{0}};
  view.choice.problem.cu_seqlens_q = view.choice.problem.cu_seqlens_k = {0, 12, 32};
  view.query_row = 5;
  view.O_column = 6;
  view.head = 0;
  view.presenter = true;
  view.explain_tab = ExplainTab::cuda_source;
  view.ledger_scope = LedgerScope::whole_pass;
  view.chart = ChartQuantity::theorems;
  view.chart_over = ChartAxis::density;
  view.enlarged = Slot::charts;
  view.error_carry = Carry::problem;
  const Result<Scene> read = parse_scene(scene_text(scene), "/b/small.json");
  ASSERT_TRUE(read.ok()) << read.error().message;
  const ViewState& again = read.value().view;
  EXPECT_EQ(again.choice, view.choice);
  EXPECT_EQ(again.step, view.step);
  EXPECT_EQ(again.speed, view.speed);
  EXPECT_EQ(again.granularity, view.granularity);
  EXPECT_EQ(again.query_row, 5);
  EXPECT_EQ(again.O_column, 6);
  EXPECT_TRUE(again.presenter);
  EXPECT_EQ(again.theme, view.theme);
  EXPECT_EQ(again.explain_tab, ExplainTab::cuda_source);
  EXPECT_EQ(again.ledger_scope, LedgerScope::whole_pass);
  EXPECT_EQ(again.chart, ChartQuantity::theorems);
  EXPECT_EQ(again.chart_over, ChartAxis::density);
  EXPECT_EQ(again.enlarged, Slot::charts);
  EXPECT_EQ(again.error_carry, Carry::problem);
  // Writing it a second time gives exactly the same text
  EXPECT_EQ(scene_text(read.value()),
            scene_text(parse_scene(scene_text(read.value()), "x").value()));
}

TEST(Scene, EveryFileIsNamedFromTheScenesFolder) {
  Scene scene = parse_scene(kSmall, "small.json").value();
  json document = json::parse(scene_text(scene));
  document["algorithm"] = "block_sparse2";
  document["block_mask"] = "masks/m.npy";
  document["gpu"] = "mine.json";
  document["inputs"]["q"] = "q.npy";
  const auto read = parse_scene(document.dump(), "/b/small.json");
  ASSERT_TRUE(read.ok()) << read.error().message;
  const RunSpec& choice = read.value().view.choice;
  EXPECT_EQ(choice.block_mask->path, "/b/masks/m.npy");
  EXPECT_EQ(choice.gpu, "/b/mine.json");
  EXPECT_EQ(choice.files.Q, "/b/q.npy");
  document["gpu"] = "t4";
  document["block_mask"] = "butterfly";
  const auto named = parse_scene(document.dump(), "/b/small.json");
  ASSERT_TRUE(named.ok()) << named.error().message;
  EXPECT_EQ(named.value().view.choice.gpu, "t4");
  EXPECT_EQ(named.value().view.choice.block_mask->kind, BlockPattern::Kind::butterfly);
}

TEST(Scene, RefusesWhatItCannotRead) {
  const std::string small = kSmall;
  EXPECT_THAT(message_of(""), HasSubstr("empty"));
  EXPECT_THAT(message_of(small.substr(0, 90)), HasSubstr("x.json:"));
  EXPECT_THAT(message_of(replaced(small, "scene/1", "scene/5")), HasSubstr("newer"));
  EXPECT_THAT(message_of(replaced(small, "attnscope.scene/1", "attnscope.gpu/1")),
              HasSubstr("attnscope.scene/4"));
  EXPECT_THAT(message_of(replaced(small, "\"light\"", "\"pink\"")),
              HasSubstr("dark, light or contrast"));
  EXPECT_THAT(message_of(replaced(small, "2.5", "-1")), HasSubstr("speed"));
  EXPECT_THAT(message_of(replaced(small, "\"step\": 7", "\"step\": -7")), HasSubstr("step"));
  EXPECT_THAT(message_of(replaced(small, "\"view\"", "\"splits\": -1, \"view\"")),
              HasSubstr("splits: '-1' is not accepted; use a whole number from 1"));
  EXPECT_THAT(message_of(replaced(small, "\"view\"", "\"variant\": {\"fusion\": 1}, \"view\"")),
              HasSubstr("variant: fusion"));
  EXPECT_THAT(message_of(replaced(small, "\"view\"", "\"inputs\": {\"seed\": -1}, \"view\"")),
              HasSubstr("from 0 to 2^64 - 1"));
  EXPECT_THAT(message_of(replaced(small, "\"seq_len\": 32", "\"seq_len\": 0")),
              HasSubstr("problem"));
  EXPECT_THAT(message_of(replaced(small, "\"Br\": 16", "\"Br\": \"16\"")), HasSubstr("Br"));
  EXPECT_THAT(message_of(replaced(small, "\"Br\": 16", "\"Br\": \"16\"")),
              testing::StartsWith("x.json: tiling: Br: "));
}

TEST(Scene, RefusesTextsTooLongForTheBarAndInvalidRivalsAndMemories) {
  const std::string small = kSmall;
  const auto with = [&](const std::string& field) {
    return message_of(replaced(small, "\"algorithm\"", field + ", \"algorithm\""));
  };
  EXPECT_THAT(with("\"title\": \"" + std::string(201, 'x') + "\""), HasSubstr("at most 200"));
  EXPECT_THAT(with(R"("title": "a\nb")"), HasSubstr("one line"));
  EXPECT_THAT(with(R"("pass": "sideways")"), HasSubstr("forward, backward or both"));
  EXPECT_THAT(with(R"("race": {"against": "flash3"})"), HasSubstr("did you mean 'flash"));
  EXPECT_THAT(with(R"("race": {"rival": {"algorithm": "flash2"}})"),
              HasSubstr("race: rival: problem: the field is missing"));
  EXPECT_THAT(with(R"("sram_bytes": 9223372036854775807)"), HasSubstr("sram_bytes"));
  EXPECT_THAT(with(R"("l2_bytes": -1)"), HasSubstr("l2_bytes: '-1' is not accepted"));
  EXPECT_THAT(with(R"("allow_overflow": 1)"), HasSubstr("true or false"));
}

TEST(Scene, RefusesARowAColumnAndAStepThatAreNotThere) {
  ViewState view = parse_scene(kSmall, "x.json").value().view;
  WorkControl control;
  StepSimulator simulator(std::make_shared<GpuCatalog>());
  const auto run = simulator({view.choice}, control).value()->run;
  const auto checked = [&] {
    const auto error = check_places(view, *run);
    return error ? error->message : "";
  };
  EXPECT_EQ(checked(), "");
  view.query_row = 32;
  EXPECT_EQ(checked(), "view: query_row is 32, but there are 32 query rows; use 0 to 31");
  view.query_row = 31;
  view.O_column = 8;
  EXPECT_THAT(checked(), HasSubstr("use 0 to 7"));
  view.O_column = 7;

  // The playhead may be before the first operation, and at any one up to the run's last
  const Index count = run->step_count;
  for (const Index step : {Index{-1}, Index{0}, count - 1}) {
    view.step = step;
    EXPECT_EQ(checked(), "");
  }
  view.step = count;
  EXPECT_EQ(checked(),
            fmt::format("playhead: step {}: the last operation is {}", count, count - 1));
  view.step = 9'000'000'000'000'000'000;
  EXPECT_THAT(checked(), HasSubstr("the last operation"));
  EXPECT_THAT(message_of(replaced(kSmall, "\"step\": 7", "\"step\": -2")), HasSubstr("use -1"));

  const auto wrong_head = simulator({view.choice, /*head=*/1}, control);
  ASSERT_FALSE(wrong_head);
  EXPECT_THAT(wrong_head.error().message, HasSubstr("head is 1"));
}

TEST(Scene, OpensOnTheChartThatItNames) {
  const ViewState view = load_scene("chart-io-density").value().view;
  EXPECT_EQ(view.chart, ChartQuantity::theorems);
  EXPECT_EQ(view.chart_over, ChartAxis::density);
  EXPECT_EQ(view.enlarged, Slot::charts);
  EXPECT_EQ(load_scene("default").value().view.chart, ChartQuantity::bytes);
  EXPECT_EQ(load_scene("default").value().view.error_carry, Carry::fp32);
}

TEST(Scene, AFileOfAnotherKindIsReportedInOneLineAndNotReadWhole) {
  const std::filesystem::path path = testing::TempDir() + "attnscope_huge_scene.json";
  std::ofstream(path) << "{";
  std::filesystem::resize_file(path, std::uintmax_t{1} << 33);  // a sparse file
  const Result<Scene> scene = load_scene(path.string());
  std::filesystem::remove(path);
  ASSERT_FALSE(scene.ok());
  EXPECT_THAT(scene.error().message, HasSubstr("a file of 8589934592 bytes is too large"));
  const Result<Scene> folder = load_scene(testing::TempDir());
  ASSERT_FALSE(folder.ok());
  EXPECT_THAT(folder.error().message, HasSubstr("not a regular file"));
}

TEST(Scene, AnUnknownNameGetsTheCommandThatListsScenes) {
  const Result<Scene> scene = load_scene("no-such-scene");
  ASSERT_FALSE(scene.ok());
  EXPECT_EQ(scene.error().kind, Error::Kind::invalid_request);
  EXPECT_THAT(scene.error().message, HasSubstr("attnscope-cli list scenes"));
}

TEST(Scene, EveryShippedSceneCanBeSimulated) {
  const std::vector<std::string> names = list_assets("scenes");
  EXPECT_GE(names.size(), 5u);
  GpuCatalog gpus;
  for (const std::string& name : names) {
    const Result<Scene> scene = load_scene(name);
    ASSERT_TRUE(scene.ok()) << scene.error().message;
    const auto error = check_choice(scene.value().view.choice, gpus);
    EXPECT_FALSE(error) << name << ": " << error->message;
  }
}

TEST(Scene, TheDefaultIsTheSmallFlash2Problem) {
  const RunSpec choice = load_scene("default").value().view.choice;
  EXPECT_EQ(choice.algorithm, "flash2");
  EXPECT_EQ(choice.problem.N, 64);
  EXPECT_EQ(choice.problem.d, 16);
  EXPECT_EQ(choice.tiling(), (Tiling{16, 16}));
  EXPECT_EQ(choice.problem.dtype, DType::fp16);
}

TEST(Scene, SavingWhereNothingCanBeWrittenSaysSo) {
  const Scene scene = parse_scene(kSmall, "small.json").value();
  const auto error = save_scene(scene, "/no/such/folder/scene.json");
  ASSERT_TRUE(error);
  EXPECT_THAT(error->message, HasSubstr("/no/such/folder"));
}

TEST(Scene, IsOfferedByItsNearestNameOrPath) {
  const auto by_name = load_scene("flash2-casual");
  ASSERT_FALSE(by_name);
  EXPECT_EQ(by_name.error().accepted, "flash2-causal");
  const TempDir dir;
  ASSERT_FALSE(save_scene(load_scene("default").value(), dir.file("lecture.json")));
  const auto by_path = load_scene(dir.file("lectrue.json"));
  ASSERT_FALSE(by_path);
  EXPECT_EQ(by_path.error().accepted, dir.file("lecture.json"));
}

}  // namespace
}  // namespace attnscope::app
