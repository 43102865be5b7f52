/// attnscope-cli compile with an unusable cache folder or NVRTC: kernels are compiled again without
/// a message, or one line says what is missing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/app/cli/every_fault.h"

namespace attnscope {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using ::testing::HasSubstr;

constexpr const char* kCompile = "compile --algorithm standard --seq-len 128 --head-dim 16";

/// The cache folder of every program that the test runs.
class InheritedCache {
 public:
  explicit InheritedCache(const fs::path& folder) : before_(std::getenv("XDG_CACHE_HOME")) {
    ::setenv("XDG_CACHE_HOME", folder.c_str(), 1);
  }
  ~InheritedCache() { ::setenv("XDG_CACHE_HOME", before_.c_str(), 1); }

 private:
  const std::string before_;  // set by tests/support/own_cache.cpp
};

class KernelCacheOnDisk : public ::testing::Test {
 protected:
  fs::path folder() const { return scratch_.path() / "attnscope" / "kernels"; }
  /// The origin of the kernel, as the command prints it; expects success and nothing on standard
  /// error.
  std::string origin(const std::string& more = {}, const fs::path& cache = {}) const {
    const CliOutcome outcome =
        run_cli(std::string(kCompile) + more + " --json -",
                {{"XDG_CACHE_HOME", cache.empty() ? scratch_.path().string() : cache.string()}});
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_EQ(outcome.err, "");
    return json::parse(outcome.out, nullptr, false)["launches"][0]["origin"];
  }
  std::vector<fs::path> entries() const {
    std::vector<fs::path> files;
    for (const auto& entry : fs::directory_iterator(folder())) files.push_back(entry.path());
    return files;
  }
  static void overwrite(const fs::path& file, const std::string& bytes) {
    std::ofstream(file, std::ios::binary | std::ios::trunc) << bytes;
  }

  const ScratchFolder scratch_;
};

TEST_F(KernelCacheOnDisk, WithUselessEntriesIsFilledAgain) {
  ASSERT_EQ(origin(), "compiled now");
  ASSERT_EQ(entries().size(), 1u);
  const fs::path entry = entries().front();
  const std::string whole = read_text(entry);
  ASSERT_EQ(origin(" --gpu a100-40gb"), "compiled now") << "another architecture";
  ASSERT_EQ(entries().size(), 2u);
  const fs::path other = entries()[entries()[0] == entry ? 1 : 0];
  const std::string of_another_architecture = read_text(other);

  for (const std::string& bytes :
       {std::string(), std::string("garbage"), std::string(1 << 20, '\xff'),
        whole.substr(0, whole.size() / 2), whole + whole, of_another_architecture}) {
    overwrite(entry, bytes);
    EXPECT_EQ(origin(), "compiled now") << bytes.size();
    EXPECT_EQ(origin(), "read from the cache") << bytes.size();
  }
  EXPECT_EQ(read_text(other), of_another_architecture) << "nothing else is touched";
}

TEST_F(KernelCacheOnDisk, ThatCannotBeWrittenOnlyCostsTime) {
  for (const char* none : {"/proc", "/dev/full", "/dev/null/below"}) {
    EXPECT_EQ(origin({}, none), "compiled now") << none;
    EXPECT_EQ(origin({}, none), "compiled now") << none;
  }
  ASSERT_EQ(origin(), "compiled now");
  const fs::path entry = entries().front();
  fs::permissions(folder(), fs::perms::owner_read | fs::perms::owner_exec);
  EXPECT_EQ(origin(), "read from the cache");
  fs::permissions(folder(), fs::perms::owner_all);
  fs::remove(entry);
  fs::create_directory(entry);  // a folder instead of the entry
  EXPECT_EQ(origin(), "compiled now");
  EXPECT_TRUE(fs::is_directory(entry));
}

TEST_F(KernelCacheOnDisk, HasAWholeEntryOrNoneAtEveryFault) {
  ASSERT_EQ(origin(), "compiled now");
  const auto whole_bytes = fs::file_size(entries().front());
  const std::string name = entries().front().filename().string();
  const InheritedCache cache(scratch_.path());
  const auto remove_all = [&] { fs::remove_all(scratch_.path() / "attnscope"); };
  with_every_fault(kCompile, scratch_, remove_all, [&](const Fault& fault) {
    if (fault.outcome.status == 0) {
      EXPECT_THAT(fault.outcome.out, HasSubstr("registers per thread"));
    } else if (fault.outcome.status > 0) {
      EXPECT_THAT(fault.outcome.err, HasSubstr("standard output")) << "only that can fail";
    }
    if (!fs::exists(folder())) return;
    for (const fs::path& file : entries()) {
      const bool is_temporary = file.filename().string().starts_with(".attnscope-");
      if (is_temporary) {
        EXPECT_NE(fault.kind, "fail") << file << " is left";
        continue;
      }
      EXPECT_EQ(file.filename(), name);
      EXPECT_EQ(fs::file_size(file), whole_bytes);
    }
  });
}

TEST_F(KernelCacheOnDisk, WrittenCodeIsOldOrNewAtEveryFault) {
  ASSERT_EQ(origin(), "compiled now");
  const InheritedCache cache(scratch_.path());
  expect_old_or_new(std::string(kCompile) + " --ptx k.ptx --cubin k.cubin", {"k.ptx", "k.cubin"});
}

TEST_F(KernelCacheOnDisk, WithoutAUsableNvrtcIsOneLine) {
  const auto refused = [&](std::string_view why) {
    const CliOutcome outcome = run_cli(kCompile, {{"XDG_CACHE_HOME", scratch_.path().string()},
                                                  {"LD_LIBRARY_PATH", scratch_.path().string()}});
    EXPECT_EQ(outcome.status, 1);
    EXPECT_EQ(outcome.error_lines(), 1) << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr(why));
  };
  const char* const names[] = {"libnvrtc.so.13", "libnvrtc.so.12"};
  for (const char* name : names) scratch_.write(name, "no library");
  refused("NVRTC 13 or 12, which cannot be used");
  // A library without NVRTC's functions, such as one that is too old
  for (const char* name : names) fs::remove(scratch_.path() / name);
  fs::copy_file(ATTNSCOPE_FAULT_LIBRARY_FILE, scratch_.path() / names[0]);
  refused("undefined symbol: nvrtcVersion); install CUDA 12.8 or newer");
}

}  // namespace
}  // namespace attnscope
