#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <fstream>
#include <string>

#include "kernels/attnscope_kernels.h"
#include "kernels/recording/build_info.h"
#include "reference/npy.h"
#include "tests/kernels/c_interface/c_client.h"
#include "tests/support/temp_dir.h"

namespace attnscope {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using ::testing::StrEq;

/// A run of the C interface, destroyed with the object.
class CRun {
 public:
  explicit CRun(const std::string& json) : status_(attnscope_run_create(json.c_str(), &run_)) {}
  ~CRun() { attnscope_run_destroy(run_); }
  CRun(const CRun&) = delete;
  CRun& operator=(const CRun&) = delete;

  attnscope_status status() const { return status_; }
  const attnscope_run* get() const { return run_; }
  std::uint64_t workspace() const { return attnscope_run_workspace(run_); }

 private:
  attnscope_run* run_ = nullptr;
  const attnscope_status status_;
};

/// A run of 256 queries and keys at d = 64 with more fields of the problem and of the run.
std::string described(const std::string& algorithm, const std::string& problem = "",
                      const std::string& run = "") {
  return fmt::format(R"({{"algorithm": "{}", {} "problem": {{"batch": 1, "heads": 2, "kv_heads": 2,
                      {} "seq_len": 256, "head_dim": 64, "dtype": "bf16"}}}})",
                     algorithm, run, problem);
}

/// Bytes of the workspace of a run that must be accepted.
std::uint64_t workspace_of(const std::string& json) {
  const CRun run(json);
  EXPECT_EQ(run.status(), ATTNSCOPE_OK) << attnscope_last_message();
  return run.workspace();
}

/// The message of a run that must be rejected.
std::string refusal(const std::string& json) {
  const CRun run(json);
  EXPECT_EQ(run.status(), ATTNSCOPE_INVALID_REQUEST) << json;
  return attnscope_last_message();
}

TEST(CInterface, AClientInPlainCRunsOrIsToldWhyNot) {
  std::array<char, 512> message{};
  const int outcome = c_client_run(ATTNSCOPE_KERNELS_FILE, message.data(), message.size());
  if (outcome == C_CLIENT_NO_GPU) {
    EXPECT_THAT(message.data(),
                AnyOf(StartsWith("no NVIDIA driver"), StartsWith("no GPU"),
                      HasSubstr("update the driver"), HasSubstr("compute capability")));
  } else {
    EXPECT_EQ(outcome, C_CLIENT_HAS_GPU) << message.data();
  }
}

TEST(CInterface, AnswersWorkspaceQueriesWithoutAGpu) {
  EXPECT_EQ(workspace_of(described("flash2")),
            256u);  // the counter of row tiles of Hopper's program
  EXPECT_THAT(attnscope_last_message(), StrEq(""));
  constexpr std::uint64_t kScoreBytes = 2 * 256 * 256 * 2;
  EXPECT_EQ(workspace_of(described("standard")), 2 * kScoreBytes);
}

TEST(CInterface, FieldsOfEveryPartOfADescriptionCount) {
  constexpr std::uint64_t kScoreBytes = 2 * 256 * 256 * 2, kRowBytes = 2 * 256 * 4;
  EXPECT_EQ(workspace_of(described("standard", R"("dropout": {"probability": 0.1},)")),
            3 * kScoreBytes);
  EXPECT_EQ(workspace_of(described("flash1", "", R"("carry": "fp32",)")),
            2 * kRowBytes + 2 * 256 * 64 * 4);
  EXPECT_EQ(workspace_of(described("flash1", "", R"("pass": "backward",)")), 0u);
  EXPECT_GT(workspace_of(described("flash2", "", R"("pass": "backward",)")), 2 * 256 * 64 * 4u);
  EXPECT_EQ(workspace_of(described("flash2", "", R"("switches": "instructions=mma",)")), 0u);
  const auto masked = [](const std::string& pattern) {
    return described("block_sparse2", "", fmt::format(R"("block_mask": "{}",)", pattern));
  };
  EXPECT_EQ(workspace_of(masked("random:0.9,7")), 256u);
  EXPECT_THAT(refusal(masked("random:7")), HasSubstr("random:7"));
  const test::TempDir dir;
  const std::array<Index, 2> shape = {2, 2}, other = {1, 4};  // tiles of 128x128
  const std::array<double, 4> kept = {1, 0, 0, 1};
  ASSERT_EQ(write_npy(dir.file("mask.npy"), shape, kept), std::nullopt);
  ASSERT_EQ(write_npy(dir.file("other.npy"), other, kept), std::nullopt);
  EXPECT_EQ(workspace_of(masked(dir.file("mask.npy"))), 256u);
  EXPECT_THAT(refusal(masked(dir.file("other.npy"))), HasSubstr("shape [1, 4]"));
}

