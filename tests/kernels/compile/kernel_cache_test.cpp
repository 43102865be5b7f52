/// Compiled kernels on the disk: found again, never a damaged one, and never in the way.
#include "kernels/compile/kernel_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "tests/support/temp_dir.h"

namespace attnscope::kernels {
namespace {

namespace fs = std::filesystem;

CompiledKernel sample(std::size_t cubin_bytes = 3000) {
  return {std::string(cubin_bytes, 'c'), "ptx", "_Zentry", {168, 0, 0, 16, 1040}, 0.75};
}

void expect_same(const CompiledKernel& found, const CompiledKernel& kept) {
  EXPECT_EQ(found.cubin, kept.cubin);
  EXPECT_EQ(found.ptx, kept.ptx);
  EXPECT_EQ(found.entry, kept.entry);
  EXPECT_EQ(found.resources, kept.resources);
  EXPECT_EQ(found.compile_s, kept.compile_s);
}

std::vector<fs::path> files_in(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder)) files.push_back(entry.path());
  return files;
}

std::string bytes_of(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

TEST(KernelCache, FindsWhatItKeptByItsKey) {
  const test::TempDir dir;
  const fs::path folder = fs::path(dir.file("a")) / "b";
  const KernelCache cache(folder);
  EXPECT_FALSE(cache.find("key"));
  cache.keep("key", sample());
  const auto found = KernelCache(folder).find("key");
  ASSERT_TRUE(found);
  expect_same(*found, sample());
  EXPECT_FALSE(cache.find("other"));
  EXPECT_EQ(fs::status(folder).permissions(), fs::perms::owner_all) << "the user's alone";
}

TEST(KernelCache, ADamagedOrForeignEntryCountsAsMissing) {
  const test::TempDir dir;
  const KernelCache cache(dir.file("cache"));
  cache.keep("key", sample(300));
  const auto files = files_in(dir.file("cache"));
  ASSERT_EQ(files.size(), 1u);
  const std::string whole = bytes_of(files.front());
  ASSERT_GT(whole.size(), 300u);
  const auto expect_missing = [&](const std::string& bytes, const std::string& what) {
    std::ofstream(files.front(), std::ios::binary | std::ios::trunc) << bytes;
    EXPECT_FALSE(cache.find("key")) << what;
  };
  for (std::size_t size = 0; size < whole.size(); ++size) {
    expect_missing(whole.substr(0, size), "cut to " + std::to_string(size));
    std::string changed = whole;
    changed[size] = static_cast<char>(changed[size] ^ 1);
    expect_missing(changed, "changed at " + std::to_string(size));
  }
  expect_missing(whole + "x", "with more at its end");
  std::ofstream(files.front(), std::ios::binary | std::ios::trunc) << whole;
  EXPECT_TRUE(cache.find("key"));

  cache.keep("other", sample(300));  // whole, but under the name of another key
  for (const fs::path& file : files_in(dir.file("cache"))) {
    if (file != files.front()) fs::rename(file, files.front());
  }
  EXPECT_FALSE(cache.find("key"));
  cache.keep("key", sample(300));
  EXPECT_TRUE(cache.find("key")) << "written again";
}

TEST(KernelCache, WhatCannotBeReadOrWrittenIsNeitherFoundNorAnError) {
  const test::TempDir dir;
  std::ofstream(dir.file("file")) << "no folder";
  for (const std::string& folder :
       {std::string(), dir.file("file"), dir.file("file") + "/below", std::string("/proc/none")}) {
    const KernelCache cache(folder);
    cache.keep("key", sample());
    EXPECT_FALSE(cache.find("key")) << folder;
  }
  const KernelCache full("/dev/full");
  full.keep("key", sample());
  EXPECT_FALSE(full.find("key"));
}

TEST(KernelCache, ReplacesALinkOrAPipeInPlaceOfAnEntryAndNotWhatItNames) {
  const test::TempDir dir;
  const KernelCache cache(dir.file("cache"));
  cache.keep("key", sample(300));
  const fs::path entry = files_in(dir.file("cache")).front();
  std::ofstream(dir.file("victim")) << "kept";
  fs::remove(entry);
  fs::create_symlink(dir.file("victim"), entry);
  EXPECT_FALSE(cache.find("key"));
  cache.keep("key", sample(300));
  EXPECT_TRUE(cache.find("key"));
  EXPECT_FALSE(fs::is_symlink(entry));
  EXPECT_EQ(bytes_of(dir.file("victim")), "kept");

  fs::remove(entry);
  ASSERT_EQ(::mkfifo(entry.c_str(), 0600), 0);
  EXPECT_FALSE(cache.find("key"));
  cache.keep("key", sample(300));
  EXPECT_TRUE(cache.find("key"));
}

TEST(KernelCache, RemovesWhatWasNotUsedForTheLongestTimeAndNothingElse) {
  const test::TempDir dir;
  const fs::path folder = dir.file("cache");
  const KernelCache cache(folder, 10'000);
  fs::create_directories(folder);
  std::ofstream(folder / "of-the-user.txt") << std::string(20'000, 'u');
  const auto age = [&](const std::string& key) {  // its file is the newest of the folder
    for (const fs::path& file : files_in(folder)) {
      if (bytes_of(file).find(key) == std::string::npos) continue;
      fs::last_write_time(file, fs::file_time_type::clock::now() - std::chrono::hours(1));
    }
  };
  for (const char* key : {"first", "second", "third"}) {
    cache.keep(key, sample());
    age(key);
  }
  EXPECT_TRUE(cache.find("first"));  // used now
  cache.keep("fourth", sample());
  EXPECT_TRUE(cache.find("first"));
  EXPECT_TRUE(cache.find("fourth"));
  EXPECT_FALSE(cache.find("second") && cache.find("third"));
  EXPECT_TRUE(fs::exists(folder / "of-the-user.txt"));

  const fs::path left_over = folder / ".attnscope-0123", in_use = folder / ".attnscope-4567";
  for (const fs::path& file : {left_over, in_use}) std::ofstream(file) << "half";
  fs::last_write_time(left_over, fs::file_time_type::clock::now() - std::chrono::hours(2));
  cache.keep("fourth", sample());
  EXPECT_FALSE(fs::exists(left_over)) << "of a process that was killed";
  EXPECT_TRUE(fs::exists(in_use));
  fs::remove(in_use);

  const KernelCache small(folder, 100);
  small.keep("fifth", sample());
  EXPECT_EQ(files_in(folder).size(), 1u) << "an entry larger than the cache is not kept";
}

TEST(KernelCache, LiesInTheUsersCacheFolder) {
  const char* const variables[] = {"XDG_CACHE_HOME", "HOME"};
  std::string old[2];
  for (int n = 0; n < 2; ++n) {
    if (const char* value = std::getenv(variables[n])) old[n] = value;
  }
  ::setenv("HOME", "/home/user", 1);
  ::setenv("XDG_CACHE_HOME", "/cache", 1);
  EXPECT_EQ(default_cache_folder(), "/cache/attnscope/kernels");
  ::setenv("XDG_CACHE_HOME", "relative", 1);
  EXPECT_EQ(default_cache_folder(), "/home/user/.cache/attnscope/kernels");
  ::unsetenv("XDG_CACHE_HOME");
  ::unsetenv("HOME");
  EXPECT_EQ(default_cache_folder(), "");
  for (int n = 0; n < 2; ++n) {
    if (!old[n].empty()) ::setenv(variables[n], old[n].c_str(), 1);
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
  EXPECT_THAT(key, testing::HasSubstr(*kernel_source("kernels/device/shared_tile.cuh")));
}

}  // namespace
}  // namespace attnscope::kernels
