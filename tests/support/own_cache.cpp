/// Gives a test program, and the programs that it runs, a separate cache folder, which is empty at
/// first: a test's results are those of the current code, and the user's cache stays unchanged.

#include <gtest/gtest.h>

#include <cstdlib>
#include <optional>
#include <string>

#include "tests/support/temp_dir.h"

namespace attnscope::test {
namespace {

class OwnCache : public testing::Environment {
 public:
  void SetUp() override {
    folder_.emplace();
    ASSERT_EQ(::setenv("XDG_CACHE_HOME", folder_->path().c_str(), 1), 0);
  }
  void TearDown() override { folder_.reset(); }

 private:
  std::optional<TempDir> folder_;
};

[[maybe_unused]] const testing::Environment* const own_cache =
    testing::AddGlobalTestEnvironment(new OwnCache);

}  // namespace
}  // namespace attnscope::test
