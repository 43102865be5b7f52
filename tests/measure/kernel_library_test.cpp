#include "kernels/client/kernel_library.h"

#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "tests/support/kernel_run.h"

namespace attnscope {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

/// Names the library for load(), as long as it lives.
class LibraryVariable {
 public:
  explicit LibraryVariable(const std::string& path) {
    setenv("ATTNSCOPE_KERNELS_LIBRARY", path.c_str(), 1);
  }
  ~LibraryVariable() { unsetenv("ATTNSCOPE_KERNELS_LIBRARY"); }
};

std::string reason_without(const std::string& path) {
  const LibraryVariable variable(path);
  const auto library = KernelLibrary::load();
  EXPECT_FALSE(library.ok());
  if (library.ok()) return "";
  EXPECT_EQ(library.error().kind, Error::Kind::unavailable);
  EXPECT_THAT(library.error().message, Not(HasSubstr("\n")));
  return library.error().message;
}

TEST(KernelLibrary, AMissingLibraryIsUnavailableWithARemedy) {
  EXPECT_THAT(reason_without("/no/such/libattnscope_kernels.so"), HasSubstr("CUDA compiler"));
}

TEST(KernelLibrary, AFileThatIsNoLibraryIsUnavailable) {
  const std::string path = ::testing::TempDir() + "not_a_library.so";
  std::ofstream(path) << "text";
  EXPECT_THAT(reason_without(path), StartsWith("cannot load the kernels' library"));
}

/// A copy of a working library with its bytes changed.
template <typename Change>
std::string changed_library(const Change& change) {
  std::ifstream file(ATTNSCOPE_ECHO_LIBRARY_FILE, std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(file), {}};
  change(bytes);
  const std::string path = ::testing::TempDir() + "changed_library.so";
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
  return path;
}

TEST(KernelLibrary, ATruncatedLibraryIsRefusedBeforeItIsLoaded) {
  const std::size_t size = std::filesystem::file_size(ATTNSCOPE_ECHO_LIBRARY_FILE);
  for (const std::size_t kept : {std::size_t{0}, std::size_t{40}, std::size_t{64}, std::size_t{200},
                                 size / 4, size / 2, size - 1}) {
    const std::string path = changed_library([&](std::string& bytes) { bytes.resize(kept); });
    EXPECT_THAT(reason_without(path), StartsWith("cannot load the kernels' library")) << kept;
  }
}

TEST(KernelLibrary, ALibraryWithAWrongTableIsRefusedBeforeItIsLoaded) {
  const auto put = [](std::size_t at, const auto& value) {
    return changed_library(
        [&](std::string& bytes) { std::memcpy(bytes.data() + at, &value, sizeof value); });
  };
  const std::uint64_t beyond = ~std::uint64_t{0} - 8;
  EXPECT_THAT(reason_without(put(offsetof(Elf64_Ehdr, e_phoff), beyond)), HasSubstr("program"));
  EXPECT_THAT(reason_without(put(offsetof(Elf64_Ehdr, e_shoff), beyond)), HasSubstr("section"));
  EXPECT_THAT(reason_without(put(offsetof(Elf64_Ehdr, e_phnum), std::uint16_t{0xffff})),
              HasSubstr("program"));
  EXPECT_THAT(reason_without(put(sizeof(Elf64_Ehdr) + offsetof(Elf64_Phdr, p_filesz), beyond)),
              HasSubstr("segment"));
  EXPECT_THAT(reason_without(put(offsetof(Elf64_Ehdr, e_machine), std::uint16_t{1})),
              HasSubstr("another machine"));
}

TEST(KernelLibrary, APipeIsRefusedWithoutWaitingForAWriter) {
  const std::string path = ::testing::TempDir() + "library_pipe.so";
  ::unlink(path.c_str());
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  EXPECT_THAT(reason_without(path), HasSubstr("not a regular file"));
  ::unlink(path.c_str());
}

TEST(KernelLibrary, ANameWithoutASlashIsAFileOfTheCurrentFolder) {
  const auto before = std::filesystem::current_path();
  const std::filesystem::path library = ATTNSCOPE_ECHO_LIBRARY_FILE;
  std::filesystem::current_path(library.parent_path());
  const LibraryVariable variable(library.filename());
  const auto loaded = KernelLibrary::load();
  std::filesystem::current_path(before);
  EXPECT_TRUE(loaded.ok()) << loaded.error().message;
}

TEST(KernelLibrary, AnotherLibraryIsUnavailable) {
  EXPECT_THAT(reason_without(ATTNSCOPE_OTHER_LIBRARY_FILE), HasSubstr("is not AttnScope's"));
}

TEST(KernelLibrary, ALibraryOfAnotherVersionIsUnavailable) {
  EXPECT_THAT(reason_without(ATTNSCOPE_NEWER_LIBRARY_FILE),
              HasSubstr("speaks version 99 of its interface, this program 1"));
}

/// A small problem whose tensors differ in their first value.
AttentionInputs marked_inputs(const AttentionProblem& problem) {
  AttentionInputs inputs = make_inputs(problem, {});
  inputs.Q.data.front() = 1.5;
  inputs.K.data.front() = 2.5;
  inputs.V.data.front() = 3.5;
  inputs.dO.data.front() = 4.5;
  return inputs;
}

TEST(KernelLibrary, MeasuresOnTheCallersOwnTensors) {
  const LibraryVariable variable(ATTNSCOPE_ECHO_LIBRARY_FILE);
  const auto library = KernelLibrary::load();
  ASSERT_TRUE(library.ok()) << library.error().message;
  EXPECT_EQ(library.value()->device().name, "Echo");
  AttentionProblem problem;
  problem.N = problem.N_kv = 8;
  const AttentionInputs inputs = marked_inputs(problem);
  ResolvedRun run = test::kernel_run("flash2", problem, PassKind::forward, Tiling{64, 32});
  run.files_hash = hash_of_inputs(inputs);

  const RecordingRow forward = library.value()->record_own(run, inputs, Protocol{});
  ASSERT_FALSE(forward.error) << forward.error->message;
  EXPECT_EQ(forward.run, run);
  EXPECT_EQ(forward.measurement->time.min_s, 1.5);
  EXPECT_EQ(forward.measurement->time.median_s, 2.5);
  EXPECT_EQ(forward.measurement->time.max_s, 3.5);
  EXPECT_EQ(forward.measurement->time.n, 8);
  EXPECT_FALSE(forward.measurement->gradients);

  run.asked.pass = PassKind::backward;
  const RecordingRow backward = library.value()->record_own(run, inputs, Protocol{});
  ASSERT_TRUE(backward.measurement && backward.measurement->gradients);
  EXPECT_EQ(backward.measurement->gradients->dQ.max_abs_error, 4.5);
  EXPECT_EQ(backward.run.pass(), PassKind::backward);
}

TEST(KernelLibrary, AnErrorKeepsItsCodeAndItsField) {
  const LibraryVariable variable(ATTNSCOPE_ECHO_LIBRARY_FILE);
  const auto library = KernelLibrary::load();
  ASSERT_TRUE(library.ok()) << library.error().message;
  const ResolvedRun run = test::kernel_run("flash2", {});
  const auto refused = library.value()->run_forward(run, make_inputs(run.problem, {}));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, Error::Kind::failed);
  EXPECT_EQ(refused.error().message, "refused by the echo");
  EXPECT_EQ(refused.error().code, ErrorCode::does_not_fit);
  EXPECT_EQ(refused.error().field, "Br");
}

