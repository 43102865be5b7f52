/// Files of attnscope-cli at every failure and every end: each is the old one or the new one,
/// whole, and no result is lost without an exit status and a message.
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
#include "tests/cli/cli_process.h"
#include "tests/cli/every_fault.h"

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

TEST(SavedFiles, ReportsAreOldOrNewAtEveryFault) {
  expect_old_or_new("compare --recording h200 --algorithm flash2 --head-dim 64 --report r.md",
                    {"r.md"});
}

/// Checks the rows of a sweep's files, which hold the first of `all`; returns their number.
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
      // Standard output itself can be what failed; the files then have every row
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

/// The outcome of a shell command with the program in place of "CLI".
CliOutcome run_shell(std::string command, const ScratchFolder& folder) {
  for (std::size_t at; (at = command.find("CLI")) != std::string::npos;) {
    command.replace(at, 3, ATTNSCOPE_CLI_PROGRAM);
  }
  const int state = std::system(
      fmt::format("cd {} && {{ {} ; }} >out 2>err", folder.path().string(), command).c_str());
  return {WIFEXITED(state) ? WEXITSTATUS(state) : -1, read_text(folder.path() / "out"),
          read_text(folder.path() / "err")};
}

TEST(SavedFiles, AFullDiskStopsASweepOfMeasurementsAndPrintsItsRows) {
  const ScratchFolder folder;
  std::string lengths = "256";
  for (int n = 2; n <= 30; ++n) lengths += fmt::format(",{}", 256 * n);
  // The limit holds for the program's files; a pipe takes its standard output
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
  // One after the other, both succeed; the document is the last one's
  const json rows = json::parse(read_text(folder.path() / "r.json"));
  EXPECT_EQ(rows.size(), 150u);
  EXPECT_TRUE(first.status == 0 || second.status == 0);
  for (const CliOutcome& outcome : {first, second}) {
    if (outcome.status == 0) continue;
    EXPECT_EQ(outcome.status, 1);
    EXPECT_THAT(outcome.err, HasSubstr("r.json: another program has changed it"));
    EXPECT_THAT(outcome.out, HasSubstr("\"seq_len\""));  // what could not be saved is printed
  }
}

TEST(SavedFiles, AShippedFileIsReplacedOnlyByItsKind) {
  const ScratchFolder folder;
  namespace fs = std::filesystem;
  fs::create_directories(folder.path() / "recordings/traces");
  fs::create_directories(folder.path() / "gpus");
  fs::create_directories(folder.path() / "scenes");
  folder.write("recordings/a.json", "kept");
  folder.write("recordings/traces/t.json", "kept");
  for (const std::string words : {"trace --algorithm flash2 --out recordings/a.json",
                                  "trace --algorithm flash2 --out recordings/traces/t.json",
                                  "simulate --algorithm flash2 --json recordings/a.json",
                                  "compile --algorithm flash2 --ptx recordings/a.json"}) {
    const CliOutcome refused =
        run_cli(words, {{"ATTNSCOPE_ASSETS", folder.path().string()}}, folder.path());
    EXPECT_EQ(refused.status, 2) << words;
    EXPECT_THAT(refused.err, HasSubstr("which is a record")) << words;
  }
  EXPECT_EQ(read_text(folder.path() / "recordings/a.json"), "kept");
  EXPECT_EQ(read_text(folder.path() / "recordings/traces/t.json"), "kept");
}

TEST(SavedFiles, AFolderThatIsNewIsMadeForTensors) {
  const ScratchFolder folder;
  for (const std::string name : {"new", "a/b/c", "./dot"}) {
    const CliOutcome done = run_cli(
        "simulate --algorithm flash2 --seq-len 64 --head-dim 16 --out " + name, {}, folder.path());
    EXPECT_EQ(done.status, 0) << done.err;
    EXPECT_TRUE(std::filesystem::exists(folder.path() / name / "o.npy")) << name;
  }
}

TEST(Threads, ThatCannotBeStartedAreDoneWithout) {
  const Environment none = {{"LD_PRELOAD", ATTNSCOPE_NO_THREADS_FILE}};
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
  ::signal(SIGINT, SIG_DFL);  // a shell's job in the background ignores it
  const std::string command = fmt::format("cd {} && exec {} {} >out 2>err", folder.path().string(),
                                          ATTNSCOPE_CLI_PROGRAM, words);
  ::execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
  ::_exit(127);
}

