#include "reference/files/nearest_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "app/scene/scene.h"
#include "tests/support/temp_dir.h"

namespace attnscope {
namespace {

using test::TempDir;
using testing::HasSubstr;

TEST(NearestFile, IsOfferedInPlaceOfAMissingOne) {
  const TempDir dir;
  std::ofstream(dir.file("queries.npy")) << "x";
  std::ofstream(dir.file("unrelated.txt")) << "x";
  const Error error = not_a_file(dir.file("querys.npy"));
  EXPECT_EQ(error.kind, Error::Kind::invalid_request);
  EXPECT_EQ(error.accepted, dir.file("queries.npy"));
  EXPECT_THAT(error.message, HasSubstr("no such file; did you mean"));
}

TEST(NearestFile, IsNotOfferedIfNoneIsNear) {
  const TempDir dir;
  std::ofstream(dir.file("unrelated.txt")) << "x";
  const Error error = not_a_file(dir.file("q.npy"));
  EXPECT_EQ(error.accepted, "");
  EXPECT_EQ(error.message, dir.file("q.npy") + ": no such file");
  EXPECT_EQ(not_a_file(dir.path()).message, dir.path().string() + ": not a regular file");
}

TEST(NearestFile, IsOfferedForScenesByNameAndByPath) {
  const auto by_name = app::load_scene("flash2-casual");
  ASSERT_FALSE(by_name);
  EXPECT_EQ(by_name.error().accepted, "flash2-causal");
  const TempDir dir;
  ASSERT_FALSE(app::save_scene(app::load_scene("default").value(), dir.file("lecture.json")));
  const auto by_path = app::load_scene(dir.file("lectrue.json"));
  ASSERT_FALSE(by_path);
  EXPECT_EQ(by_path.error().accepted, dir.file("lecture.json"));
}

}  // namespace
}  // namespace attnscope
