/// The rules themselves, on small trees that break them: each must detect its violation.
#include "tests/layers/layer_rules.h"

#include <gmock/gmock.h>

namespace attnscope::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

SourceTree tree_of(const std::map<std::string, std::string>& texts) {
  SourceTree tree;
  for (const auto& [path, text] : texts) tree[path] = parse_source(text);
  return tree;
}

TEST(SourceTreeParser, FindsBothKindsOfIncludeInAnySpelling) {
  const SourceFile file = parse_source(
      "#include <vector>\n#include \"reference/check.h\"  // why\n  #  include<cmath>\n"
      "// text about #include <nothing>\n");
  EXPECT_THAT(file.angled_includes, ElementsAre("vector", "cmath"));
  EXPECT_THAT(file.quoted_includes, ElementsAre("reference/check.h"));
}

TEST(LayerRules, DownwardIncludesAreFine) {
  EXPECT_THAT(layer_violations(tree_of({
                  {"reference/a.h", "#include \"reference/b.h\"\n"},
                  {"sim/a.h", "#include \"reference/a.h\"\n#include \"sim/ops/b.h\"\n"},
                  {"kernels/flash2/a.cuh", "#include \"kernels/device/b.h\"\n"},
                  {"kernels/measure/a.cpp", "#include \"kernels/launch.h\"\n"},
                  {"app/a.cpp", "#include \"sim/a.h\"\n#include \"kernels/catalog.h\"\n"},
              })),
              IsEmpty());
}

TEST(LayerRules, UpwardAndSidewaysIncludesAreDetected) {
  const std::pair<const char*, const char*> crossings[] = {
      {"reference/a.h", "sim/a.h"},
      {"reference/a.cpp", "kernels/catalog.h"},
      {"reference/a.cpp", "app/a.h"},
      {"sim/a.cpp", "kernels/catalog.h"},
      {"sim/a.cpp", "app/a.h"},
      {"kernels/catalog.cpp", "sim/schedule/algorithm.h"},
      {"kernels/flash2/a.cuh", "app/a.h"},
      {"kernels/flash2/a.cuh", "kernels/measure/timing/timing.h"},
      {"sim/a.cpp", "tests/support/a.h"},
      {"app/a.cpp", "tests/support/a.h"},
      {"sim/a.cpp", "simulation.h"},
      {"elsewhere/a.cpp", "reference/a.h"}};
  for (const auto& [from, to] : crossings) {
    const SourceTree tree = tree_of({{from, std::string("#include \"") + to + "\"\n"}});
    EXPECT_EQ(layer_violations(tree).size(), 1u) << from << " -> " << to;
  }
}

TEST(LayerRules, IncludesThatNameNoFileAreDetected) {
  EXPECT_THAT(unresolved_includes(tree_of({{"sim/a.h", ""}, {"sim/b.cpp", "#include \"a.h\"\n"}})),
              ElementsAre(HasSubstr("sim/b.cpp")));
}

TEST(LayerRules, GraphicsOutsideTheAppAreDetected) {
  for (const char* header :
       {"imgui.h", "imgui_impl_glfw.h", "GLFW/glfw3.h", "GL/gl.h", "EGL/egl.h"}) {
    const std::string line = std::string("#include <") + header + ">\n";
    EXPECT_EQ(graphics_violations(tree_of({{"sim/a.cpp", line}})).size(), 1u) << header;
    EXPECT_EQ(graphics_violations(tree_of({{"tests/sim/a.cpp", line}})).size(), 1u) << header;
    EXPECT_THAT(graphics_violations(tree_of({{"app/a.cpp", line}, {"tests/app/a.cpp", line}})),
                IsEmpty());
  }
}

TEST(LayerRules, CudaIsDetectedThroughAnyNumberOfHeaders) {
  const SourceTree tree = tree_of({
      {"app/a.cpp", "#include \"kernels/b.h\"\n"},
      {"kernels/b.h", "#include \"kernels/c.h\"\n"},
      {"kernels/c.h", "#include \"kernels/b.h\"\n#include <cuda_runtime.h>\n"},
      {"kernels/d.cuh", "#include <cuda_fp16.h>\n"},
  });
  EXPECT_THAT(cuda_violations(tree), ElementsAre(HasSubstr("through kernels/c.h")));
  EXPECT_EQ(cuda_violations(tree_of({{"sim/a.h", "#include <cupti.h>\n"}})).size(), 1u);
  EXPECT_EQ(cuda_violations(tree_of({{"reference/a.h", "#include \"cublas_v2.h\"\n"}})).size(), 1u);
}

TEST(LayerRules, HeavyLibrariesInHeadersAreDetected) {
  const std::pair<const char*, const char*> misplaced[] = {{"sim/a.h", "Eigen/Core"},
                                                           {"reference/a.h", "nlohmann/json.hpp"},
                                                           {"app/cli/a.h", "CLI/CLI.hpp"},
                                                           {"sim/a.cpp", "CLI/CLI.hpp"}};
  for (const auto& [path, header] : misplaced) {
    const SourceTree tree = tree_of({{path, std::string("#include <") + header + ">\n"}});
    EXPECT_EQ(heavy_header_violations(tree).size(), 1u) << path << " " << header;
  }
  EXPECT_THAT(heavy_header_violations(tree_of({
                  {"reference/eigen_view.h", "#include <Eigen/Core>\n"},
                  {"sim/a.cpp", "#include <Eigen/Core>\n#include <nlohmann/json.hpp>\n"},
                  {"sim/a.h", "#include <nlohmann/json_fwd.hpp>\n"},
                  {"app/cli/a.cpp", "#include <CLI/CLI.hpp>\n"},
              })),
              IsEmpty());
}

