#include "reference/files/nearest_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

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

}  // namespace
}  // namespace attnscope
