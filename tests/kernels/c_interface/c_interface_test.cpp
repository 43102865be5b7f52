#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "kernels/attnscope_kernels.h"
#include "kernels/recording/build_info.h"
#include "tests/kernels/c_interface/c_client.h"

namespace attnscope {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using ::testing::StrEq;

attnscope_problem valid_problem() {
  attnscope_problem problem{};
  problem.struct_size = sizeof problem;
  problem.dtype = ATTNSCOPE_BF16;
  problem.batch = problem.heads = problem.kv_heads = 1;
  problem.seq_len = problem.kv_len = 256;
  problem.head_dim = 64;
  problem.mask_left = problem.mask_right = -1;
  return problem;
}

attnscope_kernel valid_kernel(const char* name) {
  attnscope_kernel kernel{};
  kernel.struct_size = sizeof kernel;
  kernel.name = name;
  return kernel;
}

/// The message of a workspace query that must be rejected.
std::string refusal(const attnscope_problem* problem, const attnscope_kernel* kernel) {
  std::uint64_t bytes = 0;
  EXPECT_EQ(attnscope_forward_workspace(problem, kernel, &bytes), ATTNSCOPE_INVALID_REQUEST);
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
  const attnscope_problem problem = valid_problem();
  const attnscope_kernel standard = valid_kernel("standard");
  const attnscope_kernel flash2 = valid_kernel("flash2");
  std::uint64_t bytes = 1;
  ASSERT_EQ(attnscope_forward_workspace(&problem, &flash2, &bytes), ATTNSCOPE_OK);
  EXPECT_EQ(bytes, 256u);  // the counter of row tiles that Hopper's program takes
  EXPECT_THAT(attnscope_last_message(), StrEq(""));
  ASSERT_EQ(attnscope_forward_workspace(&problem, &standard, &bytes), ATTNSCOPE_OK);
  EXPECT_GE(bytes, 2u * 256 * 256 * 2);
}

TEST(CInterface, NamesTheFieldOfAnErrorAsRecordingsSpellIt) {
  attnscope_problem problem = valid_problem();
  problem.heads = 3;
  problem.kv_heads = 2;
  const attnscope_kernel flash2 = valid_kernel("flash2");
  EXPECT_THAT(refusal(&problem, &flash2), HasSubstr("kv_heads"));
}

TEST(CInterface, RefusesAStructThatIsTooShort) {
  attnscope_problem problem = valid_problem();
  problem.struct_size = 8;
  const attnscope_kernel kernel = valid_kernel("flash2");
  EXPECT_THAT(refusal(&problem, &kernel), HasSubstr("problem.struct_size is 8"));
  problem.struct_size = 0;
  EXPECT_THAT(refusal(&problem, &kernel), HasSubstr("problem.struct_size is 0"));
}

TEST(CInterface, TakesALongerStructWhoseNewFieldsAreUnused) {
  struct NewerProblem {
    attnscope_problem known;
    std::int64_t new_field;
  } newer{valid_problem(), 0};
  newer.known.struct_size = sizeof newer;
  const attnscope_kernel kernel = valid_kernel("flash2");
  std::uint64_t bytes = 1;
  EXPECT_EQ(attnscope_forward_workspace(&newer.known, &kernel, &bytes), ATTNSCOPE_OK)
      << attnscope_last_message();
  newer.new_field = 3;
  EXPECT_THAT(refusal(&newer.known, &kernel), HasSubstr("that this library supports"));
}

TEST(CInterface, RefusesNullPointersAndUnknownValues) {
  const attnscope_kernel kernel = valid_kernel("flash2");
  attnscope_problem problem = valid_problem();
  EXPECT_THAT(refusal(nullptr, &kernel), HasSubstr("problem is NULL"));
  EXPECT_THAT(refusal(&problem, nullptr), HasSubstr("kernel is NULL"));

  problem.dtype = 7;
  EXPECT_THAT(refusal(&problem, &kernel), HasSubstr("dtype is 7"));
  problem = valid_problem();
  problem.seq_len = 0;
  EXPECT_THAT(refusal(&problem, &kernel), HasSubstr("seq_len is 0"));
  problem = valid_problem();
  problem.head_dim = 300;
  EXPECT_THAT(refusal(&problem, &kernel), HasSubstr("300"));

  problem = valid_problem();
  const attnscope_kernel unknown = valid_kernel("flash9");
  EXPECT_THAT(refusal(&problem, &unknown), HasSubstr("standard, flash1, flash2"));
  const attnscope_kernel nameless = valid_kernel(nullptr);
  EXPECT_THAT(refusal(&problem, &nameless), HasSubstr("name is NULL"));
  attnscope_kernel tiled = valid_kernel("flash2");
  tiled.block_rows = 64;
  EXPECT_THAT(refusal(&problem, &tiled), HasSubstr("Bc is 0"));
  attnscope_kernel carried = valid_kernel("flash1");
  carried.carry = -1;
  EXPECT_THAT(refusal(&problem, &carried), HasSubstr("carry is -1"));
}

TEST(CInterface, CallsWithoutASessionAreRefused) {
  EXPECT_EQ(attnscope_session_open(0, nullptr), ATTNSCOPE_INVALID_REQUEST);
  EXPECT_EQ(attnscope_forward_launch(nullptr, nullptr), ATTNSCOPE_INVALID_REQUEST);
  EXPECT_THAT(attnscope_last_message(), HasSubstr("session is NULL"));
  EXPECT_EQ(attnscope_backward_launch(nullptr, nullptr), ATTNSCOPE_INVALID_REQUEST);
  attnscope_session_close(nullptr);
}

TEST(CInterface, NamesTheCommitItWasBuiltFrom) {
  EXPECT_EQ(attnscope_kernels_commit(), build_info().commit);
  EXPECT_EQ(attnscope_kernels_has_local_changes() != 0, build_info().local_changes);
}

}  // namespace
}  // namespace attnscope
