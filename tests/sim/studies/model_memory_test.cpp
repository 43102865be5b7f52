/// Memory of whole models: closed forms of the tensors that each algorithm keeps, and the largest
/// size that fits.

#include <gtest/gtest.h>

#include "sim/studies/model_memory.h"
#include "tests/support/model_request.h"

namespace attnscope {
namespace {

const AttentionProblem kLayer{
    .batch = 2, .heads = 8, .kv_heads = 8, .N = 512, .N_kv = 512, .d = 64, .dtype = DType::bf16};
constexpr Index kMatrixBytes = Index{2} * 8 * 512 * 64 * 2;  // an N x d matrix of all heads
constexpr Index kScoreBytes = Index{2} * 8 * 512 * 512 * 2;  // an N x N matrix of all heads
constexpr Index kStatisticRows = Index{2} * 8 * 512 * 4;     // one number per row

AttentionChoice choice_named(std::string_view name) {
  for (const AttentionChoice& choice : attention_choices()) {
    if (choice.name == name) return choice;
  }
  ADD_FAILURE() << "no choice " << name;
  return {};
}

LayerMemory training(std::string_view name) {
  return layer_memory(choice_named(name), kLayer, ModelMode::training).value();
}

TEST(LayerMemory, TrainingKeepsWhatTheBackwardPassReads) {
  EXPECT_EQ(training("standard").kept_bytes, 3 * kMatrixBytes + kScoreBytes);  // Q K V, P
  EXPECT_EQ(training("standard, checkpointed").kept_bytes, 3 * kMatrixBytes);
  EXPECT_EQ(training("flash1").kept_bytes, 4 * kMatrixBytes + 2 * kStatisticRows);  // O, m, l
  EXPECT_EQ(training("flash2").kept_bytes, 4 * kMatrixBytes + kStatisticRows);      // O, LSE
}

TEST(LayerMemory, PassesTouchQuadraticMemoryInStandardAlone) {
  EXPECT_EQ(training("standard").forward_bytes, 4 * kMatrixBytes + 2 * kScoreBytes);  // S, P
  // Q K V dO dQ dK dV; P and dP, whose place dS takes
  EXPECT_EQ(training("standard").backward_bytes, 7 * kMatrixBytes + 2 * kScoreBytes);
  // O and S again
  EXPECT_EQ(training("standard, checkpointed").backward_bytes, 8 * kMatrixBytes + 3 * kScoreBytes);
  EXPECT_EQ(training("flash1").backward_bytes, 8 * kMatrixBytes + 2 * kStatisticRows);
  // dQ in fp32 beside dQ; LSE and D
  EXPECT_EQ(training("flash2").backward_bytes, (8 + 2) * kMatrixBytes + 2 * kStatisticRows);
}

TEST(LayerMemory, InferenceKeepsKAndV) {
  for (const AttentionChoice& choice : attention_choices()) {
    const LayerMemory memory = layer_memory(choice, kLayer, ModelMode::inference).value();
    EXPECT_EQ(memory.kept_bytes, 2 * kMatrixBytes) << choice.name;
    EXPECT_EQ(memory.backward_bytes, 0) << choice.name;
  }
}

TEST(LayerMemory, IsTheSimulatorsPeak) {
  for (const AttentionChoice& choice : attention_choices()) {
    test::ModelRequest request{{.problem = kLayer,
                                .algorithm = choice.algorithm,
                                .pass = PassKind::backward,
                                .Br = 32,
                                .Bc = 32,
                                .variant = choice.variant},
                               load_gpu("h200").value()};
    const LayerMemory memory = layer_memory(choice, kLayer, ModelMode::training).value();
    EXPECT_EQ(memory.backward_bytes, simulate(request).value().peak_hbm_bytes) << choice.name;
    request.pass = PassKind::forward;
    EXPECT_EQ(memory.forward_bytes, simulate(request).value().peak_hbm_bytes) << choice.name;
  }
}

ModelQuestion model(Index layers) {
  return {.problem = kLayer, .layers = layers, .capacity_bytes = 80'000'000'000};
}

TEST(ModelPeak, IsWhatOtherLayersKeepAndOneLayersLargerPass) {
  const LayerMemory memory = training("flash2");
  ModelQuestion question = model(24);
  question.weights_bytes = 1000;
  EXPECT_EQ(model_peak_bytes(choice_named("flash2"), question),
            static_cast<double>(1000 + 23 * memory.kept_bytes + memory.backward_bytes));
}

TEST(WhatFits, IsTheLargestThatFits) {
  for (const AttentionChoice& choice : attention_choices()) {
    ModelQuestion question = model(24);
    const auto fits = [&] {
      return *model_peak_bytes(choice, question) <= static_cast<double>(question.capacity_bytes);
    };
    const Index batch = largest_batch(choice, question);
    question.problem.batch = batch;
    EXPECT_TRUE(fits()) << choice.name;
    question.problem.batch = batch + 1;
    EXPECT_FALSE(fits()) << choice.name;

    question = model(24);
    const Index length = largest_length(choice, question);
    question.problem.N = question.problem.N_kv = length;
    EXPECT_TRUE(fits()) << choice.name;
    question.problem.N = question.problem.N_kv = length + 1;
    EXPECT_FALSE(fits()) << choice.name;
  }
}

TEST(WhatFits, LongerSequencesFitWithFlashAndCheckpointingLiesBetween) {
  const ModelQuestion question = model(24);
  const Index standard = largest_length(choice_named("standard"), question);
  const Index checkpointed = largest_length(choice_named("standard, checkpointed"), question);
  const Index flash2 = largest_length(choice_named("flash2"), question);
  EXPECT_LT(standard, checkpointed);
  EXPECT_LT(checkpointed, flash2);
}

TEST(WhatFits, NothingFitsIfTheWeightsDoNot) {
  ModelQuestion question = model(24);
  question.weights_bytes = question.capacity_bytes + 1;
  for (const AttentionChoice& choice : attention_choices()) {
    EXPECT_EQ(largest_batch(choice, question), 0) << choice.name;
    EXPECT_EQ(largest_length(choice, question), 0) << choice.name;
  }
}

TEST(Weights, AreTwelveSquaresOfTheWidthPerLayer) {
  ModelQuestion question = model(2);
  EXPECT_EQ(estimated_weights_bytes(question), 2 * 12 * (8 * 64) * (8 * 64) * 16);
  question.mode = ModelMode::inference;
  EXPECT_EQ(estimated_weights_bytes(question), 2 * 12 * (8 * 64) * (8 * 64) * 2);
}

}  // namespace
}  // namespace attnscope
