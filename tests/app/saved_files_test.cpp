/// Files of the app after every failure and every abnormal end: each is the complete old one or the
/// complete new one.
#include <gtest/gtest.h>

#include "tests/app/cli/every_fault.h"

namespace attnscope {
namespace {

TEST(SavedByTheApp, ScenesAndPicturesAreOldOrNewAtEveryFault) {
  expect_old_or_new("s.json p.png", {"s.json", "p.png"}, Unsaved::in_the_app);
}

}  // namespace
}  // namespace attnscope