TEST(CInterface, RefusesWhatNoKernelRunsInOneLine) {
  EXPECT_THAT(refusal(described("flash2", R"("mask": "diagonal",)")), HasSubstr("diagonal"));
  EXPECT_THAT(refusal(described("flash9")), HasSubstr("flash9"));
  EXPECT_THAT(refusal("[]"), StrEq("expected an object, found array"));
  EXPECT_THAT(refusal(described("flash1", "", R"("pass": "both",)")), HasSubstr("pass"));
  EXPECT_THAT(refusal(R"({"problem": {"seq_len": 64, "head_dim": 300}})"), HasSubstr("head_dim"));
  EXPECT_THAT(refusal(described("flash2", R"("softcap": -1,)")), HasSubstr("softcap"));
  EXPECT_THAT(refusal(described("flash2", R"("key_lengths": [300],)")), HasSubstr("key_lengths"));
  EXPECT_THAT(refusal(described("flash2", R"("alibi": [0.5, 0.25, 0.125],)")), HasSubstr("alibi"));
  EXPECT_THAT(refusal(described("flash2", R"("cu_seqlens_q": [0, 9], "cu_seqlens_k": [0, 256],)")),
              HasSubstr("cu_seqlens_q"));
  EXPECT_THAT(
      refusal(described("block_sparse2", "", R"("pass": "backward", "deterministic": true,)")),
      HasSubstr("arbitrary order"));
  EXPECT_THAT(refusal(R"({"problem": {"heads": 2, "kv_heads": 3, "seq_len": 64, "head_dim": 64}})"),
              HasSubstr("kv_heads"));
  EXPECT_THAT(refusal(described("flash2", "", R"("tiling": {"Br": 64, "Bc": 24},)")),
              HasSubstr("64x24"));
  EXPECT_THAT(refusal(described("flash2", "", R"("switches": "stages=9",)")),
              HasSubstr("switch stages is '9'"));
}

TEST(CInterface, RefusesFieldsThatARunDoesNotHave) {
  EXPECT_THAT(refusal(described("flash2", "", R"("switch": "stages=1",)")),
              HasSubstr("switch is not a field of a run; did you mean switches?"));
  EXPECT_THAT(refusal(described("flash2", R"("headdim": 64,)")),
              HasSubstr("problem: headdim is not a field of a run; did you mean head_dim?"));
}

TEST(CInterface, RefusesTextThatIsNoDescription) {
  EXPECT_THAT(refusal(""), HasSubstr("the run"));
  EXPECT_THAT(refusal("flash2"), HasSubstr("the run"));
  EXPECT_THAT(refusal("[]"), HasSubstr("object"));
  EXPECT_THAT(refusal(R"({"algorithm": "flash2"})"), HasSubstr("problem"));
  attnscope_run* run = nullptr;
  EXPECT_EQ(attnscope_run_create(nullptr, &run), ATTNSCOPE_INVALID_REQUEST);
  EXPECT_THAT(attnscope_last_message(), HasSubstr("json is NULL"));
  EXPECT_EQ(attnscope_run_create("{}", nullptr), ATTNSCOPE_INVALID_REQUEST);
  EXPECT_EQ(attnscope_run_workspace(nullptr), 0u);
}

/// The message of a launch that must be rejected.
std::string launch_refusal(const attnscope_run* run, const attnscope_pass* pass) {
  EXPECT_EQ(attnscope_run_launch(nullptr, run, pass), ATTNSCOPE_INVALID_REQUEST);
  return attnscope_last_message();
}

TEST(CInterface, LaunchesWithoutAllTheyNeedAreRefused) {
  const CRun run(described("flash2"));
  attnscope_pass pass{};
  EXPECT_THAT(launch_refusal(nullptr, &pass), HasSubstr("run is NULL"));
  EXPECT_THAT(launch_refusal(run.get(), nullptr), HasSubstr("pass is NULL"));
  EXPECT_THAT(launch_refusal(run.get(), &pass), HasSubstr("pass.struct_size is 0"));
  pass.struct_size = sizeof pass + 8;
  EXPECT_THAT(launch_refusal(run.get(), &pass),
              HasSubstr(fmt::format("it must be sizeof the struct, {}", sizeof pass)));
  pass.struct_size = sizeof pass;
  EXPECT_THAT(launch_refusal(run.get(), &pass), HasSubstr("session is NULL"));
  EXPECT_EQ(attnscope_session_open(0, nullptr), ATTNSCOPE_INVALID_REQUEST);
  attnscope_session_close(nullptr);
}

TEST(CInterface, TheHeadersExampleIsARun) {
  std::ifstream header(ATTNSCOPE_SOURCE_DIR "/kernels/attnscope_kernels.h");
  std::string json;
  for (std::string line; std::getline(header, line);) {
    if (line.starts_with(" *   {") || (!json.empty() && line.starts_with(" *    "))) {
      json += line.substr(2);
    } else if (!json.empty()) {
      break;
    }
  }
  EXPECT_EQ(workspace_of(json), 0u) << json;  // stages=1 in tiles of 64 keys: no program for Hopper
}

TEST(CInterface, NamesTheCommitItWasBuiltFrom) {
  EXPECT_EQ(attnscope_kernels_commit(), build_info().commit);
  EXPECT_EQ(attnscope_kernels_has_local_changes() != 0, build_info().local_changes);
}

}  // namespace
}  // namespace attnscope
