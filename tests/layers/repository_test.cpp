/// The repository's own sources, checked by the rules of layer_rules.h.
#include <gmock/gmock.h>

#include <set>
#include <string>

#include "tests/layers/layer_rules.h"

namespace attnscope::test {
namespace {

using ::testing::IsEmpty;
using ::testing::Le;
using ::testing::SizeIs;

const SourceTree& repository() {
  static const SourceTree tree = read_source_tree(ATTNSCOPE_SOURCE_DIR);
  return tree;
}

TEST(Repository, IsReadWhole) {
  for (const char* path : {"CMakeLists.txt", "reference/attention_problem.h", "kernels/catalog.cpp",
                           "tests/layers/repository_test.cpp"}) {
    EXPECT_TRUE(repository().contains(path)) << path;
  }
  EXPECT_GT(repository().size(), 40u);
}

TEST(Repository, FoldersIncludeOnlyTheLayersBelowThem) {
  EXPECT_THAT(layer_violations(repository()), IsEmpty());
}

TEST(Repository, QuotedIncludesAreRootRelative) {
  EXPECT_THAT(unresolved_includes(repository()), IsEmpty());
}

TEST(Repository, GraphicsStayInTheApp) {
  EXPECT_THAT(graphics_violations(repository()), IsEmpty());
}

TEST(Repository, NoCudaHeaderReachesTheAppOrTheSimulator) {
  EXPECT_THAT(cuda_violations(repository()), IsEmpty());
}

TEST(Repository, HeadersStayLight) {
  EXPECT_THAT(heavy_header_violations(repository()), IsEmpty());
}

TEST(Repository, NeitherFilesNorFoldersIncludeEachOther) {
  std::set<std::string> folders;
  for (const auto& [path, file] : repository()) {
    if (!is_code(path) || lies_in(path, "tests")) continue;
    for (std::size_t end = path.find('/'); end != path.npos; end = path.find('/', end + 1)) {
      folders.insert(path.substr(0, end));
    }
  }
  EXPECT_TRUE(folders.contains("kernels/measure/trace"));
  // The catalog names what is in the folders of kernels, and their launches read the catalog
  const std::vector<std::string_view> of_kernels = {"kernels/flash1", "kernels/flash2",
                                                    "kernels/split_kv", "kernels/standard"};
  for (const std::string& folder : folders) {
    EXPECT_THAT(folder_cycles(repository(), folder, of_kernels), IsEmpty());
  }
}

TEST(Repository, HasFewFragments) {
  constexpr std::size_t kMostFragments = 58;
  EXPECT_THAT(fragments(repository()), SizeIs(Le(kMostFragments)));
}

TEST(Repository, TheRootOfTheAppHasFewFiles) {
  constexpr int kMostFiles = 15;
  int files = 0;
  for (const auto& [path, file] : repository()) {
    if (path.substr(0, path.rfind('/')) == "app") ++files;
  }
  EXPECT_GT(files, 0);
  EXPECT_LE(files, kMostFiles);
}

TEST(Repository, TestsLieWhereTheirSourcesDo) {
  EXPECT_THAT(misplaced_tests(repository()), IsEmpty());
}

TEST(Repository, HeadersAreGuarded) {
  EXPECT_THAT(unguarded_headers(repository()), IsEmpty());
}

TEST(Repository, OneStructHoldsWhatARunIs) {
  EXPECT_THAT(repeated_run_fields(repository()), IsEmpty());
}

TEST(Repository, HoldsNoMarksOfUnfinishedWork) {
  EXPECT_THAT(forbidden_words(repository()), IsEmpty());
}

}  // namespace
}  // namespace attnscope::test
