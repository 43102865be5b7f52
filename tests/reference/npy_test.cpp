#include "reference/npy.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>
#include <random>

#include "reference/check.h"
#include "tests/support/temp_dir.h"

namespace attnscope {
namespace {

/// A .npy file of version 1 with this header text and payload.
std::string npy(const std::string& dictionary, const std::string& payload) {
  const std::string header = dictionary + "\n";
  std::string bytes("\x93NUMPY\x01\x00", 8);
  bytes.push_back(static_cast<char>(header.size() & 0xff));
  bytes.push_back(static_cast<char>(header.size() >> 8));
  return bytes + header + payload;
}

std::string header_of(const std::string& descr, const std::string& shape,
                      const std::string& order = "False") {
  return "{'descr': '" + descr + "', 'fortran_order': " + order + ", 'shape': " + shape + ", }";
}

template <typename T>
std::string bytes_of(std::initializer_list<T> values) {
  std::string bytes;
  for (const T value : values) {
    char raw[sizeof(T)];
    std::memcpy(raw, &value, sizeof value);
    bytes.append(raw, sizeof value);
  }
  return bytes;
}

std::string error_of(const std::string& bytes) {
  const auto result = parse_npy(bytes, "q.npy");
  if (result.ok()) return "accepted";
  EXPECT_EQ(result.error().kind, Error::Kind::invalid_request);
  EXPECT_TRUE(result.error().message.starts_with("q.npy: ")) << result.error().message;
  EXPECT_EQ(result.error().message.find('\n'), std::string::npos) << result.error().message;
  return result.error().message;
}

using Shape = std::vector<Index>;

TEST(Npy, ReadsEveryPrecision) {
  const auto fp16 =
      parse_npy(npy(header_of("<f2", "(2,)"), bytes_of<std::uint16_t>({0x3c00, 0xc500})), "half");
  ASSERT_TRUE(fp16.ok());
  EXPECT_EQ(fp16.value().data, (std::vector<double>{1.0, -5.0}));
  const auto fp32 =
      parse_npy(npy(header_of("<f4", "(1, 2)"), bytes_of<float>({0.1f, -3})), "single");
  ASSERT_TRUE(fp32.ok());
  EXPECT_EQ(fp32.value().shape, (Shape{1, 2}));
  EXPECT_EQ(fp32.value().data, (std::vector<double>{static_cast<double>(0.1f), -3.0}));
  const auto fp64 = parse_npy(npy(header_of("<f8", "()"), bytes_of<double>({0.1})), "double");
  ASSERT_TRUE(fp64.ok());
  EXPECT_EQ(fp64.value().shape, Shape{});
  EXPECT_EQ(fp64.value().data, (std::vector<double>{0.1}));
}

TEST(Npy, ReadsVersionTwoAndAnyOrderOfKeys) {
  const std::string dictionary =
      R"({"shape":(1,1),"fortran_order":False,"descr":"<f8"})" + std::string(40, ' ') + "\n";
  std::string bytes("\x93NUMPY\x02\x00", 8);
  bytes += bytes_of<std::uint32_t>({static_cast<std::uint32_t>(dictionary.size())});
  bytes += dictionary + bytes_of<double>({2.5});
  const auto result = parse_npy(bytes, "v2");
  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_EQ(result.value().data, (std::vector<double>{2.5}));
}

TEST(Npy, WrittenFilesReadBackToTheBit) {
  const test::TempDir dir;
  const double inf = std::numeric_limits<double>::infinity();
  const std::vector<double> data = {0.1, -inf, 1e-310, -0.0, 3.5, inf};
  for (const Shape& shape : {Shape{6}, Shape{2, 3}, Shape{1, 2, 3, 1}}) {
    const std::string path = dir.file("o.npy");
    ASSERT_EQ(write_npy(path, shape, data), std::nullopt);
    const auto result = read_npy(path);
    ASSERT_TRUE(result.ok()) << result.error().message;
    EXPECT_EQ(result.value().shape, shape);
    EXPECT_EQ(std::memcmp(result.value().data.data(), data.data(), data.size() * 8), 0);
  }
}

TEST(Npy, TheShapeIsReadFromTheHeaderAlone) {
  const test::TempDir dir;
  const std::string path = dir.file("o.npy");
  ASSERT_EQ(write_npy(path, Shape{3, 50000}, std::vector<double>(150000)), std::nullopt);
  std::filesystem::resize_file(path, 100'000);
  const auto shape = read_npy_shape(path);
  ASSERT_TRUE(shape.ok()) << shape.error().message;
  EXPECT_EQ(shape.value(), (Shape{3, 50000}));
  EXPECT_FALSE(read_npy(path).ok());
  std::filesystem::resize_file(path, 20);
  EXPECT_FALSE(read_npy_shape(path).ok());
  EXPECT_FALSE(read_npy_shape(dir.file("none.npy")).ok());
}

TEST(Npy, WrittenPayloadsAreAlignedAsTheFormatAsks) {
  const test::TempDir dir;
  for (Index n = 1; n <= 1000000; n *= 10) {
    const std::string path = dir.file("o.npy");
    ASSERT_EQ(write_npy(path, Shape{n}, std::vector<double>(static_cast<std::size_t>(n))),
              std::nullopt);
    const auto size = std::filesystem::file_size(path);
    EXPECT_EQ((size - static_cast<std::size_t>(n) * 8) % 64, 0u);
  }
}

TEST(Npy, EmptyArraysRoundTrip) {
  const test::TempDir dir;
  ASSERT_EQ(write_npy(dir.file("empty.npy"), Shape{3, 0}, {}), std::nullopt);
  const auto result = read_npy(dir.file("empty.npy"));
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result.value().shape, (Shape{3, 0}));
}

TEST(Npy, OtherLayoutsAreRefusedWithTheReason) {
  const std::string payload = bytes_of<double>({1.0});
  EXPECT_NE(error_of(npy(header_of("<f8", "(1,)", "True"), payload)).find("Fortran order"),
            std::string::npos);
  for (const char* descr : {">f8", "<i8", "|u1", "<f16", "=f8", "f8", "<c8", ""}) {
    EXPECT_NE(error_of(npy(header_of(descr, "(1,)"), payload)).find("type '"), std::string::npos)
        << descr;
  }
  EXPECT_NE(error_of("").find("not a .npy file"), std::string::npos);
  const std::string long_header("\x93NUMPY\x02\x00\x00\x00\x10\x00", 12);
  EXPECT_NE(error_of(long_header).find("header of 1048576 bytes; at most"), std::string::npos);
  EXPECT_NE(error_of("PK\x03\x04").find("not a .npy file"), std::string::npos);
  EXPECT_NE(error_of(std::string("\x93NUMPY\x03\x00", 8)).find("version 3"), std::string::npos);
}

TEST(Npy, SizesThatDoNotMatchTheShapeAreRefused) {
  const std::string payload = bytes_of<double>({1.0, 2.0});
  EXPECT_NE(error_of(npy(header_of("<f8", "(3,)"), payload)).find("needs 24 bytes"),
            std::string::npos);
  EXPECT_NE(error_of(npy(header_of("<f8", "(1,)"), payload)).find("needs 8 bytes"),
            std::string::npos);
  EXPECT_NE(error_of(npy(header_of("<f8", "(2,)"), payload + "x")).find("17 follow"),
            std::string::npos);
}

TEST(Npy, AbsurdShapesAreRefusedBeforeAnythingIsAllocated) {
  const std::string big = "4611686018427387904";  // 2^62
  EXPECT_NE(error_of(npy(header_of("<f8", "(" + big + ", 4)"), "")).find("too large"),
            std::string::npos);
  EXPECT_NE(error_of(npy(header_of("<f8", "(4294967296, 4294967296, 16)"), "")).find("too large"),
            std::string::npos);
  EXPECT_NE(error_of(npy(header_of("<f2", "(1099511627776,)"), "")).find("needs"),
            std::string::npos);
  for (const char* shape : {"(-1,)", "(99999999999999999999,)", "(1.0,)", "(3)", "(1,,)", "(,)",
                            "(1", "[1]", "1", "(0x1,)", "(True,)"}) {
    EXPECT_NE(error_of(npy(header_of("<f8", shape), "")).find("dictionary"), std::string::npos)
        << shape;
  }
  // Zero extents hide an overflow from a product taken in order
  EXPECT_EQ(error_of(npy(header_of("<f8", "(" + big + ", 0)"), "")), "accepted");
}

TEST(Npy, MalformedHeadersAreRefused) {
  for (const char* dictionary :
       {"", "{}", "{'descr': '<f8'}", "{'descr': '<f8', 'fortran_order': False, 'shape': (1,)",
        "{'descr': '<f8', 'descr': '<f8', 'fortran_order': False, 'shape': (1,), }",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (1,), 'more': 1}",
        "{'descr': '<f8', 'fortran_order': 0, 'shape': (1,), }",
        "{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (1,), }",
        "{'descr': '<f8' 'fortran_order': False, 'shape': (1,), }",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (1,), } trailing", "{'descr"}) {
    EXPECT_NE(error_of(npy(dictionary, bytes_of<double>({1.0}))).find("dictionary"),
              std::string::npos)
        << dictionary;
  }
}

TEST(Npy, EveryTruncationIsRefused) {
  const std::string whole = npy(header_of("<f4", "(2, 2)"), bytes_of<float>({1, 2, 3, 4}));
  ASSERT_EQ(error_of(whole), "accepted");
  for (std::size_t length = 0; length < whole.size(); ++length) {
    EXPECT_NE(error_of(whole.substr(0, length)), "accepted") << length << " bytes";
  }
}

TEST(Npy, FlippedHeaderBytesAreRefusedOrReadConsistently) {
  const std::string whole = npy(header_of("<f4", "(2, 2)"), bytes_of<float>({1, 2, 3, 4}));
  for (std::size_t at = 0; at < whole.size() - 16; ++at) {
    for (int byte = 0; byte < 256; ++byte) {
      std::string damaged = whole;
      damaged[at] = static_cast<char>(byte);
      const auto result = parse_npy(damaged, "damaged");
      if (!result) continue;
      Index elements = 1;
      for (const Index extent : result.value().shape) elements *= extent;
      ASSERT_EQ(static_cast<std::size_t>(elements), result.value().data.size()) << damaged;
    }
  }
}

TEST(Npy, RandomBytesBehindTheMagicNeverCrash) {
  std::mt19937 random(1);
  const std::string alphabet = "{}'\"()[],: \n0123456789<f842TrueFalsdcpshon_\x80\xff";
  for (int round = 0; round < 20000; ++round) {
    std::string dictionary;
    const std::size_t length = random() % 80;
    for (std::size_t n = 0; n < length; ++n) {
      dictionary.push_back(alphabet[random() % alphabet.size()]);
    }
    EXPECT_NE(error_of(npy(dictionary, "")), "accepted") << dictionary;
  }
}

TEST(Npy, UnreadableAndUnwritablePathsAreErrors) {
  const test::TempDir dir;
  for (const std::string& path : {dir.file("missing.npy"), dir.path().string(), std::string()}) {
    const auto result = read_npy(path);
    ASSERT_FALSE(result.ok()) << path;
    EXPECT_EQ(result.error().kind, Error::Kind::invalid_request);
  }
  const double value = 1.0;
  const auto no_folder = write_npy(dir.file("missing/o.npy"), Shape{1}, {&value, 1});
  ASSERT_TRUE(no_folder.has_value());
  EXPECT_EQ(no_folder->kind, Error::Kind::failed);
  if (std::filesystem::exists("/dev/full")) {
    const auto disk_full = write_npy("/dev/full", Shape{1}, {&value, 1});
    ASSERT_TRUE(disk_full.has_value());
    EXPECT_EQ(disk_full->kind, Error::Kind::failed);
  }
}

TEST(Npy, WritingFewerValuesThanTheShapeIsAProgrammersError) {
  const test::TempDir dir;
  const double value = 1.0;
  EXPECT_THROW(write_npy(dir.file("o.npy"), Shape{2}, {&value, 1}), CheckFailure);
}

}  // namespace
}  // namespace attnscope
