/// Files of attnscope-cli after every failure and every abnormal end: each is the complete old one
/// or the complete new one, and no result is lost without an exit status and a message.
#include <fcntl.h>
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <thread>

#include "kernels/recording/recording.h"
#include "tests/app/cli/cli_process.h"
#include "tests/app/cli/every_fault.h"
#include "tests/support/wait_until.h"

namespace attnscope {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(SavedFiles, DocumentsAreOldOrNewAtEveryFault) {
  expect_old_or_new("simulate --algorithm flash2 --seq-len 64 --json a.json --csv a.csv",
                    {"a.json", "a.csv"});
}

TEST(SavedFiles, TensorsAreOldOrNewAtEveryFault) {
  expect_old_or_new("simulate --algorithm flash2 --seq-len 16 --head-dim 8 --out d",
                    {"d/o.npy", "d/lse.npy"});
}

TEST(SavedFiles, TracesAreOldOrNewAtEveryFault) {
  expect_old_or_new("trace --algorithm flash2 --seq-len 256 --out t.json", {"t.json"});
}

TEST(SavedFiles, TracesOfRealRunsAreOldOrNewAtEveryFault) {
  expect_old_or_new("trace --recording flash2-forward-64 --out t.json", {"t.json"});
}

TEST(SavedFiles, ReportsAreOldOrNewAtEveryFault) {
  expect_old_or_new("compare --recording h200-edges --algorithm flash2 --head-dim 64 --report r.md",
                    {"r.md"});
}

/// An answer that is not on disk is reported, and the answers before it are kept.
TEST(SavedFiles, AnAnswerThatCannotBeSyncedIsReported) {
  const ScratchFolder folder;
  folder.write("lesson.json", R"({"schema": "attnscope.lesson/1", "title": "T",
    "runs": {"a": {"set": {"algorithm": "flash2", "seq-len": 64, "head-dim": 16}}},
    "steps": [{"say": "x", "ask": {"number": "?", "answer": "a.flops.matmul"}}]})");
  folder.write("in", "show\n");
  const std::string play = "CLI lesson run lesson.json --answers ann.jsonl < in";
  ASSERT_EQ(run_shell(play, folder).status, 0);
  const std::string before = read_text(folder.file("ann.jsonl"));
  ASSERT_THAT(before, HasSubstr("\"attempt\":1"));

  const auto play_with = [&](int fsync) {
    folder.write("ann.jsonl", before);
    return run_shell(fmt::format("ASAN_OPTIONS=verify_asan_link_order=0 LD_PRELOAD={} "
                                 "ATTNSCOPE_FAULT=sync:{} ATTNSCOPE_FAULT_COUNT=count {}",
                                 ATTNSCOPE_FAULT_LIBRARY_FILE, fsync, play),
                     folder);
  };
  ASSERT_EQ(play_with(1000).status, 0);  // none fails
  const int count = std::stoi(read_text(folder.file("count")));
  ASSERT_GE(count, 2) << "the file and its folder";
  for (int fsync = 1; fsync <= count; ++fsync) {
    const CliOutcome outcome = play_with(fsync);
    EXPECT_EQ(outcome.status, 1) << fsync;
    EXPECT_EQ(outcome.error_lines(), 1) << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr("ann.jsonl"));
    EXPECT_THAT(read_text(folder.file("ann.jsonl")), StartsWith(before));
  }
}

/// Checks the rows of a sweep's files, which are the first of `all`; returns their number.
std::size_t rows_in(const ScratchFolder& folder, const json& all) {
  const std::string text = read_text(folder.path() / "r.json");
  if (text == "old") return 0;
  const json rows = json::parse(text, nullptr, false);
  EXPECT_TRUE(rows.is_array()) << text;
  if (!rows.is_array()) return 0;
  for (std::size_t r = 0; r < rows.size(); ++r) EXPECT_EQ(rows[r], all[r]);
  return rows.size();
}

