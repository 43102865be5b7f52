/// Entries on disk: they are found again, damaged ones are ignored, and failures do no harm.
#include "reference/files/disk_cache.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <thread>

#include "tests/support/temp_dir.h"

namespace attnscope {
namespace {

namespace fs = std::filesystem;

constexpr DiskCache::Kind kKind = {.format = "attnscope test 1\n", .suffix = ".test"};

DiskCache cache_in(const fs::path& folder, std::uintmax_t most_bytes = 1 << 20) {
  return {folder, kKind, most_bytes};
}

std::string sample(std::size_t bytes = 3000) {
  return std::string(bytes, 'v');
}

std::vector<fs::path> files_in(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder)) files.push_back(entry.path());
  return files;
}

std::string content_of(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

TEST(DiskCache, FindsWhatItKeptByItsKey) {
  const test::TempDir dir;
  const fs::path folder = fs::path(dir.file("a")) / "b";
  const DiskCache cache = cache_in(folder);
  EXPECT_FALSE(cache.find("key"));
  cache.keep("key", sample());
  EXPECT_EQ(cache_in(folder).find("key"), sample());
  EXPECT_FALSE(cache.find("other"));
  EXPECT_EQ(fs::status(folder).permissions(), fs::perms::owner_all) << "the user's alone";
}

TEST(DiskCache, ADamagedOrForeignEntryCountsAsMissing) {
  const test::TempDir dir;
  const DiskCache cache = cache_in(dir.file("cache"));
  cache.keep("key", sample(300));
  const auto files = files_in(dir.file("cache"));
  ASSERT_EQ(files.size(), 1u);
  const std::string whole = content_of(files.front());
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

  cache.keep("other", sample(300));  // complete, but under the name of another key
  for (const fs::path& file : files_in(dir.file("cache"))) {
    if (file != files.front()) fs::rename(file, files.front());
  }
  EXPECT_FALSE(cache.find("key"));
  cache.keep("key", sample(300));
  EXPECT_TRUE(cache.find("key")) << "written again";
}

TEST(DiskCache, AnEntryOfAnotherKindCountsAsMissing) {
  const test::TempDir dir;
  const DiskCache older(dir.file("cache"), {"attnscope test 0\n", kKind.suffix}, 1 << 20);
  const DiskCache cache = cache_in(dir.file("cache"));
  older.keep("key", sample());
  EXPECT_FALSE(cache.find("key"));
  cache.keep("key", sample());
  EXPECT_TRUE(cache.find("key"));
  EXPECT_FALSE(older.find("key"));
  EXPECT_EQ(files_in(dir.file("cache")).size(), 1u);
}

TEST(DiskCache, WhatCannotBeReadOrWrittenIsNeitherFoundNorAnError) {
  const test::TempDir dir;
  std::ofstream(dir.file("file")) << "no folder";
  for (const std::string& folder :
       {std::string(), dir.file("file"), dir.file("file") + "/below", std::string("/proc/none")}) {
    const DiskCache cache = cache_in(folder);
    cache.keep("key", sample());
    EXPECT_FALSE(cache.find("key")) << folder;
  }
  const DiskCache full = cache_in("/dev/full");
  full.keep("key", sample());
  EXPECT_FALSE(full.find("key"));
}

TEST(DiskCache, ReplacesALinkOrAPipeInPlaceOfAnEntryAndNotWhatItNames) {
  const test::TempDir dir;
  const DiskCache cache = cache_in(dir.file("cache"));
  cache.keep("key", sample(300));
  const fs::path entry = files_in(dir.file("cache")).front();
  std::ofstream(dir.file("victim")) << "kept";
  fs::remove(entry);
  fs::create_symlink(dir.file("victim"), entry);
  EXPECT_FALSE(cache.find("key"));
  cache.keep("key", sample(300));
  EXPECT_TRUE(cache.find("key"));
  EXPECT_FALSE(fs::is_symlink(entry));
  EXPECT_EQ(content_of(dir.file("victim")), "kept");

  fs::remove(entry);
  ASSERT_EQ(::mkfifo(entry.c_str(), 0600), 0);
  EXPECT_FALSE(cache.find("key"));
  cache.keep("key", sample(300));
  EXPECT_TRUE(cache.find("key"));
}

TEST(DiskCache, RemovesWhatWasNotUsedForTheLongestTimeAndNothingElse) {
  const test::TempDir dir;
  const fs::path folder = dir.file("cache");
  const DiskCache cache = cache_in(folder, 10'000);
  fs::create_directories(folder);
  std::ofstream(folder / "of-the-user.txt") << std::string(20'000, 'u');
  const auto age = [&](const std::string& key) {  // makes its file an hour old
    for (const fs::path& file : files_in(folder)) {
      if (content_of(file).find(key) == std::string::npos) continue;
      fs::last_write_time(file, fs::file_time_type::clock::now() - std::chrono::hours(1));
    }
  };
  for (const char* key : {"first", "second", "third"}) {
    cache.keep(key, sample());
    age(key);
  }
  EXPECT_TRUE(cache.find("first"));  // this use makes it the newest
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

  const DiskCache small = cache_in(folder, 100);
  small.keep("fifth", sample());
  EXPECT_EQ(files_in(folder).size(), 1u) << "an entry larger than the cache is not kept";
}

TEST(DiskCache, OfManySmallEntriesExceedsItsSizeByLittle) {
  const test::TempDir dir;
  const fs::path folder = dir.file("cache");
  constexpr std::uintmax_t kMost = 100'000;
  const DiskCache cache = cache_in(folder, kMost);
  for (int n = 0; n < 1500; ++n) cache.keep("key " + std::to_string(n), sample(100));
  std::uintmax_t total = 0;
  for (const fs::path& file : files_in(folder)) total += fs::file_size(file);
  EXPECT_LT(total, kMost + kMost / 8);
  EXPECT_GT(total, kMost / 2);
  EXPECT_TRUE(cache.find("key 1499"));
}

TEST(DiskCache, ServesSeveralThreadsAtOnce) {
  const test::TempDir dir;
  const DiskCache cache = cache_in(dir.file("cache"), 20'000);
  std::atomic<int> found = 0, wrong = 0;
  const auto use = [&] {
    for (int n = 0; n < 300; ++n) {
      const std::string key = std::to_string(n % 5);
      if (const auto value = cache.find(key)) {
        ++found;
        if (*value != key + sample()) ++wrong;
      }
      cache.keep(key, key + sample());
    }
  };
  std::thread other(use);
  use();
  other.join();
  EXPECT_GT(found, 300);
  EXPECT_EQ(wrong, 0);
}

TEST(DiskCache, LiesInTheUsersCacheFolder) {
  const char* const variables[] = {"XDG_CACHE_HOME", "HOME"};
  std::string old[2];
  for (int n = 0; n < 2; ++n) {
    if (const char* value = std::getenv(variables[n])) old[n] = value;
  }
  ::setenv("HOME", "/home/user", 1);
  ::setenv("XDG_CACHE_HOME", "/cache", 1);
  EXPECT_EQ(user_cache_folder("things"), "/cache/attnscope/things");
  ::setenv("XDG_CACHE_HOME", "relative", 1);
  EXPECT_EQ(user_cache_folder("things"), "/home/user/.cache/attnscope/things");
  ::unsetenv("XDG_CACHE_HOME");
  ::unsetenv("HOME");
  EXPECT_EQ(user_cache_folder("things"), "");
  for (int n = 0; n < 2; ++n) {
    if (!old[n].empty()) ::setenv(variables[n], old[n].c_str(), 1);
  }
}

}  // namespace
}  // namespace attnscope