TEST(LayerRules, FoldersThatIncludeEachOtherAreDetected) {
  const SourceTree acyclic = tree_of({{"app/a/one.h", "#include \"app/b/two.h\"\n"},
                                      {"app/a/other.h", "#include \"app/a/one.h\"\n"},
                                      {"app/b/two.h", "#include \"app/app.h\"\n"},
                                      {"app/app.h", ""},
                                      {"app/app.cpp", "#include \"app/app.h\"\n"},
                                      {"app/main.cpp", "#include \"app/a/one.h\"\n"}});
  EXPECT_THAT(folder_cycles(acyclic, "app"), IsEmpty());
  SourceTree cyclic = acyclic;
  cyclic["app/app.h"] = parse_source("#include \"app/a/one.h\"\n");
  EXPECT_THAT(folder_cycles(cyclic, "app"),
              testing::ElementsAre("app/a: includes itself through others",
                                   "app/app: includes itself through others",
                                   "app/b: includes itself through others"));
}

TEST(LayerRules, AFolderMayCountFileByFile) {
  SourceTree tree = tree_of({{"kernels/catalog.cpp", "#include \"kernels/flash1/programs.h\"\n"},
                             {"kernels/catalog.h", ""},
                             {"kernels/flash1/launch.cpp", "#include \"kernels/catalog.h\"\n"},
                             {"kernels/flash1/programs.h", ""}});
  EXPECT_THAT(folder_cycles(tree, "kernels"), testing::SizeIs(2));
  EXPECT_THAT(folder_cycles(tree, "kernels", {"kernels/flash1"}), IsEmpty());
  tree["kernels/flash1/programs.cpp"] = parse_source("#include \"kernels/flash1/launch.h\"\n");
  EXPECT_THAT(folder_cycles(tree, "kernels", {"kernels/flash1"}), testing::SizeIs(3));
}

TEST(LayerRules, FragmentsAreDetected) {
  std::string lines;
  for (int line = 0; line < 29; ++line) lines += "int x;\n";
  const SourceTree tree = tree_of({{"app/short.cpp", lines},
                                   {"app/long.cpp", lines + "int x;\n"},
                                   {"tests/short.c", lines},
                                   {"kernels/parameters.cuh", lines},
                                   {"README.md", lines}});
  EXPECT_THAT(fragments(tree), ElementsAre("app/short.cpp", "tests/short.c"));
}

TEST(LayerRules, TestsApartFromTheirSourcesAreDetected) {
  const SourceTree tree = tree_of({{"app/cli/trace_command.cpp", ""},
                                   {"app/scene/scene.h", ""},
                                   {"kernels/device/trace.cuh", ""},
                                   {"tests/app/cli/trace_test.cpp", ""},
                                   {"tests/app/cli/whole_program_test.cpp", ""},
                                   {"tests/app/scene/scene_test.cpp", ""},
                                   {"tests/app/scene_test.cpp", ""},
                                   {"tests/gui/scene_test.cpp", ""},
                                   {"tests/sim/trace_test.cpp", ""}});
  EXPECT_THAT(misplaced_tests(tree),
              ElementsAre("tests/app/scene_test.cpp: scene is in app/scene",
                          "tests/sim/trace_test.cpp: trace is in app/cli and kernels/device"));
}

TEST(LayerRules, HeadersWithoutAGuardAreDetected) {
  EXPECT_THAT(unguarded_headers(tree_of({{"sim/a.h", "/// Text.\n#pragma once\n#include <a>\n"},
                                         {"sim/b.h", "int x;\n"},
                                         {"sim/c.h", "#include <a>\n#pragma once\n"}})),
              ElementsAre(HasSubstr("sim/b.h"), HasSubstr("sim/c.h")));
}

TEST(LayerRules, StructsThatRepeatARunAreDetected) {
  const SourceTree tree = {
      {"app/choice.h", parse_source("struct Choice {\n  Index batch = 1, heads = 1;\n"
                                    "  std::string algorithm;  // and more\n};\n")},
      {"app/key.h", parse_source("struct Key {\n  RunSpec run;\n  Index heads() const;\n"
                                 "  bool fixed = false;\n};\n")},
      {"reference/run_spec.h",
       parse_source("struct RunSpec {\n  Index Br, Bc;\n  int pass;\n};\n")},
  };
  const Violations violations = repeated_run_fields(tree);
  ASSERT_EQ(violations.size(), 1U);
  EXPECT_THAT(violations[0], HasSubstr("app/choice.h: Choice repeats algorithm, batch, heads"));
}

TEST(LayerRules, ForbiddenWordsAreDetectedWithTheirLine) {
  // Put together here, so that this file does not contain what the rule forbids
  const auto join = [](const char* a, const char* b) { return std::string(a) + b; };
  const std::vector<std::string> words = {join("TO", "DO: later"),   join("a fix", "me"),
                                          join("Good for n", "ow."), join("a st", "ub"),
                                          join("place", "holders"),  join("in /wo", "rk/main")};
  for (const std::string& word : words) {
    const SourceTree tree = tree_of({{"sim/a.cpp", "int x;\n// " + word + "\n"}});
    EXPECT_THAT(forbidden_words(tree), ElementsAre(HasSubstr("sim/a.cpp:2: "))) << word;
  }
  EXPECT_THAT(forbidden_words(tree_of({{"sim/a.cpp", "stubborn workload for nowhere hackle"}})),
              IsEmpty());
}

}  // namespace
}  // namespace attnscope::test
