/// Which files attnscope-cli writes: never one that it reads, a shipped one only of its kind,
/// folders that are new, and what becomes of links and permissions.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "kernels/recording/recording.h"
#include "tests/cli/cli_process.h"

namespace attnscope {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

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
