#include "app/jobs/refuse.h"
#include "app/scene/scene.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "app/jobs/step_simulator.h"
#include "app/jobs/worker.h"
#include "reference/npy.h"
#include "sim/snapshot/snapshot.h"

namespace attnscope::app {
namespace {

using testing::HasSubstr;

/// A folder with q.npy [1, 4, 20, 8], k.npy and v.npy [1, 2, 24, 8].
class OwnInputs : public testing::Test {
 protected:
  OwnInputs() {
    std::filesystem::create_directories(folder_);
    write("q", {1, 4, 20, 8});
    write("k", {1, 2, 24, 8});
    write("v", {1, 2, 24, 8});
  }
  ~OwnInputs() override { std::filesystem::remove_all(folder_); }

  void write(const std::string& name, const std::vector<Index>& shape) const {
    const Index count = std::accumulate(shape.begin(), shape.end(), Index{1}, std::multiplies<>());
    std::vector<double> data(static_cast<std::size_t>(count));
    for (std::size_t k = 0; k < data.size(); ++k) data[k] = std::sin(static_cast<double>(k));
    ASSERT_FALSE(write_npy(path(name), shape, data));
  }
  std::string path(const std::string& name) const { return (folder_ / (name + ".npy")).string(); }
  InputPaths files() const { return {path("q"), path("k"), path("v"), ""}; }
  const std::filesystem::path& folder() const { return folder_; }
  std::optional<Error> check(const RunSpec& choice) { return check_choice(choice, gpus_); }
  Refusal refused(const RunSpec& choice, const RunSpec& valid) {
    const auto error = check(choice);
    EXPECT_TRUE(error);
    return refuse(choice, error.value_or(Error{}), valid, gpus_, WorkControl());
  }

