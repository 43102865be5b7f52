#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "reference/inputs.h"
#include "reference/npy.h"
#include "reference/rounding.h"
#include "tests/support/temp_dir.h"

namespace attnscope {
namespace {

class LoadInputs : public ::testing::Test {
 protected:
  LoadInputs() {
    problem_.heads = 4;
    problem_.kv_heads = 2;
    problem_.N = 3;
    problem_.N_kv = 5;
    problem_.d = 2;
  }

  /// Writes n/10 + offset for element n and returns the path.
  std::string write(const std::string& name, const std::vector<Index>& shape, double offset = 0.0) {
    std::size_t size = 1;
    for (const Index extent : shape) size *= static_cast<std::size_t>(extent);
    std::vector<double> data(size);
    for (std::size_t n = 0; n < size; ++n) data[n] = static_cast<double>(n) / 10 + offset;
    EXPECT_EQ(write_npy(dir_.file(name), shape, data), std::nullopt);
    return dir_.file(name);
  }

  AttentionProblem problem_;
  test::TempDir dir_;
};

TEST_F(LoadInputs, ReadsFilesAndRoundsThemToTheProblemsPrecision) {
  InputPaths paths;
  paths.Q = write("q.npy", {1, 4, 3, 2});
  paths.K = write("k.npy", {1, 2, 5, 2}, 1.0);
  paths.V = write("v.npy", {1, 2, 5, 2}, 2.0);
  paths.dO = write("do.npy", {1, 4, 3, 2}, 3.0);
  const auto inputs = load_inputs(problem_, paths);
  ASSERT_TRUE(inputs.ok()) << inputs.error().message;
  EXPECT_EQ(inputs.value().Q.at(0, 3, 2, 1), round_to(DType::bf16, 2.3));
  EXPECT_EQ(inputs.value().K.at(0, 1, 4, 1), round_to(DType::bf16, 2.9));
  EXPECT_EQ(inputs.value().V.at(0, 0, 0, 1), round_to(DType::bf16, 2.1));
  EXPECT_EQ(inputs.value().dO.at(0, 0, 0, 0), 3.0);
}

TEST_F(LoadInputs, GeneratesWhatHasNoPath) {
  InputPaths paths;
  paths.K = write("k.npy", {1, 2, 5, 2});
  const InputSpec spec{InputKind::outlier, 8};
  const auto inputs = load_inputs(problem_, paths, spec);
  ASSERT_TRUE(inputs.ok()) << inputs.error().message;
  const AttentionInputs generated = make_inputs(problem_, spec);
  EXPECT_EQ(inputs.value().Q, generated.Q);
  EXPECT_EQ(inputs.value().V, generated.V);
  EXPECT_EQ(inputs.value().dO, generated.dO);
  EXPECT_NE(inputs.value().K, generated.K);
}

TEST_F(LoadInputs, WrongShapesAreRefusedWithBothShapes) {
  InputPaths paths;
  paths.K = write("k.npy", {1, 4, 5, 2});
  const auto inputs = load_inputs(problem_, paths);
  ASSERT_FALSE(inputs.ok());
  EXPECT_EQ(inputs.error().kind, Error::Kind::invalid_request);
  EXPECT_EQ(
      inputs.error().message,
      paths.K + ": shape is [1, 4, 5, 2]; the problem needs [B, H_kv, N_kv, d] = [1, 2, 5, 2]");
  for (const std::vector<Index>& shape :
       {std::vector<Index>{3, 3, 2}, {1, 4, 2, 3}, {1, 4, 3, 2, 1}, {24}}) {
    InputPaths wrong;
    wrong.Q = write("q.npy", shape);
    EXPECT_FALSE(load_inputs(problem_, wrong).ok());
  }
}

TEST_F(LoadInputs, ValuesThatThePrecisionCannotHoldAreRefused) {
  problem_.dtype = DType::fp16;
  const double inf = std::numeric_limits<double>::infinity();
  for (const double bad : {1e6, inf, -inf, std::nan("")}) {
    std::vector<double> data(24, 1.0);
    data[7] = bad;
    InputPaths paths;
    paths.dO = dir_.file("do.npy");
    ASSERT_EQ(write_npy(paths.dO, std::vector<Index>{1, 4, 3, 2}, data), std::nullopt);
    const auto inputs = load_inputs(problem_, paths);
    ASSERT_FALSE(inputs.ok()) << bad;
    EXPECT_NE(inputs.error().message.find("element 7"), std::string::npos);
    EXPECT_NE(inputs.error().message.find("not finite as fp16"), std::string::npos);
  }
}

TEST_F(LoadInputs, MissingFilesAreRefusedByName) {
  InputPaths paths;
  paths.V = dir_.file("missing.npy");
  const auto inputs = load_inputs(problem_, paths);
  ASSERT_FALSE(inputs.ok());
  EXPECT_EQ(inputs.error().kind, Error::Kind::invalid_request);
  EXPECT_NE(inputs.error().message.find(paths.V), std::string::npos);
}

}  // namespace
}  // namespace attnscope
