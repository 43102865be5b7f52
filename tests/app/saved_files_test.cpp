/// Files of the app at every failure and every end: each is the old one or the new one, whole.
#include <gtest/gtest.h>

#include "tests/cli/every_fault.h"

namespace attnscope {
namespace {

TEST(SavedByTheApp, ScenesAndPicturesAreOldOrNewAtEveryFault) {
  expect_old_or_new("s.json p.png", {"s.json", "p.png"}, Unsaved::in_the_app);
}

}  // namespace
}  // namespace attnscope
