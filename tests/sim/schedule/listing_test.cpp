/// The operations of a 4 x 4 tiling, against listings that were read and approved; and the
/// pseudo-code: no line without an operation, no operation without a line.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "sim/schedule/catalog.h"
#include "sim/schedule/run_pass.h"
#include "sim/snapshot/describe_op.h"
#include "tests/support/listed_block_mask.h"

namespace attnscope {
namespace {

/// Writes every operation as a line of text and notes the pseudo-code lines used by each launch.
class Lister : public Observer {
 public:
  void begin_launch(std::string_view name, const TileGrid& /*grid*/) override {
    launch_ = name;
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
    }
  }
  const std::string& text() const { return text_; }
  const std::set<int>& lines(std::string_view launch) { return lines_[std::string(launch)]; }

 private:
  std::string text_, launch_;
  std::map<std::string, std::set<int>> lines_;
};

void run(const Algorithm& algorithm, PassKind pass, const ScheduleOptions& options,
         const Mask& mask, std::shared_ptr<const BlockMask> block_mask, Lister& lister) {
  AttentionProblem problem{.N = 8, .N_kv = 8, .d = 2, .dtype = DType::fp16, .mask = mask};
  problem.block_mask = std::move(block_mask);
  Observer* const observers[] = {&lister};
  run_head(make_pass(algorithm, pass, options), {problem, {2, 2}, options, {}}, 0, 0, observers);
}

struct Listing {
  std::string_view algorithm;
  PassKind pass;
  std::string_view file;
  Mask mask;
  std::shared_ptr<const BlockMask> block_mask = nullptr;
};

/// Seven of sixteen tiles; no row tile computes column tile 2.
std::shared_ptr<const BlockMask> some_tiles() {
  return test::listed_block_mask({2, 2}, 4, {{0, 1}, {1}, {1, 3}, {0, 3}});
}

class GoldenListing : public testing::TestWithParam<Listing> {};

TEST_P(GoldenListing, IsTheApprovedOne) {
  Lister lister;
  run(*find_algorithm(GetParam().algorithm), GetParam().pass, {}, GetParam().mask,
      GetParam().block_mask, lister);
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
        Listing{"standard", PassKind::forward, "standard_forward.txt", Mask::none()},
        Listing{"flash1", PassKind::forward, "flash1_forward.txt", Mask::none()},
        Listing{"flash2", PassKind::forward, "flash2_forward.txt", Mask::none()},
        Listing{"flash1", PassKind::forward, "flash1_forward_causal.txt", Mask::causal()},
        Listing{"flash2", PassKind::forward, "flash2_forward_causal.txt", Mask::causal()},
        Listing{"standard", PassKind::backward, "standard_backward.txt", Mask::none()},
        Listing{"flash1", PassKind::backward, "flash1_backward.txt", Mask::none()},
        Listing{"flash2", PassKind::backward, "flash2_backward.txt", Mask::none()},
        Listing{"flash2", PassKind::backward, "flash2_backward_causal.txt", Mask::causal()},
        Listing{"block_sparse", PassKind::forward, "block_sparse_forward.txt", Mask::none(),
                some_tiles()},
        Listing{"block_sparse", PassKind::backward, "block_sparse_backward.txt", Mask::none(),
                some_tiles()},
        Listing{"block_sparse2", PassKind::forward, "block_sparse2_forward.txt", Mask::none(),
                some_tiles()},
        Listing{"block_sparse2", PassKind::backward, "block_sparse2_backward.txt", Mask::none(),
                some_tiles()}),
    [](const auto& test) {
      return fmt::format("{}_{}_{}", test.param.algorithm, to_string(test.param.pass),
                         test.param.mask.is_causal() ? "causal"
                         : test.param.block_mask     ? "sparse"
                                                     : "full");
    });

TEST(PseudoCode, HasNoLineWithoutAnOperationAndNoOperationWithoutALine) {
  for (const Algorithm& algorithm : algorithms()) {
    for (const Index panel_cols : {0, 3}) {
      const ScheduleOptions options{.carry = Carry::fp32,
                                    .standard_writes_lse = true,
                                    .softmax_panel_cols = panel_cols,
                                    .gradient_panel_cols = panel_cols,
                                    .heads_per_kv_head = 1};
      Lister lister;
      run(algorithm, PassKind::both, options, Mask::causal(), nullptr, lister);
      for (const Launch& launch : make_pass(algorithm, PassKind::both, options).launches) {
        std::set<int> expected;
        for (std::size_t line = 0; line < launch.pseudo_code.size(); ++line) {
          if (!launch.pseudo_code[line].control) expected.insert(static_cast<int>(line));
          EXPECT_FALSE(launch.pseudo_code[line].text.empty());
          EXPECT_FALSE(launch.pseudo_code[line].why.empty()) << launch.pseudo_code[line].text;
        }
        EXPECT_EQ(lister.lines(launch.name), expected) << algorithm.name << " " << launch.name;
      }
    }
  }
}

}  // namespace
}  // namespace attnscope