TEST(SavedFiles, ASweepHasEveryFinishedRowAtEveryFault) {
  const std::string words =
      "sweep --json r.json --csv r.csv --over seq-len=64,128,192 -- simulate --algorithm flash2";
  const ScratchFolder folder;
  ASSERT_EQ(run_cli(words, {}, folder.path()).status, 0);
  const json all = json::parse(read_text(folder.path() / "r.json"));
  const std::string table = read_text(folder.path() / "r.csv");
  const auto prepare = [&] {
    folder.write("r.json", "old");
    folder.write("r.csv", "old");
  };
  with_every_fault(words, folder, prepare, [&](const Fault& fault) {
    const std::size_t rows = rows_in(folder, all);
    const std::string csv = read_text(folder.path() / "r.csv");
    const auto lines = static_cast<std::size_t>(std::count(csv.begin(), csv.end(), '\n'));
    const std::size_t csv_rows = csv == "old" ? 0 : lines - 1;
    EXPECT_TRUE(csv == "old" || (table.starts_with(csv) && csv.ends_with('\n'))) << csv;
    EXPECT_TRUE(rows == csv_rows || rows == csv_rows + 1) << rows << ", " << csv_rows;
    if (fault.outcome.status == 0) {
      EXPECT_EQ(rows, all.size());
      EXPECT_EQ(csv, table);
    } else if (fault.outcome.status == 1) {
      const json printed = json::parse(fault.outcome.out, nullptr, false);
      const bool is_printed = printed.is_array() && printed.size() >= rows && printed[0] == all[0];
      // If standard output itself failed, the files have every row
      EXPECT_TRUE(is_printed || (rows == all.size() && csv == table)) << fault.outcome.out;
    }
  });
}

TEST(SavedFiles, ARecordingKeepsItsRowsAtEveryFault) {
  const ScratchFolder folder;
  const std::string words =
      "measure --algorithm flash2 --inputs needle --seed 7 --out rec.json --seq-len ";
  ASSERT_EQ(run_cli(words + "256", {}, folder.path()).status, 0);
  const std::string first = read_text(folder.path() / "rec.json");
  const auto check = [&](const Fault& fault) {
    const auto recording = read_recording(folder.path() / "rec.json");
    ASSERT_TRUE(recording.ok());
    const auto& rows = recording.value().rows;
    ASSERT_GE(rows.size(), fault.outcome.status == 0 ? 2u : 1u);
    EXPECT_EQ(rows.front().run.problem.N, 256);
    if (rows.size() == 2) {
      EXPECT_EQ(rows[1].run.problem.N, 512);
    } else if (fault.outcome.status == 1) {
      if (fault.kind == "read") {  // before anything was measured
        EXPECT_EQ(fault.outcome.out, "");
        return;
      }
      EXPECT_THAT(fault.outcome.err, StartsWith("error: cannot write"));
      // A measurement that could not be saved is printed
      EXPECT_THAT(fault.outcome.out, HasSubstr("\"rows\""));
      EXPECT_THAT(fault.outcome.out, HasSubstr("512"));
    }
  };
  with_every_fault(words + "512", folder, [&] { folder.write("rec.json", first); }, check,
                   {"fail", "kill", "cut", "read"});
}

TEST(SavedFiles, AFullDiskStopsASweepOfMeasurementsAndPrintsItsRows) {
  const ScratchFolder folder;
  std::string lengths = "256";
  for (int n = 2; n <= 30; ++n) lengths += fmt::format(",{}", 256 * n);
  // The limit applies to the program's files, but not to its standard output, which is a pipe
  const CliOutcome outcome = run_shell(
      fmt::format("(ulimit -f 16; CLI sweep --over seq-len={} "
                  "-- measure --algorithm flash2 --inputs needle --seed 7 --out rec.json; echo $? "
                  ">&3) 3>status | cat",
                  lengths),
      folder);
  EXPECT_EQ(read_text(folder.path() / "status"), "1\n");
  EXPECT_THAT(outcome.err, HasSubstr("error: cannot write rec.json"));
  EXPECT_EQ(outcome.error_lines(), 1) << outcome.err;
  const auto saved = read_recording(folder.path() / "rec.json");
  ASSERT_TRUE(saved.ok());
  const json printed = json::parse(outcome.out, nullptr, false);
  ASSERT_TRUE(printed.is_array()) << outcome.out;
  EXPECT_GT(saved.value().rows.size(), 2u);
  EXPECT_EQ(printed.size(), saved.value().rows.size() + 1);
}

