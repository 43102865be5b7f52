/// The operations of a 4 x 4 tiling, compared with reviewed listings; and the pseudo-code: no line
/// without an operation, no operation without a line.

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "sim/ops/op_info.h"
#include "sim/schedule/algorithm.h"
#include "sim/snapshot/describe_op.h"
#include "tests/support/listed_block_mask.h"

namespace attnscope {
namespace {

/// Writes every operation as a line of text and notes the pseudo-code lines used by each launch.
class Lister : public Observer {
 public:
  void begin_launch(std::string_view name, const TileGrid& grid) override {
    launch_ = name;
    grid_ = &grid;
    text_ += fmt::format("launch {}\n", name);
  }
  void begin_block(const BlockId& block) override {
    text_ += fmt::format("block {}\n", block.block);
  }
  void observe(std::span<const TileOp> ops) override {
    for (const TileOp& op : ops) {
      text_ += op_listing(op);
      text_ += '\n';
      lines_[launch_].insert(op.line);
      EXPECT_EQ(op.dest_count, info_of(op.kind).dests) << op_listing(op);
      EXPECT_EQ(op.source_count, info_of(op.kind).sources) << op_listing(op);
      EXPECT_EQ(describe_op(op, *grid_).find("HBM"), std::string::npos) << describe_op(op, *grid_);
    }
  }
  const std::string& text() const { return text_; }
  const std::set<int>& lines(std::string_view launch) { return lines_[std::string(launch)]; }

