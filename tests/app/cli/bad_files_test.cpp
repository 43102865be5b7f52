/// Files that cannot be read are rejected with one clear line, and stay unchanged.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <limits>

#include "reference/npy.h"
#include "sim/device/assets.h"
#include "tests/app/cli/cli_process.h"

namespace attnscope {
namespace {

using test::expect_refused;

/// A scratch folder with .npy files for a problem of N = 4, d = 2, one head.
class BadNpy : public ::testing::Test {
 protected:
  void expect_npy_refused(const std::string& bytes, const std::string& part) {
    const std::string file = scratch_.write("q.npy", bytes);
    for (const std::string command : {"simulate", "run", "measure"}) {
      const std::string words =
          fmt::format("{} --algorithm flash2 --seq-len 4 --head-dim {} --out {} --q {}", command,
                      command == "simulate" ? 2 : 16, scratch_.file("results"), file);
      expect_refused(run_cli(words, without_gpu()), part);
    }
    EXPECT_EQ(scratch_.names(), std::vector<std::string>{"q.npy"});
  }
  /// A file with this header and `data_bytes` zero bytes.
  static std::string npy(const std::string& header, std::size_t data_bytes) {
    std::string text = header + std::string(128 - 10 - header.size() - 1, ' ') + "\n";
    std::string bytes = "\x93NUMPY";
    bytes += std::string("\x01\x00", 2);
    bytes += static_cast<char>(text.size());
    bytes += '\0';
    return bytes + text + std::string(data_bytes, '\0');
  }
  ScratchFolder scratch_;
};

TEST_F(BadNpy, EmptyTruncatedAndForeignFilesAreRefused) {
  expect_npy_refused("", "q.npy");
  expect_npy_refused("not a numpy file at all", "q.npy");
  expect_npy_refused(std::string("\x93NUMPY\x01", 7), "q.npy");
  const std::string header = "{'descr': '<f8', 'fortran_order': False, 'shape': (1, 1, 4, 2), }";
  expect_npy_refused(npy(header, 63), "q.npy");
  expect_npy_refused(npy(header, 65), "q.npy");
}

TEST_F(BadNpy, WrongShapesAndTypesAreRefused) {
  const auto header = [](const std::string& descr, const std::string& shape,
                         const std::string& fortran) {
    return "{'descr': '" + descr + "', 'fortran_order': " + fortran + ", 'shape': " + shape + ", }";
  };
  expect_npy_refused(npy(header("<f8", "(1, 1, 4, 3)", "False"), 96), "q.npy");
  expect_npy_refused(npy(header("<f8", "(8,)", "False"), 64), "q.npy");
  expect_npy_refused(npy(header("<i8", "(1, 1, 4, 2)", "False"), 64), "q.npy");
  expect_npy_refused(npy(header(">f8", "(1, 1, 4, 2)", "False"), 64), "q.npy");
  expect_npy_refused(npy(header("<f8", "(1, 1, 4, 2)", "True"), 64), "q.npy");
  expect_npy_refused(npy(header("<f8", "(9223372036854775807, 4, 4, 2)", "False"), 64), "q.npy");
}

TEST_F(BadNpy, ValuesThatAreNotFiniteAreRefused) {
  std::vector<double> data(8, std::numeric_limits<double>::quiet_NaN());
  const std::vector<Index> shape = {1, 1, 4, 2};
  ASSERT_FALSE(write_npy(scratch_.file("q.npy"), shape, data));
  expect_refused(
      run_cli("simulate --algorithm flash2 --seq-len 4 --head-dim 2 --q " + scratch_.file("q.npy")),
      "q.npy");
}

TEST_F(BadNpy, MissingFilesAreRefused) {
  for (const std::string options : {"--q", "--k", "--v", "--pass backward --do"}) {
    expect_refused(run_cli("simulate --algorithm flash2 " + options + " none.npy"), "none.npy");
  }
}

TEST(BadJson, MalformedAndNewerGpuFilesAreRefused) {
  const ScratchFolder scratch;
  const std::string good = read_text(find_assets_dir().value() / "gpus" / "h200.json");
  for (const std::string& text :
       {std::string(), std::string("{"), std::string("[]"), std::string("null"),
        good.substr(0, good.size() / 2), std::string("{\"schema\": \"attnscope.gpu/2\"}"),
        std::string("{\"schema\": \"attnscope.gpu/1\"}"), std::string("\xff\xfe\x00\x01", 4),
        std::string(50'000, '[')}) {
    const std::string file = scratch.write("mine.json", text);
    expect_refused(run_cli("simulate --algorithm flash2 --gpu " + file), "mine.json");
  }
}

TEST(BadJson, MalformedAndNewerRecordingsAreRefused) {
  const ScratchFolder scratch;
  for (const std::string& text :
       {std::string(), std::string("{"), std::string("[]"), std::string("{\"schema\": 1}"),
        std::string("{\"schema\": \"attnscope.recording/2\"}"),
        std::string("{\"schema\": \"attnscope.recording/1\"}"),
        std::string("{\"schema\": \"attnscope.gpu/1\"}"), std::string("\xff\xfe\x00\x01", 4)}) {
    const std::string file = scratch.write("mine.json", text);
    expect_refused(run_cli("compare --recording " + file), "mine.json");
    expect_refused(run_cli("measure --algorithm flash2 --out " + file, without_gpu()), "mine.json");
    EXPECT_EQ(read_text(file), text);
  }
}

TEST(BadJson, MalformedTracesAreRefused) {
  const ScratchFolder scratch;
  for (const std::string& text : {std::string(), std::string("{"), std::string("null"),
                                  std::string("{\"schema\": \"attnscope.kernel_trace/1\"}"),
                                  std::string("{\"schema\": \"attnscope.recording/1\"}")}) {
    const std::string file = scratch.write("mine.json", text);
    expect_refused(run_cli("trace --recording " + file + " --out out.json", {}, scratch.path()),
                   "mine.json");
  }
  EXPECT_EQ(scratch.names(), std::vector<std::string>{"mine.json"});
}

TEST(BadJson, ADirectoryIsNotARecording) {
  const ScratchFolder scratch;
  expect_refused(run_cli("compare --recording " + scratch.path().string() + "/"),
                 "not a regular file");
}

}  // namespace
}  // namespace attnscope
