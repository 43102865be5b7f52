/// cuBLAS is missing, or the library is not cuBLAS.
#include "kernels/standard/cublas_library.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace attnscope::kernels {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(CublasLibrary, ThatIsMissingIsUnavailableInOneLineThatSaysWhatHelps) {
  const auto library = load_cublas({"libno_cublas_here.so.13", "libno_cublas_here.so.12"});
  ASSERT_FALSE(library.ok());
  EXPECT_EQ(library.error().kind, Error::Kind::unavailable);
  EXPECT_THAT(library.error().message, AllOf(HasSubstr("kernel standard needs cuBLAS 13 or 12"),
                                             HasSubstr("libno_cublas_here.so.13"),
                                             HasSubstr("LD_LIBRARY_PATH"), Not(HasSubstr("\n"))));
}

TEST(CublasLibrary, IsTheFirstOfTheNamesThatCanBeLoadedAndMustHaveTheEntryPoints) {
  const auto library = load_cublas({"libno_cublas_here.so.13", "libm.so.6"});
  ASSERT_FALSE(library.ok());
  EXPECT_EQ(library.error().kind, Error::Kind::unavailable);
  EXPECT_THAT(library.error().message,
              AllOf(HasSubstr("kernel standard needs cuBLAS 13 or 12"),
                    HasSubstr("libm.so.6: undefined symbol: cublasCreate_v2")));
}

}  // namespace
}  // namespace attnscope::kernels