TEST(SavedFiles, TwoSweepsIntoOneRecordingLoseNoRow) {
  const ScratchFolder folder;
  const auto sweep = [&](int first) {
    std::string lengths;
    for (int n = 0; n < 100; ++n) {
      lengths += fmt::format("{}{}", n == 0 ? "" : ",", 64 * (first + 2 * n));
    }
    return run_cli("sweep --over seq-len=" + lengths +
                       " -- measure --algorithm flash2 --inputs needle --seed 7 --out r.json",
                   {}, folder.path());
  };
  CliOutcome odd;
  std::thread other([&] { odd = sweep(1); });
  const CliOutcome even = sweep(2);
  other.join();
  EXPECT_EQ(odd.status, 0) << odd.err;
  EXPECT_EQ(even.status, 0) << even.err;
  const auto recording = read_recording(folder.path() / "r.json");
  ASSERT_TRUE(recording.ok());
  std::set<Index> lengths;
  for (const RecordingRow& row : recording.value().rows) lengths.insert(row.run.problem.N);
  EXPECT_EQ(lengths.size(), 200u);
}

TEST(SavedFiles, OfTwoSweepsIntoOneDocumentTheOneThatIsReplacedFails) {
  const ScratchFolder folder;
  const auto sweep = [&](int first) {
    std::string lengths;
    for (int n = 0; n < 150; ++n) lengths += fmt::format("{}{}", n == 0 ? "" : ",", first + n);
    return run_cli(
        "sweep --json r.json --over seq-len=" + lengths + " -- simulate --algorithm flash2", {},
        folder.path());
  };
  CliOutcome first;
  std::thread other([&] { first = sweep(1000); });
  const CliOutcome second = sweep(2000);
  other.join();
  // If they overlap, the sweep whose document the other one replaces fails
  const json rows = json::parse(read_text(folder.path() / "r.json"));
  EXPECT_EQ(rows.size(), 150u);
  EXPECT_TRUE(first.status == 0 || second.status == 0);
  for (const CliOutcome& outcome : {first, second}) {
    if (outcome.status == 0) continue;
    EXPECT_EQ(outcome.status, 1);
    EXPECT_THAT(outcome.err, HasSubstr("r.json: another program has changed it"));
    EXPECT_THAT(outcome.out, HasSubstr("\"seq_len\""));  // unsaved, so printed
  }
}

TEST(Threads, ThatCannotBeStartedAreNotNeeded) {
  const Environment none = {{"LD_PRELOAD", ATTNSCOPE_NO_THREADS_FILE},
                            {"ASAN_OPTIONS", "verify_asan_link_order=0"}};
  const CliOutcome simulated =
      run_cli("simulate --algorithm flash2 --seq-len 64 --head-dim 16", none);
  EXPECT_EQ(simulated.status, 0) << simulated.err;
  const CliOutcome measured = run_cli("measure --algorithm flash2 --seq-len 64", none);
  EXPECT_GE(measured.status, 0) << "ended by a signal";
  EXPECT_LE(measured.error_lines(), 1) << measured.err;
}

/// Starts the program in the folder, with its messages in "err".
pid_t start(const ScratchFolder& folder, const std::string& words) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  ::signal(SIGINT, SIG_DFL);  // a shell's background jobs ignore it
  const std::string command = fmt::format("cd {} && exec {} {} >out 2>err", folder.path().string(),
                                          ATTNSCOPE_CLI_PROGRAM, words);
  ::execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
  ::_exit(127);
}

