/// Which files attnscope-cli writes: never one that it reads, a shipped one only if it is of the
/// same kind; also new folders, links and permissions.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "kernels/recording/recording.h"
#include "tests/app/cli/cli_process.h"

namespace attnscope {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

/// A measurement on the echo GPU.
const std::string kMeasure = "measure --algorithm flash2 --inputs needle --seed 7 ";

TEST(OutputFiles, AShippedFileIsReplacedOnlyByItsKind) {
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

TEST(OutputFiles, AFolderThatIsNewIsMadeForTensors) {
  const ScratchFolder folder;
  for (const std::string name : {"new", "a/b/c", "./dot"}) {
    const CliOutcome done = run_cli(
        "simulate --algorithm flash2 --seq-len 64 --head-dim 16 --out " + name, {}, folder.path());
    EXPECT_EQ(done.status, 0) << done.err;
    EXPECT_TRUE(std::filesystem::exists(folder.path() / name / "o.npy")) << name;
  }
}

TEST(OutputFiles, StandardOutputIsWrittenOnceWhateverItsName) {
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

TEST(OutputFiles, ADocumentOnStandardOutputIsAloneWhateverItsName) {
  const ScratchFolder folder;
  const std::string trace = "CLI trace --algorithm flash2 --seq-len 64 --out ";
  const std::string compare = "CLI compare --recording h200 --algorithm flash2 --head-dim 64 ";
  const std::string report = run_shell(compare + "--report -", folder).out;
  for (const std::string name : {"/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"}) {
    EXPECT_TRUE(json::accept(run_shell(trace + name, folder).out)) << name;
    EXPECT_EQ(run_shell(compare + "--report " + name, folder).out, report) << name;
  }
  EXPECT_EQ(run_shell(trace + "t.json > t.json", folder).status, 0);
  EXPECT_TRUE(json::accept(read_text(folder.path() / "t.json")));
  EXPECT_EQ(run_shell(compare + "--report r.md > r.md", folder).status, 0);
  EXPECT_EQ(read_text(folder.path() / "r.md"), report);
}

TEST(OutputFiles, AFileThatStandardOutputGoesToIsNotAnInput) {
  const ScratchFolder folder;
  const std::string simulate = "CLI simulate --algorithm flash2 --seq-len 4 --head-dim 2 ";
  ASSERT_EQ(run_shell(simulate + "--out .", folder).status, 0);
  const std::string o = read_text(folder.path() / "o.npy");
  ASSERT_EQ(run_shell("CLI " + kMeasure + "--seq-len 256 --out r.json", folder).status, 0);
  const std::string recording = read_text(folder.path() / "r.json");
  for (const std::string& command :
       {simulate + "--q o.npy >> o.npy", simulate + "--q o.npy --json - 1<> o.npy",
        simulate + "--q o.npy --csv /dev/stdout >> o.npy",
        "CLI sweep --over seed=4 -- " + simulate.substr(4) + " --q o.npy >> o.npy",
        std::string("CLI compare --recording r.json --json - >> r.json"),
        std::string("CLI compare --recording r.json >> r.json")}) {
    const CliOutcome refused = run_shell(command, folder);
    EXPECT_EQ(refused.status, 2) << command;
    EXPECT_EQ(refused.error_lines(), 1) << command;
    EXPECT_THAT(refused.err, HasSubstr("send standard output to another file")) << command;
  }
  EXPECT_EQ(read_text(folder.path() / "o.npy"), o);
  EXPECT_EQ(read_text(folder.path() / "r.json"), recording);
}

TEST(OutputFiles, AFileThatStandardOutputGoesToIsNotAnotherOutput) {
  const ScratchFolder folder;
  const std::string simulate = "CLI simulate --algorithm flash2 --seq-len 4 --head-dim 2 ";
  std::filesystem::create_directory(folder.path() / "d");
  const std::string measure = kMeasure + "--out rec.json ";
  ASSERT_EQ(run_cli(measure, {}, folder.path()).status, 0);
  for (const std::string& command :
       {simulate + "--out d > d/o.npy", simulate + "--out d --json - > d/lse.npy",
        "CLI " + measure + ">> rec.json",
        "CLI sweep --over seq-len=64 -- " + measure + ">> rec.json"}) {
    const CliOutcome refused = run_shell(command, folder);
    EXPECT_EQ(refused.status, 2) << command;
    EXPECT_THAT(refused.err, HasSubstr("both name")) << command;
  }
}

TEST(OutputFiles, StandardOutputIsAddedToNoShippedFile) {
  const ScratchFolder folder;
  std::filesystem::create_directories(folder.path() / "assets/recordings");
  folder.write("assets/recordings/a.json", "kept");
  const std::string list = "ATTNSCOPE_ASSETS=assets CLI list recordings --json - ";
  for (const char* redirection : {">> assets/recordings/a.json", "1<> assets/recordings/a.json"}) {
    const CliOutcome refused = run_shell(list + redirection, folder);
    EXPECT_EQ(refused.status, 2) << redirection;
    EXPECT_THAT(refused.err, HasSubstr("a.json', which is a recording")) << redirection;
  }
  EXPECT_EQ(read_text(folder.path() / "assets/recordings/a.json"), "kept");
  // A new file has nothing to lose
  EXPECT_EQ(run_shell(list + "> assets/recordings/b.json", folder).status, 0);
}

TEST(OutputFiles, ThatCannotBeWrittenAreRefusedBeforeTheWork) {
  const ScratchFolder folder;
  std::filesystem::create_directories(folder.path() / "folder/o.npy");
  std::filesystem::create_directory(folder.path() / "pipe");
  ASSERT_EQ(::mkfifo(folder.file("pipe/lse.npy").c_str(), 0600), 0);
  const std::string simulate = "simulate --algorithm flash2 --seq-len 4 --head-dim 2 --out ";
  const std::pair<std::string, std::string> cases[] = {
      {"folder", "o.npy: it is a folder"},
      {"pipe", "lse.npy: it is not a regular file"},
      {"new --json new", "--out needs a folder where --json writes the file 'new'"},
      {"new/below --csv new", "--out needs a folder where --csv writes the file 'new'"},
  };
  for (const auto& [options, why] : cases) {
    const CliOutcome refused = run_cli(simulate + options, {}, folder.path());
    EXPECT_EQ(refused.status, 2) << options;
    EXPECT_EQ(refused.error_lines(), 1) << options;
    EXPECT_THAT(refused.err, HasSubstr(why)) << options;
    EXPECT_EQ(refused.out, "") << options;
  }
  EXPECT_EQ(folder.names(), (std::vector<std::string>{"folder", "pipe"}));
}

TEST(OutputFiles, AnOutputIsNeverAnInput) {
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

TEST(OutputFiles, ASweepReplacesNoMaskOfItsRecording) {
  const ScratchFolder folder;
  const std::string measure = kMeasure + "--out rec.json";
  ASSERT_EQ(run_cli(measure + " --seq-len 256", {}, folder.path()).status, 0);
  json recording = json::parse(read_text(folder.path() / "rec.json"));
  json masked = recording["rows"][0];
  masked["tiling"] = {{"Br", 64}, {"Bc", 64}};
  masked["block_mask"] = folder.write("m.npy", "kept");
  recording["rows"].push_back(masked);
  folder.write("rec.json", recording.dump());
  std::filesystem::create_symlink("m.npy", folder.path() / "link");
  for (const std::string output : {"--json m.npy", "--csv link", "--json - >> m.npy", ">> link"}) {
    const std::size_t redirection = std::min(output.find(">>"), output.size());
    const CliOutcome swept =
        run_shell("CLI sweep " + output.substr(0, redirection) + " --over seq-len=512 -- " +
                      measure + " " + output.substr(redirection),
                  folder);
    EXPECT_EQ(swept.status, 2) << output;
    EXPECT_EQ(swept.error_lines(), 1) << output;
    EXPECT_THAT(swept.err, HasSubstr("which a row of the recording reads")) << output;
  }
  EXPECT_EQ(read_text(folder.path() / "m.npy"), "kept");
}

TEST(OutputFiles, PermissionsAndLinksOfOutputsAreKept) {
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