 private:
  const TileGrid* grid_ = nullptr;
  std::string text_, launch_;
  std::map<std::string, std::set<int>> lines_;
};

/// Seven of sixteen tiles; no row tile computes column tile 2.
std::shared_ptr<const BlockMask> some_tiles() {
  return test::listed_block_mask({2, 2}, 4, {{0, 1}, {1}, {1, 3}, {0, 3}});
}

/// The properties of a listing's problem besides its sizes.
enum class Kind { full, causal, steps, padded, packed, sparse };
constexpr std::string_view kKindNames[] = {"full", "causal", "steps", "padded", "packed", "sparse"};

AttentionProblem problem_of(Kind kind) {
  AttentionProblem problem{.N = 8, .N_kv = 8, .d = 2, .dtype = DType::fp16};
  if (kind == Kind::causal || kind == Kind::steps) problem.mask = Mask::causal();
  if (kind == Kind::steps) problem.score = {30.0, {0.5}, {0.1, 1}};
  if (kind == Kind::sparse) problem.block_mask = some_tiles();
  if (kind == Kind::padded) problem.key_lengths = {5};
  if (kind == Kind::packed) {
    problem.mask = Mask::causal(Mask::Alignment::top_left);
    problem.cu_seqlens_q = {0, 3, 8};
    problem.cu_seqlens_k = {0, 6, 8};
  }
  return problem;
}

void run(const Algorithm& algorithm, PassKind pass, const ScheduleOptions& options,
         const AttentionProblem& problem, Lister& lister) {
  Observer* const observers[] = {&lister};
  run_head(make_pass(algorithm, pass, options), {problem, {2, 2}, options, {}}, 0, 0, observers);
}

struct Listing {
  std::string_view algorithm;
  PassKind pass;
  std::string_view file;
  Kind kind;
  ScheduleVariant variant = {};
};

class GoldenListing : public testing::TestWithParam<Listing> {};

TEST_P(GoldenListing, IsTheApprovedOne) {
  Lister lister;
  const AttentionProblem problem = problem_of(GetParam().kind);
  run(*find_algorithm(GetParam().algorithm), GetParam().pass,
      {.variant = GetParam().variant, .score_steps = score_steps_of(problem), .splits = 2}, problem,
      lister);
  const std::string path = fmt::format("{}/{}", ATTNSCOPE_GOLDEN_DIR, GetParam().file);
  if (std::getenv("ATTNSCOPE_UPDATE_GOLDEN") != nullptr) std::ofstream(path) << lister.text();
  std::ifstream file(path);
  ASSERT_TRUE(file) << path << " is missing";
  std::stringstream approved;
  approved << file.rdbuf();
  EXPECT_EQ(lister.text(), approved.str()) << "see " << path;
}

INSTANTIATE_TEST_SUITE_P(
    FourByFourTiles, GoldenListing,
    testing::Values(
        Listing{"standard", PassKind::forward, "standard_forward.txt", Kind::full},
        Listing{"flash1", PassKind::forward, "flash1_forward.txt", Kind::full},
        Listing{"flash2", PassKind::forward, "flash2_forward.txt", Kind::full},
        Listing{"flash1", PassKind::forward, "flash1_forward_causal.txt", Kind::causal},
        Listing{"flash2", PassKind::forward, "flash2_forward_causal.txt", Kind::causal},
        Listing{"standard", PassKind::backward, "standard_backward.txt", Kind::full},
        Listing{"flash1", PassKind::backward, "flash1_backward.txt", Kind::full},
        Listing{"flash2", PassKind::backward, "flash2_backward.txt", Kind::full},
        Listing{"flash2", PassKind::backward, "flash2_backward_causal.txt", Kind::causal},
        Listing{"standard", PassKind::both, "standard_both_steps.txt", Kind::steps},
        Listing{"flash1", PassKind::both, "flash1_both_steps.txt", Kind::steps},
        Listing{"flash2", PassKind::both, "flash2_both_steps.txt", Kind::steps},
        Listing{"flash2",
                PassKind::forward,
                "flash2_forward_agents.txt",
                Kind::causal,
                {.stages = 2, .consumers = 2}},
        Listing{"flash2",
                PassKind::backward,
                "flash2_backward_agents.txt",
                Kind::causal,
                {.stages = 2, .consumers = 2}},
        Listing{"flash2", PassKind::both, "flash2_both_padded.txt", Kind::padded},
        Listing{"flash1", PassKind::forward, "flash1_forward_packed.txt", Kind::packed},
        Listing{"flash2", PassKind::both, "flash2_both_packed.txt", Kind::packed},
        Listing{"block_sparse", PassKind::forward, "block_sparse_forward.txt", Kind::sparse},
        Listing{"block_sparse", PassKind::backward, "block_sparse_backward.txt", Kind::sparse},
        Listing{"block_sparse2", PassKind::forward, "block_sparse2_forward.txt", Kind::sparse},
        Listing{"block_sparse2", PassKind::backward, "block_sparse2_backward.txt", Kind::sparse},
        Listing{"split_kv", PassKind::forward, "split_kv_forward.txt", Kind::full}),
    [](const auto& test) {
      return fmt::format("{}_{}_{}{}", test.param.algorithm, to_string(test.param.pass),
                         kKindNames[static_cast<std::size_t>(test.param.kind)],
                         test.param.variant.consumers > 0 ? "_agents" : "");
    });

std::vector<std::pair<Algorithm, ScheduleVariant>> algorithms_in_their_variants() {
  std::vector<std::pair<Algorithm, ScheduleVariant>> all;
  for (const Algorithm& algorithm : algorithms()) all.push_back({algorithm, {}});
  const Algorithm& standard = *find_algorithm("standard");
  for (const Fusion fusion : {Fusion::separate, Fusion::figure2, Fusion::pairs}) {
    all.push_back({standard, {.fusion = fusion, .checkpoint = true}});
  }
  const Algorithm& flash1 = *find_algorithm("flash1");
  all.push_back({flash1, {.skip_first_reads = true}});
  all.push_back({flash1, {.d_once = true}});
  all.push_back({flash1, {.skip_first_reads = true, .d_once = true}});
  for (const char* name : {"flash2", "block_sparse2"}) {
    all.push_back({*find_algorithm(name), {.stages = 2, .consumers = 2}});
  }
  for (const char* name : {"flash2", "block_sparse2", "split_kv"}) {
    all.push_back({*find_algorithm(name), {.stages = 2}});
  }
  return all;
}

TEST(PseudoCode, HasNoLineWithoutAnOperationAndNoOperationWithoutALine) {
  for (const auto& [algorithm, variant] : algorithms_in_their_variants()) {
    for (const auto& [panel_cols, kind] :
         {std::pair{0, Kind::causal}, {3, Kind::causal}, {0, Kind::steps}, {3, Kind::steps}}) {
      AttentionProblem problem = problem_of(kind);
      if (variant.fusion != Fusion::rows) {  // it has no launches for these
        problem.score.soft_cap.reset();
        problem.score.alibi_slopes.clear();
      }
      ScheduleVariant wide = variant;
      wide.carry = Carry::fp32;
      const ScheduleOptions options{.variant = wide,
                                    .standard_writes_lse = kind == Kind::steps,
                                    .softmax_panel_cols = panel_cols,
                                    .gradient_panel_cols = panel_cols,
                                    .heads_per_kv_head = 1,
                                    .score_steps = score_steps_of(problem),
                                    .masked = true};
      const PassKind pass = algorithm.has_backward ? PassKind::both : PassKind::forward;
      Lister lister;
      run(algorithm, pass, options, problem, lister);
      for (const Launch& launch : make_pass(algorithm, pass, options).launches) {
        std::set<int> expected;
        for (std::size_t line = 0; line < launch.pseudo_code.size(); ++line) {
          if (has_operations(launch.pseudo_code[line].step))
            expected.insert(static_cast<int>(line));
          EXPECT_FALSE(launch.pseudo_code[line].text.empty());
          EXPECT_FALSE(launch.pseudo_code[line].why.empty()) << launch.pseudo_code[line].text;
          // A load may be served by L2, and not every GPU has HBM
          EXPECT_EQ(launch.pseudo_code[line].why.find("HBM"), std::string_view::npos)
              << launch.pseudo_code[line].why;
          EXPECT_EQ(launch.pseudo_code[line].text.find("HBM"), std::string_view::npos);
        }
        EXPECT_EQ(lister.lines(launch.name), expected) << algorithm.name << " " << launch.name;
      }
    }
  }
}

TEST(OpLabel, NamesTheSourcesOfTheOperation) {
  const auto label = [](OpKind kind, std::initializer_list<Tensor> sources) {
    TileOp op{.kind = kind};
    std::size_t n = 0;
    for (const Tensor tensor : sources) op.source_tiles[n++].tensor = tensor;
    return op_label(op);
  };
  EXPECT_EQ(label(OpKind::accumulate, {Tensor::P, Tensor::V}), "P V");
  EXPECT_EQ(label(OpKind::accumulate, {Tensor::P_drop, Tensor::V}), "P~ V");
  EXPECT_EQ(label(OpKind::accumulate_transposed, {Tensor::P, Tensor::dO}), "Pᵀ dO");
  EXPECT_EQ(label(OpKind::softmax_gradient, {Tensor::P, Tensor::dP, Tensor::D}), "P ∘ (dP - D)");
  EXPECT_EQ(label(OpKind::running_max, {Tensor::S}), "rowmax");
  EXPECT_EQ(label(OpKind::running_max, {Tensor::m_tile}), "max") << "one number for each row";
  EXPECT_EQ(label(OpKind::multiply, {Tensor::Z}), "∘ Z");
  EXPECT_EQ(label(OpKind::mask, {Tensor::S}), "") << "the tiles suffice";
}

}  // namespace
}  // namespace attnscope
