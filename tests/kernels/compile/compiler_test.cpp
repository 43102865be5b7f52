/// Kernels compiled by NVRTC, on a machine without a GPU.
#include "kernels/compile/compiler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <future>
#include <stdexcept>
#include <vector>

#include "kernels/compile/nvrtc_library.h"
#include "reference/check.h"
#include "tests/support/temp_dir.h"

namespace attnscope::kernels {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

/// The program of an instance in bf16; `arguments` follow the element type.
KernelProgram program_of(const std::string& folder, const std::string& kernel,
                         const std::string& arguments) {
  return {.source = "kernels/" + folder + "/" + kernel + ".cuh",
          .expression = "attnscope::kernels::" + kernel + "<attnscope::kernels::device::Bf16" +
                        arguments + ">",
          .architecture = "sm_90a"};
}

KernelProgram small_flash2() {
  return program_of("flash2", "flash2_forward", ", 16, 16, 16, 1");
}

TEST(Compiler, MakesMachineCodeAndSaysWhatItTakes) {
  const auto compiled = compile(program_of("flash2", "flash2_forward", ", 128, 128, 64, 4"));
  ASSERT_TRUE(compiled.ok()) << compiled.error().message;
  const CompiledKernel& kernel = compiled.value();
  EXPECT_THAT(kernel.cubin, StartsWith("\x7f"
                                       "ELF"));
  EXPECT_THAT(kernel.ptx, AllOf(HasSubstr(".target sm_90a"), HasSubstr(kernel.entry)));
  EXPECT_THAT(kernel.cubin, HasSubstr(kernel.entry));
  EXPECT_GT(kernel.resources.registers, 128);
  EXPECT_LE(kernel.resources.registers, 255);
  EXPECT_EQ(kernel.resources.spill_stores, 0);
  EXPECT_EQ(kernel.resources.spill_loads, 0);
  EXPECT_EQ(kernel.resources.stack_bytes, 0);
  EXPECT_GT(kernel.compile_s, 0.0);
}

TEST(Compiler, SaysWhichBytesSpill) {
  const auto compiled = compile(program_of("flash2", "flash2_forward", ", 64, 256, 64, 4"));
  ASSERT_TRUE(compiled.ok()) << compiled.error().message;
  EXPECT_EQ(compiled.value().resources.registers, 255);
  EXPECT_GT(compiled.value().resources.spill_stores, 0);
  EXPECT_GT(compiled.value().resources.spill_loads, 0);
  EXPECT_GT(compiled.value().resources.stack_bytes, 0);
}

TEST(Compiler, TakesTextThatIsNotEmbedded) {
  KernelProgram program{.source = "kernels/device/place.cuh",
                        .expression = "store_place<4>",
                        .architecture = "sm_80",
                        .text =
                            "template <int kStep> __global__ void store_place(int* to) {\n"
                            "  to[attnscope::kernels::device::thread_index() * kStep] = 1;\n"
                            "}\n"};
  const auto compiled = compile(program);
  ASSERT_TRUE(compiled.ok()) << compiled.error().message;
  EXPECT_THAT(compiled.value().ptx, HasSubstr("st.global"));
  const std::string key = cache_key(program, "a build");
  program.text += " ";
  EXPECT_NE(cache_key(program, "a build"), key);
}

TEST(Compiler, ReadsTheResourcesOutOfALog) {
  constexpr std::string_view kLog =
      "ptxas info    : 136 bytes gmem\n"
      "ptxas info    : Compiling entry function '_Z5firstv' for 'sm_90a'\n"
      "ptxas info    : Function properties for _Z5firstv\n"
      "ptxas         .     1096 bytes stack frame, 2180 bytes spill stores, 2292 bytes spill "
      "loads\nptxas info    : Used 168 registers, used 2 barriers, 1040 bytes smem\n"
      "ptxas info    : Compiling entry function '_Z6secondv' for 'sm_90a'\n"
      "ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
      "ptxas info    : Used 32 registers, used 0 barriers\n";
  EXPECT_EQ(resources_in(kLog, "_Z5firstv"), (KernelResources{168, 2180, 2292, 1096, 1040}));
  EXPECT_EQ(resources_in(kLog, "_Z6secondv"), (KernelResources{32, 0, 0, 0, 0}));
  EXPECT_EQ(resources_in(kLog, "_Z6second"), KernelResources());
  EXPECT_EQ(resources_in("", "_Z5firstv"), KernelResources());
}

TEST(Compiler, ARefusedSourceIsAnErrorWithItsFileAndLine) {
  KernelProgram wrong = small_flash2();
  wrong.expression =
      "attnscope::kernels::flash2_forward<attnscope::kernels::device::Bf16, 16, 24, "
      "16, 1>";  // rows per warp that are not a multiple of 16
  const auto compiled = compile(wrong);
  ASSERT_FALSE(compiled.ok());
  EXPECT_EQ(compiled.error().kind, Error::Kind::failed);
  EXPECT_THAT(compiled.error().message, AllOf(HasSubstr("kernels/flash2/flash2_forward.cuh("),
                                              HasSubstr("static assertion"), Not(HasSubstr("\n"))));
}

TEST(Compiler, AnUnknownArchitectureIsAnErrorInTheCompilersWords) {
  KernelProgram unknown = small_flash2();
  unknown.architecture = "sm_999";
  const auto compiled = compile(unknown);
  ASSERT_FALSE(compiled.ok());
  EXPECT_EQ(compiled.error().kind, Error::Kind::failed);
  EXPECT_THAT(compiled.error().message,
              AllOf(HasSubstr("for sm_999: "), HasSubstr("--gpu-architecture")));
}

TEST(Compiler, MakesOnlyPtxForAnArchitectureOfPtx) {
  KernelProgram program = small_flash2();
  program.architecture = "compute_80";
  const auto compiled = compile(program);
  ASSERT_TRUE(compiled.ok()) << compiled.error().message;
  EXPECT_THAT(compiled.value().ptx,
              AllOf(HasSubstr(".target sm_80"), HasSubstr(compiled.value().entry)));
  EXPECT_EQ(compiled.value().cubin, "");
  EXPECT_EQ(compiled.value().resources, KernelResources());
}

TEST(Compiler, EndsWhenItIsCancelled) {
  std::atomic<bool> cancel = true;
  const auto refused = compile(small_flash2(), &cancel);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::cancelled);

