/// attnscope-cli compile: kernels for GPUs that are not present.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string_view>

#include "tests/app/cli/cli_process.h"

namespace attnscope {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class CompileCommand : public ::testing::Test {
 protected:
  CliOutcome run(const std::string& words) const {
    return run_cli("compile " + words, {{"XDG_CACHE_HOME", scratch_.file("cache")}},
                   scratch_.path());
  }
  json launch(const std::string& words) const {
    const CliOutcome outcome = run(words + " --json -");
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    return json::parse(outcome.out, nullptr, false)["launches"][0];
  }

  const ScratchFolder scratch_;
};

TEST_F(CompileCommand, PrintsWhatABlockTakesAndKeepsTheKernel) {
  const std::string words =
      "--algorithm flash2 --head-dim 64 --block-rows 128 --block-cols 128 --knob instructions=mma";
  const json first = launch(words);
  EXPECT_EQ(first["origin"], "compiled now");
  EXPECT_EQ(first["launch"], "forward");
  EXPECT_EQ(first["shared_bytes"], (128 + 4 * 128) * 64 * 2);
  EXPECT_GT(first["registers"], 64);
  EXPECT_LE(first["registers"], 255);
  EXPECT_EQ(first["spill_store_bytes"], 0);
  EXPECT_EQ(first["resident_warps"].get<int>() * 32,
            first["resident_blocks"].get<int>() * first["threads"].get<int>());
  json again = launch(words);
  EXPECT_EQ(again["origin"], "read from the cache");
  EXPECT_GT(first["obtain_s"], again["obtain_s"]);
  for (const char* key : {"origin", "obtain_s"}) again[key] = first[key];
  EXPECT_EQ(again, first);
}

TEST_F(CompileCommand, WritesTheCode) {
  const CliOutcome outcome =
      run("--algorithm flash2 --head-dim 64 --gpu a100-40gb --ptx k.ptx --cubin k.cubin");
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("sm_80\n"));
  EXPECT_THAT(read_text(scratch_.path() / "k.ptx"), HasSubstr(".target sm_80"));
  EXPECT_THAT(read_text(scratch_.path() / "k.cubin"), StartsWith("\x7f"
                                                                 "ELF"));

  // Of several launches, only the code of the one with the matrix products is written
  ASSERT_EQ(run("--algorithm flash2 --pass backward --head-dim 64 --cubin k.cubin").status, 0);
  const std::string code = read_text(scratch_.path() / "k.cubin");
  EXPECT_THAT(code, HasSubstr("flash2_backward"));
  EXPECT_EQ(code.find("flash2_preprocess"), std::string::npos);
}

TEST_F(CompileCommand, PrintsOnlyTheCodeThatStandardOutputIsFor) {
  const std::string words = "--algorithm flash2 --head-dim 16 --ptx ";
  ASSERT_EQ(run(words + "k.ptx").status, 0);
  const std::string ptx = read_text(scratch_.path() / "k.ptx");
  for (const char* name : {"-", "/dev/stdout"}) EXPECT_EQ(run(words + name).out, ptx) << name;
}

TEST_F(CompileCommand, WritesEveryFileThatItCan) {
  const CliOutcome outcome =
      run("--algorithm flash2 --head-dim 16 --ptx /dev/full --cubin k.cubin --json k.json");
  EXPECT_EQ(outcome.status, 1);
  EXPECT_EQ(outcome.err, "error: cannot write /dev/full: No space left on device\n");
  EXPECT_THAT(outcome.out, HasSubstr(".target sm_"));  // printed, since it could not be saved
  EXPECT_THAT(read_text(scratch_.path() / "k.cubin"), StartsWith("\x7f"
                                                                 "ELF"));
  EXPECT_TRUE(json::accept(read_text(scratch_.path() / "k.json")));
  const CliOutcome binary = run("--algorithm flash2 --head-dim 16 --cubin /dev/full");
  EXPECT_EQ(binary.status, 1);
  EXPECT_THAT(binary.out, HasSubstr("registers per thread"));
}

