#include "app/files/opened_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <numeric>

#include "app/app.h"
#include "reference/npy.h"
#include "sim/device/assets.h"
#include "tests/support/temp_dir.h"
#include "tests/support/wait_until.h"

namespace attnscope::app {
namespace {

using test::TempDir;
using testing::ElementsAre;
using testing::HasSubstr;

void write_tensor(const std::string& path, const std::vector<Index>& shape) {
  const Index count = std::accumulate(shape.begin(), shape.end(), Index{1}, std::multiplies<>());
  const std::vector<double> data(static_cast<std::size_t>(count), 0.5);
  ASSERT_FALSE(write_npy(path, shape, data));
}

void write_head(const TempDir& dir, const std::string& q, const std::string& k,
                const std::string& v) {
  for (const std::string& name : {q, k, v}) write_tensor(dir.file(name), {1, 2, 32, 8});
}

TEST(OpenedFiles, OneTensorBringsTheOthersOfItsFolder) {
  const TempDir dir;
  write_head(dir, "layer0_Q.npy", "layer0_K.npy", "layer0_V.npy");
  const std::vector<std::string> one{dir.file("layer0_K.npy")};
  const auto paths = tensors_among(one);
  ASSERT_TRUE(paths) << paths.error().message;
  EXPECT_EQ(paths.value().Q, dir.file("layer0_Q.npy"));
  EXPECT_EQ(paths.value().K, dir.file("layer0_K.npy"));
  EXPECT_EQ(paths.value().V, dir.file("layer0_V.npy"));
  EXPECT_EQ(paths.value().dO, "");
}

TEST(OpenedFiles, TensorsAreRecognisedByWordsInTheirNames) {
  const std::vector<std::string> all{"/x/query.npy", "/x/value.npy", "/x/key.npy", "/x/do.npy"};
  const auto paths = tensors_among(all);
  ASSERT_TRUE(paths);
  EXPECT_EQ(paths.value().Q, "/x/query.npy");
  EXPECT_EQ(paths.value().K, "/x/key.npy");
  EXPECT_EQ(paths.value().V, "/x/value.npy");
  EXPECT_EQ(paths.value().dO, "/x/do.npy");
  const std::vector<std::string> unknown{"/x/tensor.npy"};
  ASSERT_FALSE(tensors_among(unknown));
  EXPECT_THAT(tensors_among(unknown).error().message, HasSubstr("q.npy, k.npy and v.npy"));
}

TEST(OpenedFiles, AreScenesRecordingsAndTensors) {
  const TempDir dir;
  const Scene base = load_scene("default").value();
  write_head(dir, "q.npy", "k.npy", "v.npy");
  const auto tensors = open_files({dir.file("q.npy")}, base);
  ASSERT_TRUE(tensors) << tensors.error().message;
  ASSERT_TRUE(tensors.value().scene);
  EXPECT_EQ(tensors.value().scene->view.choice.problem.N, 32);
  EXPECT_EQ(tensors.value().scene->view.choice.problem.heads, 2);

  const std::string recording = find_asset("recordings", "h100").value().string();
  const auto recorded = open_files({recording}, base);
  ASSERT_TRUE(recorded) << recorded.error().message;
  EXPECT_FALSE(recorded.value().scene);
  EXPECT_FALSE(recorded.value().recorded.empty());

  const auto scene = open_files({"flash1-64"}, base);
  ASSERT_TRUE(scene);
  EXPECT_EQ(scene.value().scene->name, "flash1-64");

  const auto missing = open_files({dir.file("k"), dir.file("qq.npy")}, base);
  EXPECT_FALSE(missing);
}

TEST(OpenedFiles, AFolderListsWhatCanBeOpened) {
  const TempDir dir;
  std::filesystem::create_directory(dir.path() / "more");
  std::filesystem::create_directory(dir.path() / ".hidden");
  for (const char* name : {"z.json", "a.npy", "notes.txt", ".state.json"}) {
    std::ofstream(dir.file(name)) << "x";
  }
  const FolderList list = list_folder(dir.path());
  EXPECT_EQ(list.path, dir.path().string());
  std::vector<std::string> names;
  for (const FolderEntry& entry : list.entries) names.push_back(entry.name);
  EXPECT_THAT(names, ElementsAre("more", "a.npy", "z.json"));
  EXPECT_TRUE(list.entries[0].is_folder);
  EXPECT_TRUE(list_folder(dir.path() / "none").entries.empty());
}

class OpenedInApp : public testing::Test {
 protected:
  OpenedInApp() : app_(load_scene("default").value(), {}) { settle(); }
  void settle() { EXPECT_TRUE(test::update_until_settled(app_)); }
  void run(Command command) {
    app_.scene_answer.reset();
    app_.commands.push(std::move(command));
    settle();
    ASSERT_TRUE(app_.scene_answer);
  }

