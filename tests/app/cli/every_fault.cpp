#include "tests/app/cli/every_fault.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>

namespace attnscope {

namespace fs = std::filesystem;

namespace {

constexpr int kMostCalls = 500;

/// Whether the program prints the file if it cannot be saved.
bool is_text_document(const std::string& name) {
  return !name.ends_with(".npy") && !name.ends_with(".cubin");
}

std::vector<fs::path> temporary_files_in(const fs::path& folder) {
  std::vector<fs::path> found;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.path().filename().string().starts_with(".attnscope-")) found.push_back(entry.path());
  }
  return found;
}

}  // namespace

void with_every_fault(const std::string& words, const ScratchFolder& folder,
                      const std::function<void()>& prepare,
                      const std::function<void(const Fault&)>& check,
                      const std::vector<std::string>& kinds) {
  const ScratchFolder counts;
  for (const std::string& kind : kinds) {
    Fault fault{.kind = kind, .happened = true};
    for (fault.call = 1; fault.happened; ++fault.call) {
      ASSERT_LT(fault.call, kMostCalls);
      prepare();
      counts.write("count", "");
      const Environment environment = {{"LD_PRELOAD", ATTNSCOPE_FAULT_LIBRARY_FILE},
                                       {"ASAN_OPTIONS", "verify_asan_link_order=0"},
                                       {"ATTNSCOPE_FAULT", fmt::format("{}:{}", kind, fault.call)},
                                       {"ATTNSCOPE_FAULT_COUNT", counts.file("count")}};
      fault.outcome = run_cli(words, environment, folder.path());
      const std::string count = read_text(counts.file("count"));
      fault.happened = count.empty() || std::stoi(count) >= fault.call;
      SCOPED_TRACE(fmt::format("{} at call {}: status {}, {}", kind, fault.call,
                               fault.outcome.status, fault.outcome.err));
      const bool is_killed = fault.kind != "fail" && fault.kind != "read" && fault.happened;
      const bool may_finish = fault.kind == "term" && fault.outcome.status == 0;
      ASSERT_TRUE(may_finish || (fault.outcome.status == -1) == is_killed);
      if (fault.outcome.status > 0) {
        EXPECT_EQ(fault.outcome.error_lines(), 1);
      }
      check(fault);
    }
    EXPECT_EQ(fault.outcome.status, 0);
    EXPECT_GT(fault.call, 4) << "the faults do not reach the program";
  }
}

void expect_old_or_new(const std::string& words, const std::vector<std::string>& names,
                       Unsaved unsaved) {
  const ScratchFolder folder;
  for (const std::string& name : names) {
    std::filesystem::create_directories((folder.path() / name).parent_path());
  }
  ASSERT_EQ(run_cli(words, {}, folder.path()).status, 0);
  std::map<std::string, std::string> whole;
  for (const std::string& name : names) whole[name] = read_text(folder.path() / name);
  const auto prepare = [&] {
    for (const std::string& name : names) folder.write(name, "old");
  };
  const auto check = [&](const Fault& fault) {
    for (const std::string& name : names) {
      const std::string text = read_text(folder.path() / name);
      EXPECT_TRUE(text == whole[name] || (text == "old" && fault.outcome.status != 0)) << name;
      const bool is_printed = unsaved == Unsaved::printed && is_text_document(name);
      if (text == "old" && fault.outcome.status == 1 && is_printed) {
        EXPECT_EQ(fault.outcome.out, whole[name]) << name;
      }
    }
  };
  with_every_fault(words, folder, prepare, check);

  for (const fs::path& left : temporary_files_in(folder.path())) fs::remove(left);
  const auto check_end = [&](const Fault& fault) {
    check(fault);
    EXPECT_EQ(temporary_files_in(folder.path()), std::vector<fs::path>());
  };
  with_every_fault(words, folder, prepare, check_end, {"term"});
}

}  // namespace attnscope
