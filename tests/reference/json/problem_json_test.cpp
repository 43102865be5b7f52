#include "reference/json/run_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/support/temp_dir.h"

namespace attnscope {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

AttentionProblem read(const nlohmann::json& object) {
  const nlohmann::json document = {{"problem", object}};
  return run_from_json(JsonObject(document, "scene.json"), {}).problem;
}

TEST(ProblemJson, RoundTripsEveryMaskAndPrecision) {
  for (const char* mask : {"none", "causal", "causal:top-left", "window:3,-1"}) {
    for (DType dtype : {DType::fp32, DType::fp16, DType::bf16}) {
      AttentionProblem problem;
      problem.batch = 2;
      problem.heads = 6;
      problem.kv_heads = 3;
      problem.N = 100;
      problem.N_kv = 77;
      problem.d = 24;
      problem.dtype = dtype;
      problem.mask = parse_mask(mask).value();
      EXPECT_EQ(read(problem_to_json(problem)), problem) << mask;
    }
  }
}

TEST(ProblemJson, RoundTripsScoreFunctionsAndSequences) {
  AttentionProblem problem;
  problem.heads = problem.kv_heads = 2;
  problem.score = {30.0, standard_alibi_slopes(2), {0.125, ~std::uint64_t{0}, 3, 4}};
  problem.key_lengths = {5};
  EXPECT_EQ(read(problem_to_json(problem)), problem);
  EXPECT_EQ(problem_to_json(problem)["alibi"], "standard");
  problem.score.alibi_slopes = {0.5, 0.25};
  problem.key_lengths.clear();
  problem.cu_seqlens_q = {0, 24, 1024};
  problem.cu_seqlens_k = {0, 0, 1024};
  EXPECT_EQ(read(problem_to_json(problem)), problem);
  EXPECT_FALSE(problem_to_json(AttentionProblem{}).contains("softcap"));
}

TEST(ProblemJson, DropoutIsWrittenWholeOrNotAtAll) {
  AttentionProblem problem{.N = 8, .N_kv = 8, .d = 16};
  EXPECT_FALSE(problem_to_json(problem).contains("dropout"));
  problem.score.dropout.probability = 0.5;
  problem.score.soft_cap = 10;
  const nlohmann::json written = problem_to_json(problem);
  EXPECT_EQ(
      written["dropout"],
      (nlohmann::json{{"probability", 0.5}, {"seed", 0}, {"first_batch", 0}, {"first_head", 0}}));
  EXPECT_EQ(written["softcap"].dump(), "10.0") << "a number, though it is whole";
}

TEST(ProblemJson, LeftOutFieldsTakeTheCommandLinesDefaults) {
  const AttentionProblem problem = read({{"seq_len", 64}, {"head_dim", 16}, {"heads", 4}});
  EXPECT_EQ(problem.kv_heads, 4);
  EXPECT_EQ(problem.N_kv, 64);
  EXPECT_EQ(problem.batch, 1);
  EXPECT_EQ(problem.dtype, DType::bf16);
  EXPECT_TRUE(problem.mask.is_none());
}

TEST(ProblemJson, NamesThePathOfWhatIsWrong) {
  const auto message = [](const std::string& text) {
    return ThrowsMessage<JsonFieldError>(HasSubstr(text));
  };
  EXPECT_THAT(
      [] {
        read({{"seq_len", 64}});
      },
      message("scene.json: problem: head_dim: the field is missing"));
  EXPECT_THAT(
      [] {
        read({{"seq_len", true}, {"head_dim", 16}});
      },
      message("seq_len: expected an integer, found boolean"));
  EXPECT_THAT(
      [] {
        read({{"seq_len", 64}, {"head_dim", 16}, {"mask", "sideways"}});
      },
      message("mask: 'sideways' is not accepted; use none, causal"));
  EXPECT_THAT(
      [] {
        read({{"seq_len", 64}, {"head_dim", 16}, {"heads", 4}, {"kv_heads", 3}});
      },
      message("must divide heads"));
  EXPECT_THAT(
      [] {
        read({{"seq_len", 64}, {"head_dim", 16}, {"dropout", {{"probability", 1.0}}}});
      },
      message("dropout is 1; it must be"));
  EXPECT_THAT(
      [] {
        read({{"seq_len", 64}, {"head_dim", 16}, {"key_lengths", {1.5}}});
      },
      message("key_lengths: expected integers, found number"));
  EXPECT_THAT(
      [] {
        read({{"seq_len", 64}, {"head_dim", 16}, {"alibi", "steep"}});
      },
      message("alibi: 'steep' is not accepted; use standard, or a slope"));
  EXPECT_THAT([] { read(nlohmann::json::array()); }, message("expected an object, found array"));
}

TEST(TilingJson, RoundTripsAndRefusesZero) {
  const Tiling tiling{128, 64};
  const nlohmann::json object = tiling_to_json(tiling);
  EXPECT_EQ(tiling_from_json(JsonObject(object, "t")), tiling);
  const nlohmann::json zero = {{"Br", 0}, {"Bc", 64}};
  EXPECT_THROW(tiling_from_json(JsonObject(zero, "t")), JsonFieldError);
}

TEST(ParseJson, GivesLineAndColumnOfTheFirstMistake) {
  const auto document = parse_json("{\n  \"a\": 1,\n  \"b\" 2\n}", "x.json");
  ASSERT_FALSE(document.ok());
  EXPECT_THAT(document.error().message, HasSubstr("x.json:3:7: not valid JSON"));
}

TEST(ParseJson, RefusesDeepNesting) {
  const auto nested = [](std::size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
  };
  EXPECT_TRUE(parse_json(nested(64), "x.json").ok());
  for (const std::size_t depth : {std::size_t{66}, std::size_t{200'000}, std::size_t{10'000'000}}) {
    const auto document = parse_json(R"({"rows": )" + nested(depth) + "}", "x.json");
    ASSERT_FALSE(document.ok()) << depth;
    EXPECT_THAT(document.error().message, HasSubstr("nested more than 64 deep"));
    EXPECT_FALSE(parse_json(std::string(depth, '['), "x.json").ok());
  }
}

TEST(ParseJson, RefusesValuesThatTakeMuchMoreMemoryThanTheirText) {
  const auto repeated = [](std::string_view value, std::size_t text_bytes) {
    std::string text = "[";
    while (text.size() < text_bytes) text.append(value).push_back(',');
    text.back() = ']';
    return text;
  };
  constexpr std::size_t kMostBytes = std::size_t{1} << 25;
  EXPECT_TRUE(parse_json(repeated("0", kMostBytes), "x.json").ok());
  for (const char* value : {"[]", "{\"\":{\"\":{}}}"}) {
    const auto refused = parse_json(repeated(value, kMostBytes), "x.json");
    ASSERT_FALSE(refused.ok()) << value;
    EXPECT_EQ(refused.error().message,
              "x.json: its values would take more than 301989888 bytes of memory");
  }
}

TEST(ParseJson, CountsOnlyOpenObjectsAndListsOutsideOfStrings) {
  const std::string brackets(100, '[');
  EXPECT_TRUE(parse_json("[\"" + brackets + "\", \"\\\"" + brackets + "\"]", "x.json").ok());
  std::string wide = "[[]";
  for (int n = 0; n < 100; ++n) wide += ",[{}]";
  EXPECT_TRUE(parse_json(wide + "]", "x.json").ok());
}

TEST(ParseJson, TakesTimeInProportionToTheLength) {
  std::string wide = "[{}";
  for (int n = 0; n < 400'000; ++n) wide += ",{}";
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_TRUE(parse_json(wide + "]", "x.json").ok());
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  EXPECT_LT(took.count(), 10.0);
}

TEST(ReadJsonFile, AFileOfTheSystemThatStatesNoSizeIsEmpty) {
  for (const char* file : {"/proc/self/mem", "/proc/self/pagemap"}) {  // reading these fails
    const auto document = read_json_file(file);
    ASSERT_FALSE(document.ok());
    EXPECT_EQ(document.error().message,
              std::string(file) + ": the file is empty; expected a JSON document");
  }
}

TEST(Utf8Text, KeepsUtf8AndTurnsOtherBytesBack) {
  const std::string valid = "a/\u00e9\u20ac\U0001f600.npy";
  EXPECT_EQ(utf8_text(valid), valid);
  std::string all = valid;
  for (int byte = 1; byte < 256; ++byte) all += static_cast<char>(byte);
  for (const char* broken : {"\xc0\x80", "\xe0\x80\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80",
                             "\xf0\x9f\x98", "\xe2\x82"}) {
    all += broken;
  }
  const std::string text = utf8_text(all);
  EXPECT_EQ(bytes_of(text), all);
  EXPECT_TRUE(nlohmann::json::accept(nlohmann::json(text).dump()));  // throws on other bytes
}

TEST(Utf8Text, TurnsOnlyWholeEscapedBytesBack) {
  const std::string low = utf8_text("\x80");
  EXPECT_EQ(bytes_of("a" + low + "b" + utf8_text("\xff") + low),
            "a\x80"
            "b\xff\x80");
  // Cut short, or another character with the same first byte
  for (const char* text : {"\xf4\x8f\xbe", "a\xf4", "\xf4\x8f\xbd\x80", "\xf4\xf4\x8f\xbe"}) {
    EXPECT_EQ(bytes_of(text), text);
  }
}

TEST(ProblemJson, KeepsNamesOfFilesThatAreNotUtf8) {
  RunSpec spec;
  spec.files.Q = "/t\xe9/q.npy";
  spec.gpu = "\xff/mine.json";
  nlohmann::json document;
  store_run(spec, document);
  const nlohmann::json again = nlohmann::json::parse(json_dump(document));
  EXPECT_EQ(run_from_json(JsonObject(again, ""), {}), spec);
}

TEST(RunJson, EveryStoredFieldIsAMemberAndMistypedOnesAreNamed) {
  RunSpec spec;
  spec.problem.score.dropout.probability = 0.5;
  spec.set_tiling({64, 64});
  spec.variant.d_once = true;
  spec.switches = {{"stages", "1"}};
  nlohmann::json document;
  store_run(spec, document);
  EXPECT_NO_THROW(check_run_members(JsonObject(document, "")));
  document["problem"]["dropout"]["probabilty"] = 0.5;
  EXPECT_THAT([&] { check_run_members(JsonObject(document, "")); },
              ThrowsMessage<JsonFieldError>(
                  HasSubstr("problem: dropout: probabilty is not a field of a run; did you mean "
                            "probability?")));
  // Neither the path of a field nor an empty name is a member
  for (const char* name : {"problem/mask", "problem/dropout", "", "N", "tiling_rule"}) {
    const nlohmann::json flat = {{name, "causal"}};
    EXPECT_THROW(check_run_members(JsonObject(flat, "")), JsonFieldError) << name;
  }
}

}  // namespace
}  // namespace attnscope