  TempDir dir_;
  App app_;
};

TEST_F(OpenedInApp, ASceneSavedAsMineOpensAsMine) {
  const std::string mine = dir_.file("mine");
  run(SaveScene{mine});
  EXPECT_EQ(app_.scene_answer->error, "");
  EXPECT_TRUE(std::filesystem::exists(mine + ".json"));
  EXPECT_EQ(app_.scene.name, "mine");
  EXPECT_EQ(app_.scene.title, "mine");
  EXPECT_THAT(app_.recent_files, ElementsAre(mine + ".json"));

  run(OpenScene{"flash1-64"});
  EXPECT_EQ(app_.scene.name, "flash1-64");
  EXPECT_EQ(app_.recent_files.size(), 1u) << "shipped scenes are in the list of scenes";
  run(OpenScene{mine});
  EXPECT_EQ(app_.scene_answer->error, "");
  EXPECT_EQ(app_.scene.name, "mine");
  EXPECT_EQ(app_.scene.title, "mine");
}

TEST_F(OpenedInApp, SavingAsksBeforeItReplacesAFile) {
  const std::string file = dir_.file("mine.json");
  std::ofstream(file) << "precious";
  run(SaveScene{file});
  EXPECT_TRUE(app_.scene_answer->file_exists);
  std::string text;
  std::ifstream(file) >> text;
  EXPECT_EQ(text, "precious");
  EXPECT_EQ(app_.scene.name, "default");
  run(SaveScene{file, /*replaces=*/true});
  EXPECT_FALSE(app_.scene_answer->file_exists);
  EXPECT_EQ(load_scene(file).value().name, "mine");
}

TEST_F(OpenedInApp, AMissingFileOffersTheNearest) {
  run(SaveScene{dir_.file("lecture")});
  run(OpenScene{dir_.file("lectrue.json")});
  EXPECT_NE(app_.scene_answer->error, "");
  EXPECT_EQ(app_.scene_answer->nearest, dir_.file("lecture.json"));
}

TEST_F(OpenedInApp, DroppedRecordingsJoinTheMeasurements) {
  const std::size_t before = app_.measurements.recorded.size();
  const std::string copy = dir_.file("copy.json");
  std::filesystem::copy_file(find_asset("recordings", "h100").value(), copy);
  run(OpenFiles{{copy}});
  EXPECT_EQ(app_.scene_answer->error, "");
  EXPECT_GT(app_.measurements.recorded.size(), before);
  EXPECT_THAT(app_.recent_files, ElementsAre(copy));
  EXPECT_EQ(app_.scene.name, "default");
}

TEST_F(OpenedInApp, DroppedTensorsBecomeAScene) {
  write_head(dir_, "q.npy", "k.npy", "v.npy");
  run(OpenFiles{{dir_.file("q.npy"), dir_.file("k.npy"), dir_.file("v.npy")}});
  EXPECT_EQ(app_.scene_answer->error, "");
  EXPECT_EQ(app_.view.choice.problem.N, 32);
  EXPECT_EQ(app_.view.choice.files.K, dir_.file("k.npy"));
}

TEST(ShippedScenes, HaveAnOrderAGroupAndASentence) {
  const std::vector<ShippedScene> scenes = list_shipped_scenes();
  ASSERT_GT(scenes.size(), 20u);
  std::vector<std::string> groups;
  for (std::size_t k = 0; k < scenes.size(); ++k) {
    EXPECT_FALSE(scenes[k].group.empty()) << scenes[k].name;
    EXPECT_TRUE(scenes[k].about.ends_with('.')) << scenes[k].name;
    EXPECT_TRUE(k == 0 || scenes[k - 1].order < scenes[k].order) << scenes[k].name;
    if (groups.empty() || groups.back() != scenes[k].group) groups.push_back(scenes[k].group);
  }
  EXPECT_EQ(groups.front(), "Start here");
  std::ranges::sort(groups);
  EXPECT_EQ(std::ranges::adjacent_find(groups), groups.end()) << "a group is in two places";
}

}  // namespace
}  // namespace attnscope::app
