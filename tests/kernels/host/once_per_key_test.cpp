/// Several threads that load kernels at once: each kernel is loaded once, and no thread waits for
/// another thread's kernel.
#include "kernels/host/once_per_key.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <stdexcept>
#include <string>

#include "kernels/compile/compiler.h"

namespace attnscope::kernels {
namespace {

TEST(OncePerKey, MakesAValueOnceAndAgainAfterAFailure) {
  OncePerKey<std::string, int> values;
  EXPECT_THROW(values.get("a", []() -> int { throw std::runtime_error("refused"); }),
               std::runtime_error);
  EXPECT_EQ(values.get("a", [] { return 1; }), 1);
  EXPECT_EQ(values.get("a", [] { return 2; }), 1);
  EXPECT_EQ(values.get("b", [] { return 3; }), 3);
}

TEST(OncePerKey, ThreadsThatAskForDifferentKeysDoNotWaitForEachOther) {
  OncePerKey<std::string, int> values;
  std::promise<void> other_is_made;
  auto slow = std::async(std::launch::async, [&] {
    return values.get("slow", [&] {
      const auto patience = std::chrono::seconds(20);
      return other_is_made.get_future().wait_for(patience) == std::future_status::ready ? 1 : 0;
    });
  });
  EXPECT_EQ(values.get("other", [] { return 2; }), 2);
  other_is_made.set_value();
  EXPECT_EQ(slow.get(), 1) << "the other key waited for this one";
}

TEST(OncePerKey, ThreadsThatAskForOneKeyShareItsValue) {
  OncePerKey<int, int> values;
  std::atomic<int> made = 0;
  const auto get = [&] { return values.get(7, [&] { return ++made; }); };
  auto first = std::async(std::launch::async, get);
  auto second = std::async(std::launch::async, get);
  EXPECT_EQ(first.get(), 1);
  EXPECT_EQ(second.get(), 1);
}

TEST(OncePerKey, TheKeyOfAProgramIsEverythingThatItIsCompiledFrom) {
  const KernelProgram program{.sources = {"a.cuh"}, .expression = "kernel", .text = "text"};
  KernelProgram others[] = {program, program, program, program, program};
  others[0].sources.emplace_back("b.cuh");
  others[1].expression += "<1>";
  others[2].options.emplace_back("-DX");
  others[3].text += " ";
  others[4].architecture = "sm_90a";
  OncePerKey<KernelProgram, int> values;
  EXPECT_EQ(values.get(program, [] { return 0; }), 0);
  int n = 0;
  for (const KernelProgram& other : others) {
    ++n;
    EXPECT_EQ(values.get(other, [&] { return n; }), n);
  }
  EXPECT_EQ(values.get(program, [] { return -1; }), 0);
}

}  // namespace
}  // namespace attnscope::kernels
