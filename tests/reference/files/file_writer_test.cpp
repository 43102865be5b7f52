#include "reference/files/file_writer.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <fstream>
#include <future>
#include <iterator>

#include "reference/files/file_identity.h"
#include "reference/files/file_lock.h"
#include "tests/support/temp_dir.h"

namespace attnscope {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

std::string text_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void put(const fs::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

mode_t mode_of(const fs::path& path) {
  struct stat found {};
  EXPECT_EQ(::stat(path.c_str(), &found), 0);
  return found.st_mode & 0777U;
}

std::ptrdiff_t count_files(const fs::path& folder) {
  return std::distance(fs::directory_iterator(folder), {});
}

/// Limits the size of files: writing more fails as on a full disk.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) {
    previous_ = std::signal(SIGXFSZ, SIG_IGN);
    ::getrlimit(RLIMIT_FSIZE, &old_);
    const rlimit limit{bytes, old_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &old_);
    std::signal(SIGXFSZ, previous_);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  rlimit old_{};
  void (*previous_)(int) = nullptr;
};

class FileWriterTest : public ::testing::Test {
 protected:
  test::TempDir folder_;
  fs::path path_ = folder_.path() / "f.json";
};

TEST_F(FileWriterTest, ReplacesTheWholeFileAndLeavesNothingBeside) {
  ASSERT_FALSE(write_file(path_, "a long first text"));
  ASSERT_FALSE(write_file(path_, "short"));
  EXPECT_EQ(text_of(path_), "short");
  EXPECT_EQ(count_files(folder_.path()), 1);
}

TEST_F(FileWriterTest, AFileAppearsWhenItIsFinished) {
  put(path_, "old");
  {
    auto writer = FileWriter::open(path_);
    ASSERT_TRUE(writer.ok());
    EXPECT_TRUE(writer.value().write(std::string(200'000, 'x')));
    EXPECT_EQ(text_of(path_), "old");
  }
  EXPECT_EQ(text_of(path_), "old");
  EXPECT_EQ(count_files(folder_.path()), 1);
  auto writer = FileWriter::open(path_);
  writer.value().write("a");
  writer.value().write(std::string(200'000, 'x'));
  writer.value().write("b");
  ASSERT_FALSE(writer.value().finish());
  EXPECT_EQ(text_of(path_), "a" + std::string(200'000, 'x') + "b");
}

TEST_F(FileWriterTest, AFailureKeepsTheOldFile) {
  const auto no_folder = write_file(folder_.path() / "missing" / "f.json", "text");
  ASSERT_TRUE(no_folder);
  EXPECT_EQ(no_folder->kind, Error::Kind::failed);
  const auto onto_folder = write_file(folder_.path(), "text");
  ASSERT_TRUE(onto_folder);
  EXPECT_THAT(onto_folder->message, HasSubstr("cannot write"));

  put(path_, "old");
  const FileSizeLimit limit(100'000);
  const auto full = write_file(path_, std::string(200'000, 'x'));
  ASSERT_TRUE(full);
  EXPECT_THAT(full->message, HasSubstr("cannot write"));
  EXPECT_EQ(text_of(path_), "old");
  EXPECT_EQ(count_files(folder_.path()), 1);
}

TEST_F(FileWriterTest, KeepsPermissionsAndANewFileFollowsTheUmask) {
  put(path_, "old");
  fs::permissions(path_, fs::perms(0600));
  ASSERT_FALSE(write_file(path_, "new"));
  EXPECT_EQ(mode_of(path_), 0600U);
  const mode_t old_mask = ::umask(027);
  ASSERT_FALSE(write_file(folder_.path() / "new.json", "new"));
  // An old file's permissions take precedence over the umask
  fs::permissions(path_, fs::perms(0666));
  ASSERT_FALSE(write_file(path_, "newer"));
  ::umask(old_mask);
  EXPECT_EQ(mode_of(folder_.path() / "new.json"), 0640U);
  EXPECT_EQ(mode_of(path_), 0666U);
}

/// Whether `succeeds` returns true in the process of a user without special rights.
template <typename Condition>
bool holds_as_nobody(const Condition& succeeds) {
  const pid_t child = ::fork();
  if (child == 0) {
    constexpr uid_t kNobody = 65534;
    const bool is_root = ::geteuid() == 0;
    const bool is_ready = !is_root || (::setgroups(0, nullptr) == 0 && ::setgid(kNobody) == 0 &&
                                       ::setuid(kNobody) == 0);
    ::_exit(is_ready && succeeds() ? 0 : 1);
  }
  int state = 0;
  EXPECT_EQ(::waitpid(child, &state, 0), child);
  return WIFEXITED(state) && WEXITSTATUS(state) == 0;
}

TEST_F(FileWriterTest, AGroupThatIsNotTheOldFilesGainsNoRights) {
  put(path_, "old");
  ASSERT_EQ(::chmod(path_.c_str(), 0672), 0);
  ASSERT_EQ(::chmod(folder_.path().c_str(), 0777), 0);
  // A user who may write the file, but may not change its owner
  EXPECT_TRUE(holds_as_nobody([&] { return !write_file(path_, "new"); }));
  EXPECT_EQ(text_of(path_), "new");
  EXPECT_EQ(mode_of(path_), ::geteuid() == 0 ? 0622u : 0672u);
}

TEST_F(FileWriterTest, FollowsLinksToTheFileThatTheyName) {
  fs::create_directory(folder_.path() / "inner");
  put(folder_.path() / "inner" / "target.json", "old");
  fs::create_symlink("inner/target.json", folder_.path() / "middle.json");
  fs::create_symlink("middle.json", path_);
  ASSERT_FALSE(write_file(path_, "new"));
  EXPECT_TRUE(fs::is_symlink(path_));
  EXPECT_TRUE(fs::is_symlink(folder_.path() / "middle.json"));
  EXPECT_EQ(text_of(folder_.path() / "inner" / "target.json"), "new");

  fs::create_symlink("inner/later.json", folder_.path() / "dangling.json");
  ASSERT_FALSE(write_file(folder_.path() / "dangling.json", "text"));
  EXPECT_EQ(text_of(folder_.path() / "inner" / "later.json"), "text");

  fs::create_symlink("loop.json", folder_.path() / "loop.json");
  EXPECT_TRUE(write_file(folder_.path() / "loop.json", "text"));
}

TEST_F(FileWriterTest, FilesBesideTheTargetAreLeftAlone) {
  put(folder_.path() / "f.json.partial", "mine");
  put(folder_.path() / "linked", "mine too");
  fs::create_symlink("linked", folder_.path() / "f.json.writing");
  ASSERT_FALSE(write_file(path_, "text"));
  EXPECT_EQ(text_of(folder_.path() / "f.json.partial"), "mine");
  EXPECT_EQ(text_of(folder_.path() / "linked"), "mine too");
}

TEST_F(FileWriterTest, DevicesAreWrittenInPlace) {
  EXPECT_TRUE(is_written_in_place("/dev/null"));
  EXPECT_TRUE(is_written_in_place("/dev/stdout"));
  EXPECT_FALSE(is_written_in_place(path_));
  EXPECT_FALSE(write_file("/dev/null", "text"));
  EXPECT_TRUE(write_file("/dev/full", "text"));
  EXPECT_TRUE(fs::is_character_file("/dev/full"));
}

TEST_F(FileWriterTest, CheckingLeavesNoTrace) {
  EXPECT_FALSE(check_can_write(path_));
  EXPECT_EQ(count_files(folder_.path()), 0);
  EXPECT_EQ(check_can_write(folder_.path()), std::errc::is_a_directory);
  EXPECT_EQ(check_can_write(folder_.path() / "none" / "f"), std::errc::no_such_file_or_directory);
  EXPECT_EQ(check_can_write(folder_.path() / std::string(300, 'n')), std::errc::filename_too_long);
}

TEST_F(FileWriterTest, ALongNameIsWritten) {
  const fs::path longest = folder_.path() / std::string(255, 'n');
  ASSERT_FALSE(write_file(longest, "text"));
  EXPECT_EQ(text_of(longest), "text");
}

TEST_F(FileWriterTest, IdentityIsThatOfTheFileWhateverThePath) {
  const fs::path folder = folder_.path();
  fs::create_directory(folder / "d");
  fs::create_symlink("x.json", folder / "link.json");
  EXPECT_EQ(identity_of(folder / "link.json"), identity_of(folder / "d" / ".." / "x.json"));
  EXPECT_EQ(identity_of(folder / "new" / "o.npy"), identity_of(folder / "." / "new" / "o.npy"));
  EXPECT_NE(identity_of(folder / "x.json"), identity_of(folder / "y.json"));
  put(folder / "x.json", "text");
  fs::create_hard_link(folder / "x.json", folder / "y.json");
  EXPECT_EQ(identity_of(folder / "x.json"), identity_of(folder / "y.json"));
}

TEST_F(FileWriterTest, ALockKeepsOthersOutForABoundedTime) {
  {
    const auto lock = FileLock::take(path_);
    ASSERT_TRUE(lock.ok());
    // The lock remains in effect when the file is replaced
    ASSERT_FALSE(write_file(path_, "text"));
    const auto other = FileLock::take(path_, std::chrono::milliseconds(30));
    ASSERT_FALSE(other.ok());
    EXPECT_EQ(other.error().kind, Error::Kind::failed);
    EXPECT_THAT(other.error().message, HasSubstr("another process holds a lock on its folder"));
  }
  EXPECT_TRUE(FileLock::take(path_, std::chrono::milliseconds(30)).ok());
  EXPECT_EQ(count_files(folder_.path()), 1);
}

TEST_F(FileWriterTest, AFolderThatCannotBeReadTakesFilesButNoLock) {
  ASSERT_EQ(::chmod(folder_.path().c_str(), 0333), 0);
  EXPECT_TRUE(holds_as_nobody([&] {
    const auto lock = FileLock::take(path_);
    return !lock && lock.error().message.find("its folder is not readable") != std::string::npos;
  }));
  EXPECT_TRUE(holds_as_nobody([&] { return !write_file(path_, "new"); }));
  ASSERT_EQ(::chmod(folder_.path().c_str(), 0777), 0);
  EXPECT_EQ(text_of(path_), "new");
}

TEST_F(FileWriterTest, AGrowingFileIsReplacedByEveryWrite) {
  GrowingFile file(path_);
  std::string expected;
  for (int n = 0; n < 50; ++n) {
    // The file grows; every seventh time, one byte replaces its second half
    const std::size_t begin = n % 7 == 6 ? expected.size() / 2 : expected.size();
    const std::string piece = std::string(n % 7 == 6 ? 1 : 5000, static_cast<char>('a' + n % 26));
    expected = expected.substr(0, begin) + piece;
    ASSERT_FALSE(file.write(begin, piece));
    ASSERT_EQ(text_of(path_), expected) << n;
    ASSERT_LE(count_files(folder_.path()), 2);
  }
  ASSERT_FALSE(file.finish());
  EXPECT_EQ(text_of(path_), expected);
  EXPECT_EQ(count_files(folder_.path()), 1);
}

TEST_F(FileWriterTest, OfTwoGrowingFilesOfOneNameTheOneThatIsReplacedFails) {
  constexpr std::size_t kWrites = 3000;
  const auto whole = [](char letter) { return std::string(100 * kWrites, letter); };
  const auto grow = [&](char letter) {
    GrowingFile file(path_);
    for (std::size_t n = 0; n < kWrites; ++n) {
      if (file.write(100 * n, std::string(100, letter))) return false;
    }
    return !file.finish();
  };
  for (int round = 0; round < 5; ++round) {
    auto other = std::async(std::launch::async, grow, 'b');
    const bool a = grow('a'), b = other.get();
    // If they overlap, the one whose file the other replaces fails
    const std::string text = text_of(path_);
    ASSERT_TRUE(a || b);
    ASSERT_TRUE((a && text == whole('a')) || (b && text == whole('b')))
        << text.size() << " bytes, "
        << "of them a: " << std::ranges::count(text, 'a');
    EXPECT_EQ(count_files(folder_.path()), 1);
  }
}

TEST(WriteAll, WaitsForAReaderEvenIfThePipeDoesNot) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  ASSERT_EQ(::fcntl(ends[1], F_SETFL, O_NONBLOCK), 0);
  const std::string sent(1'000'000, 'x');
  auto writing = std::async(std::launch::async, [&] {
    const int error = write_all(ends[1], sent);
    ::close(ends[1]);
    return error;
  });
  std::string received(sent.size() + 1, ' ');
  std::size_t size = 0;
  for (ssize_t count = 1; count > 0; size += static_cast<std::size_t>(count)) {
    count = ::read(ends[0], received.data() + size, received.size() - size);
  }
  ::close(ends[0]);
  EXPECT_EQ(writing.get(), 0);
  EXPECT_EQ(size, sent.size());
}

TEST_F(FileWriterTest, AGrowingFileKeepsItsContentsWhenTheDiskIsFull) {
  put(path_, "old");
  fs::permissions(path_, fs::perms(0600));
  GrowingFile file(path_);
  ASSERT_FALSE(file.write(0, std::string(50'000, 'a')));
  ASSERT_FALSE(file.write(50'000, std::string(40'000, 'b')));
  const FileSizeLimit limit(100'000);
  const auto error = file.write(90'000, std::string(40'000, 'c'));
  ASSERT_TRUE(error);
  EXPECT_THAT(error->message, HasSubstr("cannot write"));
  EXPECT_EQ(text_of(path_), std::string(50'000, 'a') + std::string(40'000, 'b'));
  EXPECT_EQ(mode_of(path_), 0600U);
  ASSERT_FALSE(file.finish());
  EXPECT_EQ(count_files(folder_.path()), 1);
}

}  // namespace
}  // namespace attnscope
