/// The embedded sources: complete, and only device code.
#include "kernels/compile/kernel_sources.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <string>

#include "reference/check.h"

namespace attnscope::kernels {
namespace {

using ::testing::HasSubstr;

TEST(KernelSources, AreTheFilesOfThisFolder) {
  for (const SourceFile& file : embedded_sources()) {
    std::ifstream stream(std::string(ATTNSCOPE_SOURCE_DIR "/") + std::string(file.path));
    EXPECT_EQ(file.text, std::string(std::istreambuf_iterator<char>(stream), {})) << file.path;
    EXPECT_EQ(file.text.data()[file.text.size()], '\0') << file.path;
    EXPECT_EQ(file.path.data()[file.path.size()], '\0') << file.path;
  }
  EXPECT_TRUE(kernel_source("kernels/device/place.cuh"));
  EXPECT_FALSE(kernel_source("kernels/none.cuh"));
  EXPECT_FALSE(kernel_source(""));
}

TEST(KernelSources, OfAKernelComeWithEverythingThatTheyIncludeOnce) {
  constexpr std::string_view kRoot = "kernels/flash2/flash2_forward.cuh";
  const auto closure = include_closure(kRoot);
  ASSERT_GT(closure.size(), 15u);
  EXPECT_EQ(closure.front().path, kRoot);
  for (const SourceFile& file : closure) {
    EXPECT_EQ(std::ranges::count(closure, file.path, &SourceFile::path), 1) << file.path;
  }
  for (const char* path : {"reference/philox.h", "kernels/device/online_softmax.cuh"}) {
    EXPECT_EQ(std::ranges::count(closure, path, &SourceFile::path), 1) << path;
  }
}

TEST(KernelSources, AFileThatIsNotThereIsAProgrammersError) {
  EXPECT_THROW(include_closure("kernels/none.cuh"), CheckFailure);
  EXPECT_TRUE(include_closure("").empty());
}

/// Only fixed_width.h includes a header of the standard library, and not for NVRTC.
TEST(KernelSources, OfDeviceCodeNameNoHeaderOfTheHost) {
  for (const SourceFile& file : embedded_sources()) {
    if (!file.path.ends_with(".cuh")) continue;
    for (const SourceFile& included : include_closure(file.path)) {
      if (included.path == "reference/fixed_width.h") continue;
      EXPECT_EQ(included.text.find("#include <"), included.text.npos)
          << file.path << " includes " << included.path;
      EXPECT_EQ(included.text.find("std::"), included.text.npos)
          << file.path << " includes " << included.path;
    }
  }
}

}  // namespace
}  // namespace attnscope::kernels