TEST(KernelLibrary, MeasuresOnGeneratedTensorsByKindAndSeed) {
  const LibraryVariable variable(ATTNSCOPE_ECHO_LIBRARY_FILE);
  const auto library = KernelLibrary::load();
  ASSERT_TRUE(library.ok()) << library.error().message;
  ResolvedRun run = test::kernel_run("flash2", {});
  run.asked.inputs = {InputKind::needle, 7};
  const RecordingRow forward = library.value()->record(run, Protocol{});
  ASSERT_TRUE(forward.measurement);
  EXPECT_EQ(forward.run.asked.inputs, run.asked.inputs);
  EXPECT_EQ(forward.measurement->time.min_s, 2.0);
  EXPECT_EQ(forward.measurement->time.median_s, 7.0);
  run.asked.pass = PassKind::backward;
  EXPECT_EQ(library.value()->record(run, Protocol{}).measurement->time.max_s, 9.0);
}

#ifdef ATTNSCOPE_KERNELS_FILE
TEST(KernelLibrary, TheBuiltLibraryOpensOrSaysWhatThisMachineLacks) {
  const LibraryVariable variable(ATTNSCOPE_KERNELS_FILE);
  const auto library = KernelLibrary::load();
  if (library.ok()) {
    EXPECT_FALSE(library.value()->device().name.empty());
    return;
  }
  EXPECT_EQ(library.error().kind, Error::Kind::unavailable);
  EXPECT_THAT(library.error().message,
              AnyOf(StartsWith("no NVIDIA driver"), StartsWith("no GPU"),
                    HasSubstr("update the driver"), HasSubstr("compute capability")));
}
#endif

}  // namespace
}  // namespace attnscope