  cancel = false;
  const auto large = program_of("flash2", "flash2_forward", ", 64, 256, 256, 4");
  auto compiling = std::async(std::launch::async, [&] { return compile(large, &cancel); });
  EXPECT_EQ(compiling.wait_for(std::chrono::milliseconds(100)), std::future_status::timeout);
  cancel = true;
  const auto compiled = compiling.get();
  ASSERT_FALSE(compiled.ok());
  EXPECT_EQ(compiled.error().code, ErrorCode::cancelled);
}

TEST(KernelCompiler, CompilesOnceThenReadsTheDiskAndItsMemory) {
  const test::TempDir dir;
  const KernelProgram program = small_flash2();
  KernelCompiler compiler(dir.file("cache"));
  const auto first = compiler.obtain(program);
  ASSERT_TRUE(first.ok()) << first.error().message;
  EXPECT_TRUE(first.value().compiled_now);
  const auto again = compiler.obtain(program);
  ASSERT_TRUE(again.ok());
  EXPECT_FALSE(again.value().compiled_now);
  EXPECT_EQ(again.value().kernel, first.value().kernel);

  KernelCompiler of_another_process(dir.file("cache"));
  const auto begin = std::chrono::steady_clock::now();
  const auto read = of_another_process.obtain(program);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  ASSERT_TRUE(read.ok());
  EXPECT_FALSE(read.value().compiled_now);
  EXPECT_EQ(read.value().kernel->cubin, first.value().kernel->cubin);
  EXPECT_EQ(read.value().kernel->resources, first.value().kernel->resources);
  EXPECT_LT(took.count(), 0.05);
}

TEST(KernelCompiler, TheBuildOfNvrtcHasTheSizeOfItsFile) {
  const std::string& build = nvrtc().value().build;
  EXPECT_THAT(build, ::testing::StartsWith(fmt::format("{}.", nvrtc().value().version.major)));
  EXPECT_THAT(build, ::testing::HasSubstr(" libnvrtc"));
  const std::string size = build.substr(build.rfind(' ') + 1);
  EXPECT_GT(std::stoull(size), 1'000'000u) << build;
}

TEST(KernelCompiler, CompilesAgainIfTheEntryOnDiskHoldsNoKernelOrOneOfAnotherLayout) {
  const test::TempDir dir;
  const KernelProgram program = small_flash2();
  const std::string key = cache_key(program, nvrtc().value().build);
  for (const char* format : {"attnscope kernel 3\n", "attnscope kernel 2\n"}) {
    DiskCache(dir.file("cache"), {format, ".kernel"}, 1 << 20).keep(key, "no kernel");
    const auto obtained = KernelCompiler(dir.file("cache")).obtain(program);
    ASSERT_TRUE(obtained.ok()) << obtained.error().message;
    EXPECT_TRUE(obtained.value().compiled_now) << format;
  }
  EXPECT_FALSE(KernelCompiler(dir.file("cache")).obtain(program).value().compiled_now);
}

TEST(KernelCompiler, AWaitingThreadCanBeCancelled) {
  KernelCompiler compiler("");
  const auto large = program_of("flash2", "flash2_forward", ", 64, 256, 256, 4");
  std::atomic<bool> cancel_compiling = false;
  std::atomic<bool> cancel_waiting = false;
  const auto obtain = [&](const std::atomic<bool>& cancel) {
    return compiler.obtain(large, &cancel);
  };
  auto compiling = std::async(std::launch::async, obtain, std::cref(cancel_compiling));
  EXPECT_EQ(compiling.wait_for(std::chrono::milliseconds(100)), std::future_status::timeout);
  auto waiting = std::async(std::launch::async, obtain, std::cref(cancel_waiting));
  EXPECT_EQ(waiting.wait_for(std::chrono::milliseconds(100)), std::future_status::timeout);
  cancel_waiting = true;
  const auto cancelled = waiting.get();
  ASSERT_FALSE(cancelled.ok());
  EXPECT_EQ(cancelled.error().code, ErrorCode::cancelled);
  EXPECT_EQ(compiling.wait_for(std::chrono::seconds(0)), std::future_status::timeout)
      << "only the waiting thread is cancelled";
  cancel_compiling = true;
  EXPECT_FALSE(compiling.get().ok());
}

