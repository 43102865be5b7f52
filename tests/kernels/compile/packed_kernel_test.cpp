/// Compiled kernels as they are stored on disk: their bytes, and a key that covers everything that
/// determines their code.
#include "kernels/compile/compiler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace attnscope::kernels {
namespace {

TEST(CompiledKernel, IsUnpackedAsItWasPacked) {
  const CompiledKernel kept{std::string(3000, 'c'), "ptx", "_Zentry", {168, 0, 0, 16, 1040}, 0.75};
  const auto found = unpacked_kernel(packed(kept));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->cubin, kept.cubin);
  EXPECT_EQ(found->ptx, kept.ptx);
  EXPECT_EQ(found->entry, kept.entry);
  EXPECT_EQ(found->resources, kept.resources);
  EXPECT_EQ(found->compile_s, kept.compile_s);
}

TEST(CompiledKernel, IsNotUnpackedFromOtherBytes) {
  const std::string bytes = packed({"cubin", "ptx", "_Zentry", {}, 0.75});
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(unpacked_kernel(bytes.substr(0, size))) << size;
  }
  EXPECT_FALSE(unpacked_kernel(bytes + "x"));
  EXPECT_FALSE(unpacked_kernel("no kernel"));
}

TEST(CacheKey, NamesEverythingThatDecidesTheCode) {
  const KernelProgram program{
      .source = "kernels/flash2/flash2_forward.cuh", .expression = "e", .architecture = "sm_90"};
  const std::string key = cache_key(program, "13.0");
  EXPECT_EQ(key, cache_key(program, "13.0"));
  EXPECT_NE(key, cache_key(program, "13.1"));
  KernelProgram other = program;
  other.architecture = "sm_90a";
  EXPECT_NE(key, cache_key(other, "13.0"));
  other = program;
  other.expression = "f";
  EXPECT_NE(key, cache_key(other, "13.0"));
  other = program;
  other.options = {"-DX"};
  EXPECT_NE(key, cache_key(other, "13.0"));
  other = program;
  other.source = "kernels/flash2/flash2_backward.cuh";
  EXPECT_NE(key, cache_key(other, "13.0"));
  other = program;
  other.text = "text";
  EXPECT_NE(key, cache_key(other, "13.0"));
  EXPECT_THAT(key, testing::HasSubstr(kernel_source("kernels/device/shared_tile.cuh")->text));
}

}  // namespace
}  // namespace attnscope::kernels
