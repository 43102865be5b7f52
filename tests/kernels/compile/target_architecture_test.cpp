/// Which code a compiler that may be older than the GPU generates for it, and which driver runs
/// that code.
#include "kernels/compile/nvrtc_library.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace attnscope::kernels {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

const std::vector<int> kOld = {50, 60, 70, 75, 80, 86, 87, 89, 90};
const std::vector<int> kNew = {75, 80, 86, 87, 88, 89, 90, 100, 103, 110, 120, 121};
constexpr CudaVersion kCuda124{12, 4}, kCuda128{12, 8}, kCuda130{13, 0};

NvrtcLibrary nvrtc_of(const CudaVersion& version, const std::vector<int>& architectures) {
  return {.library = SharedLibrary({"libno_nvrtc_here.so"}),
          .version = version,
          .architectures = architectures};
}

TEST(TargetArchitecture, IsThatOfTheGpuWithItsOwnInstructions) {
  const auto target = [](const char* capability) {
    return target_architecture(capability, nvrtc_of(kCuda130, kNew)).value();
  };
  EXPECT_EQ(target("8.0"), "sm_80");
  EXPECT_EQ(target("8.9"), "sm_89");
  EXPECT_EQ(target("9.0"), "sm_90a");
  EXPECT_EQ(target("10.3"), "sm_103a");
  EXPECT_EQ(target("12.1"), "sm_121a");
}

TEST(TargetArchitecture, OfAGpuThatTheCompilerDoesNotKnowIsPtxOfTheNewestBeforeIt) {
  const auto target = [](const char* capability, const std::vector<int>& known) {
    const auto found = target_architecture(capability, nvrtc_of(kCuda124, known));
    return found ? found.value() : found.error().message;
  };
  EXPECT_EQ(target("10.3", kOld), "compute_90");
  EXPECT_EQ(target("12.1", kOld), "compute_90");
  EXPECT_EQ(target("8.8", kOld), "compute_87");
  EXPECT_EQ(target("12.9", kNew), "compute_121");
  EXPECT_EQ(target("10.3", {120, 100, 80}), "compute_100") << "in any order";
  EXPECT_TRUE(is_ptx("compute_90"));
  EXPECT_FALSE(is_ptx("sm_90a"));
}

TEST(TargetArchitecture, OfAGpuOlderThanAllIsRefusedInOneLine) {
  const auto refused = target_architecture("7.0", nvrtc_of(kCuda130, kNew));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind, Error::Kind::unavailable);
  EXPECT_THAT(refused.error().message, AllOf(HasSubstr("NVRTC 13.0"), HasSubstr("7.0"),
                                             HasSubstr("install"), Not(HasSubstr("\n"))));
  EXPECT_FALSE(target_architecture("9.0", nvrtc_of(kCuda130, {})).ok());
  for (const char* wrong : {"", "9", "9.", ".0", "9.0x", "nine", "9.10"}) {
    EXPECT_FALSE(target_architecture(wrong, nvrtc_of(kCuda130, kNew)).ok()) << wrong;
  }
}

TEST(CheckDriver, RunsMachineCodeOfItsMajorVersionAndPtxOfItsVersion) {
  EXPECT_FALSE(check_driver(kCuda128, kCuda124, "sm_90a")) << "a newer minor version";
  EXPECT_FALSE(check_driver(kCuda124, kCuda130, "sm_90a"));
  EXPECT_FALSE(check_driver(kCuda130, kCuda130, "compute_90"));
  EXPECT_FALSE(check_driver(kCuda124, kCuda128, "compute_90"));

  const auto newer = check_driver(kCuda130, kCuda124, "sm_90a");
  ASSERT_TRUE(newer);
  EXPECT_EQ(newer->kind, Error::Kind::unavailable);
  EXPECT_EQ(newer->message,
            "NVRTC 13.0 generates machine code that this NVIDIA driver (CUDA 12.4) cannot run; "
            "update the driver, or install NVRTC 12.x (libnvrtc.so.12)");
  const auto ptx = check_driver(kCuda128, kCuda124, "compute_90");
  ASSERT_TRUE(ptx);
  EXPECT_THAT(ptx->message, AllOf(HasSubstr("NVRTC 12.8 generates PTX"), HasSubstr("CUDA 12.4"),
                                  HasSubstr("install NVRTC 12.4 or older")));
}

TEST(NvrtcNames, BeginWithWhatTheDriverSupports) {
  EXPECT_THAT(nvrtc_names({}), ElementsAre(HasSubstr(".so.13"), HasSubstr(".so.12")));
  EXPECT_THAT(nvrtc_names(kCuda130), ElementsAre(HasSubstr(".so.13"), HasSubstr(".so.12")));
  EXPECT_THAT(nvrtc_names(kCuda124), ElementsAre(HasSubstr(".so.12"), HasSubstr(".so.13")));
}

}  // namespace
}  // namespace attnscope::kernels