 private:
  std::filesystem::path folder_ =
      std::filesystem::path(testing::TempDir()) /
      ("attnscope-own-" +
       std::string(testing::UnitTest::GetInstance()->current_test_info()->name()));
  GpuCatalog gpus_;
};

TEST_F(OwnInputs, MakeASceneOfTheirSizes) {
  const auto scene = scene_of_files(load_scene("default").value(), files());
  ASSERT_TRUE(scene) << scene.error().message;
  const AttentionProblem& problem = scene.value().view.choice.problem;
  EXPECT_EQ(problem.heads, 4);
  EXPECT_EQ(problem.kv_heads, 2);
  EXPECT_EQ(problem.N, 20);
  EXPECT_EQ(problem.N_kv, 24);
  EXPECT_EQ(problem.d, 8);
  EXPECT_FALSE(check(scene.value().view.choice));
}

TEST_F(OwnInputs, AreThoseOfBothRunsOfARace) {
  const Scene scene = scene_of_files(load_scene("race-standard").value(), files()).value();
  ASSERT_TRUE(scene.view.race);
  const RunSpec& rival = scene.view.race->rival;
  EXPECT_EQ(rival.algorithm, "standard");
  EXPECT_EQ(rival.problem, scene.view.choice.problem);
  EXPECT_EQ(rival.files, scene.view.choice.files);
  EXPECT_FALSE(check(rival));
}

TEST_F(OwnInputs, AreWhatTheModelComputesWith) {
  const Scene scene = scene_of_files(load_scene("default").value(), files()).value();
  WorkControl control;
  StepSimulator simulate(std::make_shared<GpuCatalog>());
  Request request{scene.view.choice, 3, 0, 0, 0};  // head 3, after its first operation, a load of Q
  const auto snapshot = simulate(request, control);
  ASSERT_TRUE(snapshot) << snapshot.error().message;
  const SlotState& Q = snapshot.value()->slots.front();
  ASSERT_EQ(Q.tensor, Tensor::Q);
  ASSERT_TRUE(Q.valid);
  EXPECT_NEAR(Q.values.at(5, 3), std::sin(3 * 20 * 8 + 5 * 8 + 3), 1e-3);
}

TEST_F(OwnInputs, AreStoredInASceneFileRelativeToItsFolder) {
  Scene scene = scene_of_files(load_scene("default").value(), files()).value();
  const std::filesystem::path saved = folder() / "mine.json";
  ASSERT_FALSE(save_scene(scene, saved));
  EXPECT_EQ(load_scene(saved.string()).value().view.choice, scene.view.choice);

  scene.view.choice.files = {"q.npy", "k.npy", "v.npy", ""};
  std::string text = scene_text(scene);
  for (const char* name : {"q", "k", "v"}) {
    const std::string absolute = std::filesystem::absolute(std::string(name) + ".npy").string();
    text.replace(text.find(absolute), absolute.size(), std::string(name) + ".npy");
  }
  const Scene again = parse_scene(text, saved.string()).value();
  EXPECT_EQ(again.view.choice.files, files());
}

TEST_F(OwnInputs, AreNotReplacedByTheirScene) {
  const Scene scene = scene_of_files(load_scene("default").value(), files()).value();
  std::filesystem::create_symlink("k.npy", folder() / "link.json");
  const auto size = std::filesystem::file_size(path("k"));
  const auto error = save_scene(scene, folder() / "link.json");
  ASSERT_TRUE(error);
  EXPECT_EQ(error->kind, Error::Kind::invalid_request);
  EXPECT_THAT(words(*error, Reader::screen), HasSubstr("which K reads"));
  EXPECT_EQ(std::filesystem::file_size(path("k")), size);
}

TEST_F(OwnInputs, MayLackTheBatchAndTheHeads) {
  write("q2", {20, 8});
  write("k2", {24, 8});
  const InputPaths flat{path("q2"), path("k2"), path("k2"), ""};
  const RunSpec one = scene_of_files(load_scene("default").value(), flat).value().view.choice;
  EXPECT_EQ(one.problem.batch, 1);
  EXPECT_EQ(one.problem.heads, 1);
  EXPECT_EQ(one.problem.N, 20);
  EXPECT_EQ(one.problem.N_kv, 24);
  EXPECT_EQ(one.problem.d, 8);
  EXPECT_FALSE(check(one));

  write("q3", {4, 20, 8});
  write("k3", {2, 24, 8});
  const InputPaths heads{path("q3"), path("k3"), path("k3"), ""};
  const RunSpec many = scene_of_files(load_scene("default").value(), heads).value().view.choice;
  EXPECT_EQ(many.problem.batch, 1);
  EXPECT_EQ(many.problem.heads, 4);
  EXPECT_EQ(many.problem.kv_heads, 2);
  EXPECT_FALSE(check(many));
  const auto inputs = load_inputs(many.problem, many.files, many.inputs);
  ASSERT_TRUE(inputs) << inputs.error().message;
  EXPECT_NEAR(inputs.value().Q.at(0, 3, 5, 3), std::sin(3 * 20 * 8 + 5 * 8 + 3), 1e-3);
}

TEST_F(OwnInputs, ThatDoNotFitAreReportedInOneLine) {
  const Scene base = load_scene("default").value();
  const auto message = [&](const InputPaths& given) {
    const auto scene = scene_of_files(base, given);
    EXPECT_FALSE(scene);
    return scene ? std::string() : words(scene.error(), Reader::command_line);
  };
  EXPECT_THAT(message({path("q"), "", path("v"), ""}), HasSubstr("--k is missing"));
  EXPECT_THAT(message({path("none"), path("k"), path("v"), ""}), HasSubstr("none.npy"));
  write("flat", {20 * 8});
  EXPECT_THAT(message({path("flat"), path("k"), path("v"), ""}), HasSubstr("[B, H, N, d]"));

  // Sizes that do not match
  write("short", {1, 2, 23, 8});
  Scene scene = scene_of_files(base, {path("q"), path("k"), path("short"), ""}).value();
  const auto error = check(scene.view.choice);
  ASSERT_TRUE(error);
  EXPECT_EQ(error->field, "v");
  EXPECT_THAT(error->message, HasSubstr("short.npy: shape [1, 2, 23, 8]; V of this problem is"));
}

TEST_F(OwnInputs, AFileOfOtherSizesIsAnsweredByItsSizes) {
  const RunSpec valid = load_scene("default").value().view.choice;
  RunSpec choice = valid;
  choice.files.Q = path("q");
  Refusal refusal = refused(choice, valid);
  EXPECT_EQ(refusal.field, "q");
  EXPECT_EQ(refusal.nearest_label, "the sizes of the files");
  ASSERT_TRUE(refusal.nearest) << refusal.error.message;
  EXPECT_EQ(refusal.nearest->problem.heads, 4);
  EXPECT_EQ(refusal.nearest->problem.N_kv, 20);
  EXPECT_EQ(refusal.nearest->files.Q, path("q"));

  const RunSpec of_q = *refusal.nearest;
  choice = of_q;
  choice.files.K = path("k");
  refusal = refused(choice, of_q);
  ASSERT_TRUE(refusal.nearest) << refusal.error.message;
  EXPECT_EQ(refusal.nearest->problem.kv_heads, 2);
  EXPECT_EQ(refusal.nearest->problem.N_kv, 24);
  EXPECT_EQ(refusal.nearest->problem.N, 20);

  // No size makes a missing file valid
  choice = valid;
  choice.files.V = path("none");
  refusal = refused(choice, valid);
  EXPECT_EQ(refusal.field, "v");
  EXPECT_EQ(refusal.nearest_label, "V = generated");
}

}  // namespace
}  // namespace attnscope::app
