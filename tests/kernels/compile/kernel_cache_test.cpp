/// Compiled kernels on disk: the key covers everything that determines their code.
#include "kernels/compile/kernel_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/temp_dir.h"

namespace attnscope::kernels {
namespace {

TEST(KernelCache, FindsWhatItKeptByItsKey) {
  const test::TempDir dir;
  const KernelCache cache(dir.file("cache"));
  EXPECT_FALSE(cache.find("key"));
  const CompiledKernel kept{std::string(3000, 'c'), "ptx", "_Zentry", {168, 0, 0, 16, 1040}, 0.75};
  cache.keep("key", kept);
  const auto found = KernelCache(dir.file("cache")).find("key");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->cubin, kept.cubin);
  EXPECT_EQ(found->ptx, kept.ptx);
  EXPECT_EQ(found->entry, kept.entry);
  EXPECT_EQ(found->resources, kept.resources);
  EXPECT_EQ(found->compile_s, kept.compile_s);
  EXPECT_FALSE(cache.find("other"));
}

TEST(KernelCache, AnEntryOfAnotherKindCountsAsMissing) {
  const test::TempDir dir;
  const KernelCache cache(dir.file("cache"));
  cache.keep("key", {"cubin", "ptx", "_Zentry", {}, 0.75});
  for (const auto& file : std::filesystem::directory_iterator(dir.file("cache"))) {
    const std::string suffix = file.path().extension();
    for (const char* format : {"attnscope kernel 3\n", "attnscope kernel 2\n"}) {
      DiskCache(dir.file("cache"), {format, suffix}, 1 << 20).keep("key", "no kernel");
      EXPECT_FALSE(cache.find("key")) << format;
    }
  }
}

TEST(KernelCache, TheKeyNamesEverythingThatDecidesTheCode) {
  const KernelProgram program{
      .sources = {"kernels/flash2/flash2_forward.cuh"}, .expression = "e", .architecture = "sm_90"};
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
  other.sources = {"kernels/flash2/flash2_backward.cuh"};
  EXPECT_NE(key, cache_key(other, "13.0"));
  other = program;
  other.text = "text";
  EXPECT_NE(key, cache_key(other, "13.0"));
  EXPECT_THAT(key, testing::HasSubstr(kernel_source("kernels/device/shared_tile.cuh")->text));
}

}  // namespace
}  // namespace attnscope::kernels