TEST(KernelCompiler, ThreadsThatAskForOneProgramShareItsCompilation) {
  KernelCompiler compiler("");
  const KernelProgram program = small_flash2();
  const auto obtain = [&] { return compiler.obtain(program); };
  auto other = std::async(std::launch::async, obtain);
  const auto own = obtain();
  const auto others = other.get();
  ASSERT_TRUE(own.ok() && others.ok());
  EXPECT_EQ(own.value().kernel, others.value().kernel);
  EXPECT_NE(own.value().compiled_now, others.value().compiled_now)
      << "one compiles, one takes its result";
}

TEST(KernelCompiler, ObtainsSeveralProgramsAndReportsEach) {
  KernelCompiler compiler("");
  const KernelProgram programs[] = {small_flash2(),
                                    program_of("flash2", "flash2_forward", ", 16, 32, 16, 1"),
                                    program_of("flash2", "flash2_forward", ", 32, 16, 16, 1")};
  std::vector<int> reports;
  const auto progress = [&](int done, int all) {
    EXPECT_EQ(all, 3);
    reports.push_back(done);
  };
  const auto error = compiler.obtain_all(programs, {nullptr, progress});
  ASSERT_FALSE(error) << error->message;
  EXPECT_THAT(reports, testing::ElementsAre(0, 1, 2, 3));
  for (const KernelProgram& program : programs) {
    EXPECT_FALSE(compiler.obtain(program).value().compiled_now);
  }

  KernelProgram wrong = small_flash2();
  wrong.expression += "[";
  const KernelProgram with_a_wrong_one[] = {programs[0], wrong};
  EXPECT_TRUE(compiler.obtain_all(with_a_wrong_one, {}));
  std::atomic<bool> cancel = true;
  const KernelProgram new_ones[] = {program_of("flash2", "flash2_forward", ", 32, 32, 32, 2")};
  const auto cancelled = compiler.obtain_all(new_ones, {&cancel, {}});
  ASSERT_TRUE(cancelled);
  EXPECT_EQ(cancelled->code, ErrorCode::cancelled);
}

TEST(KernelCompiler, AnExceptionOfAThreadReachesTheCaller) {
  KernelCompiler compiler("");
  std::vector<KernelProgram> programs;
  for (int n = 0; n < 40; ++n) {
    programs.push_back({.source = "kernels/not_embedded.cuh",
                        .expression = "kernel_" + std::to_string(n),
                        .architecture = "sm_90a"});
  }
  EXPECT_THROW(compiler.obtain_all(programs, {}), CheckFailure);

  // An exception thrown by the progress callback while other programs are being compiled
  programs.assign(1, small_flash2());
  programs.push_back(program_of("flash2", "flash2_forward", ", 16, 32, 16, 1"));
  programs.push_back(program_of("flash2", "flash2_forward", ", 32, 16, 16, 1"));
  const auto progress = [](int done, int) {
    if (done == 1) throw std::runtime_error("no one looks");
  };
  EXPECT_THROW(compiler.obtain_all(programs, {nullptr, progress}), std::runtime_error);
  EXPECT_TRUE(compiler.obtain(small_flash2()).ok()) << "nothing stays claimed";
}

TEST(KernelCompiler, AFailureOrACancelledCompilationIsForgotten) {
  KernelCompiler compiler("");
  KernelProgram wrong = small_flash2();
  wrong.expression += "[";
  EXPECT_FALSE(compiler.obtain(wrong).ok());
  EXPECT_FALSE(compiler.obtain(wrong).ok());
  std::atomic<bool> cancel = true;
  EXPECT_FALSE(compiler.obtain(small_flash2(), &cancel).ok());
  EXPECT_TRUE(compiler.obtain(small_flash2()).ok());
}

TEST(NvrtcLibrary, ThatIsMissingIsUnavailableInOneLineThatSaysWhatHelps) {
  const auto library = load_nvrtc({"libno_nvrtc_here.so.13", "libno_nvrtc_here.so.12"});
  ASSERT_FALSE(library.ok());
  EXPECT_EQ(library.error().kind, Error::Kind::unavailable);
  EXPECT_THAT(library.error().message,
              AllOf(HasSubstr("NVRTC 13 or 12"), HasSubstr("libno_nvrtc_here.so.13"),
                    HasSubstr("LD_LIBRARY_PATH"), Not(HasSubstr("\n"))));
}

TEST(NvrtcLibrary, MustHaveTheEntryPoints) {
  const auto library = load_nvrtc({"libno_nvrtc_here.so.13", "libm.so.6"});
  ASSERT_FALSE(library.ok());
  EXPECT_THAT(library.error().message, HasSubstr("libm.so.6: undefined symbol: nvrtcVersion"));
}

}  // namespace
}  // namespace attnscope::kernels
