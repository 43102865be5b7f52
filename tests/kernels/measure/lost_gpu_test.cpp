/// A corrupted context: in a separate program, which cannot use the GPU afterwards.
#include <gmock/gmock.h>

#include "tests/kernels/measure/copy_kernel.h"
#include "tests/kernels/measure/gpu_session.h"

namespace attnscope::kernels {
namespace {

using ::testing::HasSubstr;

class LostTest : public GpuTest {};

TEST_F(LostTest, AnIllegalAccessLosesTheSessionAndLaterCallsSaySo) {
  const auto first = session().run([&]() -> std::optional<Error> {
    enqueue_bad_write(session());
    session().stream().wait();
    return std::nullopt;
  });
  ASSERT_TRUE(first);
  EXPECT_THAT(first->message, HasSubstr("illegal"));
  EXPECT_TRUE(session().lost());

  bool ran = false;
  const auto second = session().run([&]() -> std::optional<Error> {
    ran = true;
    return std::nullopt;
  });
  ASSERT_TRUE(second);
  EXPECT_FALSE(ran);
  EXPECT_EQ(second->kind, Error::Kind::failed);
  EXPECT_THAT(second->message, HasSubstr("context was lost"));
}

}  // namespace
}  // namespace attnscope::kernels