/// Waits until the process has computed for a fifth of a second.
void wait_until_busy(pid_t child) {
  const double ticks_per_s = static_cast<double>(::sysconf(_SC_CLK_TCK));
  const auto is_busy = [&] {
    const std::string state = read_text(fmt::format("/proc/{}/stat", child));
    std::istringstream after_name(state.substr(std::min(state.rfind(')') + 1, state.size())));
    std::string field;
    for (int n = 3; n <= 14; ++n) after_name >> field;  // utime
    return !field.empty() && std::stod(field) / ticks_per_s > 0.2;
  };
  ASSERT_TRUE(test::wait_until(is_busy, child)) << "the program does not compute";
}

/// Sends the signal and expects it to end the process soon: within a second on an idle machine.
void expect_ended_by(pid_t child, int signal) {
  const auto begin = std::chrono::steady_clock::now();
  ::kill(child, signal);
  int state = 0;
  ASSERT_EQ(::waitpid(child, &state, 0), child);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  EXPECT_LT(took.count(), 5.0);
  EXPECT_TRUE(WIFSIGNALED(state) && WTERMSIG(state) == signal) << state;
}

TEST(SavedFiles, CtrlCSaysWhichRowsOfASweepAreSaved) {
  const ScratchFolder folder;
  std::string lengths = "64";
  for (int n = 2; n <= 2000; ++n) lengths += fmt::format(",{}", 64 * n);
  const pid_t child = start(
      folder, "sweep --json r.json --over seq-len=" + lengths + " -- simulate --algorithm flash2");
  const auto has_rows = [&] { return read_text(folder.path() / "r.json").size() >= 20'000; };
  EXPECT_TRUE(test::wait_until(has_rows, child));
  expect_ended_by(child, SIGINT);
  const json rows = json::parse(read_text(folder.path() / "r.json"), nullptr, false);
  ASSERT_TRUE(rows.is_array());
  EXPECT_GT(rows.size(), 1u);
  EXPECT_THAT(
      read_text(folder.path() / "err"),
      HasSubstr(fmt::format("interrupted: {} of the 2000 points are in r.json; ", rows.size())));
  EXPECT_EQ(folder.names(), (std::vector<std::string>{"err", "out", "r.json"}));
}

TEST(SavedFiles, CtrlCSaysThatAStreamIsWrittenAtTheEnd) {
  const ScratchFolder folder;
  ASSERT_EQ(::mkfifo(folder.file("rows").c_str(), 0600), 0);
  for (const std::string stream : {"rows", "-"}) {
    const pid_t child =
        start(folder, "sweep --json " + stream +
                          " --over seq-len=8191,8192 -- simulate --algorithm flash2 --check");
    wait_until_busy(child);
    expect_ended_by(child, SIGINT);
    const std::string name = stream == "-" ? "standard output" : stream;
    EXPECT_THAT(read_text(folder.path() / "err"),
                HasSubstr("0 of the 2 points were finished; " + name + " is written at the end"));
  }
}

TEST(SavedFiles, ASignalEndsALongComputation) {
  const ScratchFolder folder;
  folder.write("a.json", "old");
  const pid_t child =
      start(folder, "simulate --algorithm flash2 --seq-len 8192 --check --json a.json");
  wait_until_busy(child);
  expect_ended_by(child, SIGTERM);
  EXPECT_EQ(read_text(folder.path() / "err"), "interrupted: no output file is incomplete\n");
  EXPECT_EQ(read_text(folder.path() / "a.json"), "old");
}

TEST(SavedFiles, ASignalEndsAProgramWhoseMessagesNobodyReads) {
  const ScratchFolder folder;
  ASSERT_EQ(::mkfifo(folder.file("err").c_str(), 0600), 0);
  const int pipe = ::open(folder.file("err").c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC);
  ASSERT_GE(pipe, 0);
  while (::write(pipe, "full", 4) > 0) {
  }
  const pid_t child = start(folder, "simulate --algorithm flash2 --seq-len 8192 --check");
  wait_until_busy(child);
  expect_ended_by(child, SIGINT);
  ::close(pipe);
}

}  // namespace
}  // namespace attnscope