TEST_F(CompileCommand, TakesTheDefaultTilingOfTheGpu) {
  const std::string words = "--algorithm flash1 --head-dim 128 --carry fp32 --gpu ";
  for (const char* gpu : {"rtx4090", "a100-40gb", "h200"}) {
    const CliOutcome outcome = run(words + gpu + " --json -");
    ASSERT_EQ(outcome.status, 0) << outcome.err;
    const json document = json::parse(outcome.out);
    for (const json& each : document["launches"]) EXPECT_GE(each["resident_blocks"], 1) << each;
    const bool most = std::string_view(gpu) == "h200";
    EXPECT_EQ(document["run"]["tiling"]["Br"].get<int>(),
              std::string_view(gpu) == "rtx4090" ? 64 : 128);
    EXPECT_EQ(document["run"]["tiling"]["Bc"].get<int>(), most ? 256 : 64);
  }
}

TEST_F(CompileCommand, MakesPtxForAGpuThatIsNewerThanTheCompiler) {
  json newer = json::parse(read_text(ATTNSCOPE_GOLDEN_DIR "/../../assets/gpus/h200.json"));
  newer["compute_capability"]["value"] = "99.0";
  const std::string words =
      "--algorithm flash2 --head-dim 16 --gpu " + scratch_.write("newer.json", newer.dump());
  const json made = launch(words);
  EXPECT_FALSE(made.contains("registers")) << made;
  EXPECT_FALSE(made.contains("resident_blocks")) << made;
  const CliOutcome outcome = run(words + " --ptx k.ptx");
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr(", compute_"));
  EXPECT_THAT(outcome.out, HasSubstr("unavailable: only PTX is generated for this GPU"));
  EXPECT_THAT(read_text(scratch_.path() / "k.ptx"), HasSubstr(".target sm_"));
  const CliOutcome refused = run(words + " --cubin k.cubin");
  EXPECT_EQ(refused.status, 1);
  EXPECT_EQ(refused.error_lines(), 1);
  EXPECT_THAT(refused.err, HasSubstr("--cubin needs machine code"));
}

/// --sass with scripts in place of the CUDA toolkit's programs.
class Disassembly : public CompileCommand {
 protected:
  /// Installs a script of this name in a folder.
  void install(const std::string& folder, const std::string& name, const std::string& script) {
    std::filesystem::create_directories(scratch_.path() / folder);
    scratch_.write(folder + "/" + name, "#!/bin/sh\n" + script);
    std::filesystem::permissions(scratch_.path() / folder / name,
                                 std::filesystem::perms::owner_all);
  }
  CliOutcome disassemble(const std::string& words = {}) const {
    return run_cli("compile --algorithm flash2 --head-dim 16 --sass k.sass " + words,
                   {{"XDG_CACHE_HOME", scratch_.file("cache")},
                    {"PATH", scratch_.file("bin")},
                    {"CUDA_HOME", scratch_.file("cuda")}},
                   scratch_.path());
  }
  std::string sass() const { return read_text(scratch_.path() / "k.sass"); }
};

constexpr const char* kPrintsItsInput = "echo \"$0 $1\"; /usr/bin/head -c 4 \"$2\"\n";

TEST_F(Disassembly, IsWrittenByTheProgramOfTheToolkit) {
  install("cuda/bin", "cuobjdump", kPrintsItsInput);
  ASSERT_EQ(disassemble().status, 0);
  EXPECT_THAT(sass(), HasSubstr("cuda/bin/cuobjdump --dump-sass\n\x7f"
                                "ELF"));
  install("cuda/bin", "nvdisasm", kPrintsItsInput);
  ASSERT_EQ(disassemble().status, 0);
  EXPECT_THAT(sass(), HasSubstr("cuda/bin/nvdisasm --print-code\n"));
  install("bin", "nvdisasm", kPrintsItsInput);
  ASSERT_EQ(disassemble("--pass backward --dtype bf16").status, 0);
  EXPECT_THAT(sass(), HasSubstr("/bin/nvdisasm --print-code\n"));
  EXPECT_THAT(sass(), testing::Not(HasSubstr("cuda")));
  EXPECT_EQ(std::string_view(sass()).substr(sass().rfind('\n')),
            "\n\x7f"
            "ELF");
}