/// Waits until the process has computed for a fifth of a second.
void wait_until_busy(pid_t child) {
  const double ticks_per_s = static_cast<double>(::sysconf(_SC_CLK_TCK));
  for (int attempt = 0; attempt < 3000; ++attempt) {
    const std::string state = read_text(fmt::format("/proc/{}/stat", child));
    std::istringstream after_name(state.substr(std::min(state.rfind(')') + 1, state.size())));
    std::string field;
    for (int n = 3; n <= 14; ++n) after_name >> field;  // utime
    if (!field.empty() && std::stod(field) / ticks_per_s > 0.2) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  FAIL() << "the program does not compute";
}

/// Sends the signal and expects the process to end by it soon: within a second on an idle machine.
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
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(100);
  while (read_text(folder.path() / "r.json").size() < 20'000 &&
         std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  expect_ended_by(child, SIGINT);
  const json rows = json::parse(read_text(folder.path() / "r.json"), nullptr, false);
  ASSERT_TRUE(rows.is_array());
  EXPECT_GT(rows.size(), 1u);
  EXPECT_THAT(
      read_text(folder.path() / "err"),
      HasSubstr(fmt::format("interrupted: {} of the 2000 points are in r.json; ", rows.size())));
  EXPECT_EQ(folder.names(), (std::vector<std::string>{"err", "out", "r.json"}));
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

TEST(SavedFiles, StandardOutputIsWrittenOnceWhateverItsName) {
  const ScratchFolder folder;
  const std::string simulate = "CLI simulate --algorithm flash2 --seq-len 64 ";
  for (const char* name : {"/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"}) {
    const CliOutcome twice = run_shell(simulate + "--csv - --json " + name, folder);
    EXPECT_EQ(twice.status, 2) << name;
    EXPECT_THAT(twice.err, HasSubstr("both write to standard output"));
    const CliOutcome once = run_shell(simulate + "--json " + name, folder);
    EXPECT_EQ(once.status, 0) << once.err;
    EXPECT_TRUE(json::accept(once.out)) << once.out;
  }
  EXPECT_EQ(run_shell(simulate + "--json o.json > o.json", folder).status, 0);
  EXPECT_TRUE(json::accept(read_text(folder.path() / "o.json")));
  EXPECT_EQ(run_shell(simulate + "--json /dev/null --csv - > /dev/null", folder).status, 0);
}

TEST(SavedFiles, AnOutputIsNeverAnInput) {
  const ScratchFolder folder;
  ASSERT_EQ(
      run_cli("simulate --algorithm flash2 --seq-len 4 --head-dim 2 --out .", {}, folder.path())
          .status,
      0);
  const std::string o = read_text(folder.path() / "o.npy");
  std::filesystem::create_symlink("x", folder.path() / "y");
  std::filesystem::create_directory(folder.path() / "d");
  std::filesystem::create_directory_symlink(".", folder.path() / "here");
  const std::string simulate = "simulate --algorithm flash2 --seq-len 4 --head-dim 2 ";
  for (const std::string options :
       {"--q o.npy --out .", "--q here/o.npy --out .", "--out d --json d/o.npy", "--json x --csv y",
        "--json here/x --csv x", "--q o.npy --csv here/o.npy"}) {
    const CliOutcome outcome = run_cli(simulate + options, {}, folder.path());
    EXPECT_EQ(outcome.status, 2) << options;
    EXPECT_EQ(outcome.error_lines(), 1) << options;
  }
  const CliOutcome swept =
      run_cli("sweep --json here/o.npy --over seq-len=4 -- " + simulate.substr(0, 28) + "--q o.npy",
              {}, folder.path());
  EXPECT_EQ(swept.status, 2) << swept.err;
  EXPECT_THAT(swept.err, HasSubstr("which --q reads"));
  EXPECT_EQ(read_text(folder.path() / "o.npy"), o);
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "x"));
  EXPECT_TRUE(std::filesystem::is_empty(folder.path() / "d"));
}

TEST(SavedFiles, ASweepReplacesNoMaskOfItsRecording) {
  const ScratchFolder folder;
  const std::string measure = "measure --algorithm flash2 --inputs needle --seed 7 --out rec.json";
  ASSERT_EQ(run_cli(measure + " --seq-len 256", {}, folder.path()).status, 0);
  json recording = json::parse(read_text(folder.path() / "rec.json"));
  json masked = recording["rows"][0];
  masked["tiling"] = {{"Br", 64}, {"Bc", 64}};
  masked["block_mask"] = folder.write("m.npy", "kept");
  recording["rows"].push_back(masked);
  folder.write("rec.json", recording.dump());
  std::filesystem::create_symlink("m.npy", folder.path() / "link");
  for (const std::string output : {"--json m.npy", "--csv link"}) {
    const CliOutcome swept =
        run_cli("sweep " + output + " --over seq-len=512 -- " + measure, {}, folder.path());
    EXPECT_EQ(swept.status, 2) << output;
    EXPECT_EQ(swept.error_lines(), 1) << output;
    EXPECT_THAT(swept.err, HasSubstr("which a row of the recording reads")) << output;
  }
  EXPECT_EQ(read_text(folder.path() / "m.npy"), "kept");
}

TEST(SavedFiles, PermissionsAndLinksOfOutputsAreKept) {
  const ScratchFolder folder;
  folder.write("a.json", "old");
  std::filesystem::permissions(folder.path() / "a.json", std::filesystem::perms(0600));
  std::filesystem::create_symlink("rec.json", folder.path() / "link.json");
  folder.write("link.json.partial", "mine");
  ASSERT_EQ(run_cli("measure --algorithm flash2 --inputs needle --seed 7 --seq-len 256 --out "
                    "link.json --json a.json",
                    {}, folder.path())
                .status,
            0);
  struct stat found {};
  ASSERT_EQ(::stat(folder.file("a.json").c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777U, 0600U);
  EXPECT_TRUE(std::filesystem::is_symlink(folder.path() / "link.json"));
  EXPECT_TRUE(read_recording(folder.path() / "rec.json").ok());
  EXPECT_EQ(read_text(folder.path() / "link.json.partial"), "mine");
}

}  // namespace
}  // namespace attnscope
