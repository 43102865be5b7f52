#include "kernels/measure/gpu.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace attnscope {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

TEST(Gpu, OpensOrSaysWhatThisMachineLacks) {
  const auto gpu = Gpu::open();
  if (gpu.ok()) {
    EXPECT_FALSE(gpu.value()->device().name.empty());
    return;
  }
  EXPECT_EQ(gpu.error().kind, Error::Kind::unavailable);
  EXPECT_THAT(gpu.error().message, Not(HasSubstr("\n")));
  EXPECT_THAT(
      gpu.error().message,
      AnyOf(StartsWith("no NVIDIA driver"), StartsWith("no GPU"), HasSubstr("update the driver"),
            HasSubstr("compute capability"), StartsWith("this build has no kernels")));
}

}  // namespace
}  // namespace attnscope