TEST_F(Disassembly, ThatIsMissingOrFailsIsOneLineAndLeavesNoFile) {
  const auto refused = [&](std::string_view why) {
    const CliOutcome outcome = disassemble();
    EXPECT_EQ(outcome.status, 1);
    EXPECT_EQ(outcome.error_lines(), 1) << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr(why));
    EXPECT_FALSE(std::filesystem::exists(scratch_.path() / "k.sass"));
  };
  refused("neither is on PATH or in CUDA_HOME/bin; install the toolkit, or set CUDA_HOME");
  install("bin", "nvdisasm", "echo 'nvdisasm fatal: not a cubin' >&2; echo more >&2; exit 3\n");
  refused("nvdisasm could not disassemble the kernel: nvdisasm fatal: not a cubin");
  install("bin", "nvdisasm", "exit 3\n");
  refused("exit status 3");
}

TEST_F(CompileCommand, SaysWhyNothingIsCompiled) {
  const auto refused = [&](const std::string& words, int status, std::string_view why) {
    const CliOutcome outcome = run(words);
    EXPECT_EQ(outcome.status, status) << words;
    EXPECT_EQ(outcome.error_lines(), 1) << words;
    EXPECT_THAT(outcome.err, HasSubstr(why)) << words;
  };
  refused("--algorithm flash2 --gpu t4", 1, "NVIDIA T4 has compute capability 7.5");
  refused("--algorithm flash2 --block-rows 100 --block-cols 100", 2, "100x100");
  refused("--algorithm flash2 --ptx no/such/folder/k.ptx", 2, "--ptx");
  const std::string wide = "--algorithm flash2 --head-dim 128 ";
  refused(wide + "--block-rows 128 --block-cols 128 --gpu rtx4090", 2,
          "with tiles of 128x128, a thread block needs 163840 bytes of shared memory; on NVIDIA "
          "GeForce RTX 4090 it has at most 101376");
  refused(wide + "--block-rows 256 --block-cols 256", 2, "its default is 128x128");
  refused(wide + "--gpu a100-80gb --knob overlap=off", 2, "does not run this forward pass on");
}

TEST_F(CompileCommand, SwitchesAreListedAndChangeTheKernel) {
  const CliOutcome listed = run_cli("knobs flash2 --json -");
  ASSERT_EQ(listed.status, 0) << listed.err;
  EXPECT_EQ(json::parse(listed.out)["knobs"][0]["name"], "stages");
  EXPECT_EQ(json::parse(listed.out)["knobs"][0]["default"], "2");
  EXPECT_THAT(run_cli("knobs flash2 --csv -").out,
              AllOf(StartsWith("name,default,values,passes,idea\nstages,2,\"2, 1, 3\",forward,"),
                    HasSubstr("\ncopies,async,\"async, registers\",\"forward, backward\",")));
  EXPECT_THAT(run_cli("knobs flash3").err, HasSubstr("did you mean 'flash"));
  EXPECT_THAT(run_cli("knobs standard").out, HasSubstr("has no switches"));
  EXPECT_THAT(run_cli("knobs flash2").out, HasSubstr("--visit-hidden: "));

  const std::string words = "--algorithm flash2 --head-dim 64 --block-rows 128 --block-cols 64";
  const json plain = launch(words);
  const json changed = launch(words + " --knob stages=3 --knob rescale=always");
  EXPECT_EQ(changed["shared_bytes"].get<int>() - plain["shared_bytes"].get<int>(), 2 * 64 * 64 * 2);
  EXPECT_EQ(changed["origin"], "compiled now");
  EXPECT_EQ(launch(words + " --knob stages=2")["origin"], "read from the cache");

  const CliOutcome unknown = run(words + " --knob stage=3");
  EXPECT_EQ(unknown.status, 2);
  EXPECT_THAT(unknown.err, HasSubstr("did you mean 'stages'?"));
  EXPECT_THAT(run(words + " --knob stages").err, HasSubstr("NAME=VALUE"));
  EXPECT_THAT(run(words + " --knob stages=1,").err, HasSubstr("NAME=VALUE"));
  EXPECT_THAT(run(words + " --knob stages=1 --knob stages=3").err, HasSubstr("each name once"));
}

}  // namespace
}  // namespace attnscope
