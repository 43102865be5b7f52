#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "app/cli/outputs.h"
#include "app/report/report_text.h"
#include "reference/message_text.h"
#include "sim/device/assets.h"
#include "tests/app/cli/cli_process.h"
#include "tests/support/temp_dir.h"

namespace attnscope::cli {
namespace {

using nlohmann::ordered_json;
using ::testing::ContainsRegex;
using ::testing::EndsWith;
using ::testing::HasSubstr;

TEST(CsvText, ColumnsAreTheUnionInOrderOfFirstUse) {
  const ordered_json rows = {{{"a", 1}, {"b", {{"c", "x"}}}}, {{"d", true}, {"a", 2}}};
  EXPECT_EQ(csv_text(rows), "a,b.c,d\n1,x,\n2,,true\n");
}

TEST(CsvText, CommasQuotesAndLineBreaksAreQuoted) {
  const auto rows = ordered_json::array({{{"mask", "window:1,2"}, {"why", "say \"no\"\nnow"}}});
  EXPECT_EQ(csv_text(rows), "mask,why\n\"window:1,2\",\"say \"\"no\"\"\nnow\"\n");
}

TEST(CsvText, MissingNumbersAreEmptyNotZero) {
  EXPECT_EQ(csv_text(ordered_json::array({{{"a", nullptr}, {"b", 0}}})), "a,b\n,0\n");
}

TEST(TableText, ControlCharactersOfACellAreReplacedBeforeItsWidthIsTaken) {
  EXPECT_EQ(table_text({{"a", "b"}, {"x\n\x1b[m", "1"}}), "a      b\nx??[m  1\n");
}

TEST(OneLine, ReplacesEveryControlCharacterAndNothingElse) {
  EXPECT_EQ(one_line("plain, \xc3\xbc \xe2\x82\xac"), "plain, \xc3\xbc \xe2\x82\xac");
  EXPECT_EQ(one_line(std::string("a\0b", 3)), "a?b");
  EXPECT_EQ(one_line("\x1b[31m\r\n\t\x7f"), "?[31m????");
  EXPECT_EQ(one_line("\xc2\x9b"
                     "31m \xc2\xa0 \xc2"),
            "?31m \xc2\xa0 \xc2");
}

TEST(Printable, CutsBetweenCharacters) {
  EXPECT_EQ(printable(std::string(79, 'a') + "\xe2\x82\xac"), std::string(79, 'a') + "...");
  EXPECT_EQ(printable(std::string(80, 'a')), std::string(80, 'a'));
}

TEST(GpuFile, ItsNameIsShownAsOneLine) {
  const ScratchFolder scratch;
  nlohmann::json gpu =
      nlohmann::json::parse(read_text(find_assets_dir().value() / "gpus" / "h200.json"));
  gpu["display_name"] = "mine\n\x1b[2J";
  const std::string mine = " --gpu " + scratch.write("mine.json", gpu.dump());
  for (const std::string command :
       {"simulate --algorithm flash2", "flops", "fits", "io --over seq-len=256", "fusion"}) {
    const CliOutcome outcome = run_cli(command + mine);
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_EQ(outcome.out.find('\x1b'), std::string::npos) << outcome.out;
    EXPECT_EQ(outcome.out.find("mine\n"), std::string::npos) << outcome.out;
  }
}

/// A row of a sweep; every seventh was rejected, and has a different column.
ordered_json row_of(int r) {
  if (r % 7 == 3) return {{"point", {{"heads", r}}}, {"refused", "no, \"never\""}};
  return {{"point", {{"heads", r}}}, {"bytes", r * 1000}, {"levels", {1, 2}}};
}

TEST(RowFiles, HoldEveryRowAsSoonAsItWasAdded) {
  const ScratchFolder scratch;
  const OutputFiles files{scratch.file("a.json"), scratch.file("a.csv")};
  const OutputFiles whole{scratch.file("b.json"), scratch.file("b.csv")};
  RowFiles growing(files);
  std::vector<ordered_json> rows;
  for (int r = 0; r < 20; ++r) {
    rows.push_back(row_of(r));
    ASSERT_FALSE(growing.add(rows.back()));
    ASSERT_FALSE(write_outputs(whole, {json_text(rows), csv_text(rows), ""}));
    ASSERT_EQ(read_text(files.json), read_text(whole.json)) << r;
    ASSERT_EQ(read_text(files.csv), read_text(whole.csv)) << r;
  }
  ASSERT_FALSE(growing.finish());
  EXPECT_EQ(scratch.names(), (std::vector<std::string>{"a.csv", "a.json", "b.csv", "b.json"}));
}

TEST(RowFiles, AreWrittenAnewWhenTheyWereRemovedButNotOverOtherText) {
  const ScratchFolder scratch;
  const OutputFiles files{scratch.file("a.json"), scratch.file("a.csv")};
  RowFiles growing(files);
  ASSERT_FALSE(growing.add(row_of(0)));
  std::filesystem::remove(files.csv);
  ASSERT_FALSE(growing.add(row_of(1)));
  EXPECT_EQ(read_text(files.csv), csv_text(std::vector<ordered_json>{row_of(0), row_of(1)}));
  scratch.write("a.json", "mine");
  const auto error = growing.add(row_of(2));
  ASSERT_TRUE(error);
  EXPECT_NE(error->message.find("another program has changed it"), std::string::npos);
  EXPECT_EQ(read_text(files.json), "mine");
}

/// What is printed when the documents are written with the text "text"; `errors` receives the
/// error.
std::string printed_with(const std::vector<Document>& documents, std::string& errors) {
  testing::internal::CaptureStdout();
  const auto failure = write_documents(documents, [] { return "text"; });
  errors = failure ? failure->message : "";
  return testing::internal::GetCapturedStdout();
}

TEST(Documents, AreAllAttemptedAndTheFirstThatIsUnsavedIsPrinted) {
  const ScratchFolder scratch;
  std::string errors;
  const auto saved = text_document(scratch.file("a"), "saved");
  const auto lost = text_document("/dev/full", "lost");
  const auto beside = text_document(scratch.file("no/b"), "lost, too");
  EXPECT_EQ(printed_with({saved, text_document("", "not asked for")}, errors), "text");
  EXPECT_EQ(errors, "");
  EXPECT_EQ(printed_with({beside, lost, saved}, errors), "lost, too");
  EXPECT_THAT(errors, HasSubstr("no/b"));
  EXPECT_THAT(errors, EndsWith("; cannot write /dev/full: No space left on device"));
  EXPECT_EQ(read_text(scratch.file("a")), "saved");
  Document code = lost;
  code.is_text = false;
  EXPECT_EQ(printed_with({code}, errors), "text");
  EXPECT_EQ(printed_with({lost, text_document("-", "printed")}, errors), "printed");
}

TEST(TableText, ColumnsAreAligned) {
  EXPECT_EQ(table_text({{"name", "bytes"}, {"Q", "1234567"}}), "name    bytes\nQ     1234567\n");
}

/// The exit status of a shell command with the program in place of "CLI"; -1 when it did not exit.
int status_of(std::string command) {
  const std::size_t at = command.find("CLI");
  command.replace(at, 3, ATTNSCOPE_CLI_PROGRAM);
  const int status = std::system(command.c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(StandardStreams, ClosedOnesCauseAnErrorAndNoCrash) {
  const std::string simulate = "CLI simulate --algorithm flash2 --seq-len 64 ";
  EXPECT_EQ(status_of(simulate + ">&- 2>&-"), 1);
  EXPECT_EQ(status_of(simulate + "<&- >&- 2>&-"), 1);
  EXPECT_EQ(status_of("CLI --help >&- 2>&-"), 1);
  EXPECT_EQ(status_of("CLI simulate --algorithm none 2>&-"), 2);
  EXPECT_EQ(status_of(simulate + "2>&- > /dev/null"), 0);
}

TEST(StandardStreams, TheTextOfAClosedOneDoesNotReachAnotherFile) {
  const test::TempDir folder;
  const std::string path = folder.file("run.json");
  EXPECT_EQ(status_of("CLI simulate --algorithm flash2 --seq-len 64 --json " + path + " >&- 2>&-"),
            1);
  std::ifstream file(path);
  const std::string text(std::istreambuf_iterator<char>(file), {});
  EXPECT_TRUE(nlohmann::json::accept(text)) << text.substr(0, 100);
}

/// attnscope-cli with its messages on a terminal.
class OnATerminal {
 public:
  explicit OnATerminal(std::vector<std::string> words) {
    words.insert(words.begin(), ATTNSCOPE_CLI_PROGRAM);
    std::vector<char*> pointers;
    for (std::string& word : words) pointers.push_back(word.data());
    pointers.push_back(nullptr);
    master_ = ::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (master_ < 0 || ::grantpt(master_) != 0 || ::unlockpt(master_) != 0) return;
    const int terminal = ::open(::ptsname(master_), O_RDWR | O_NOCTTY | O_CLOEXEC);
    const int nothing = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
    child_ = ::fork();
    if (child_ == 0) {
      ::dup2(nothing, STDOUT_FILENO);
      ::dup2(terminal, STDERR_FILENO);
      ::execv(pointers[0], pointers.data());
      ::_exit(127);
    }
    ::close(terminal);
    ::close(nothing);
  }
  ~OnATerminal() { ::close(master_); }

  void send(int signal) const { ::kill(child_, signal); }
  /// Reads until the text contains `end`, or the program has ended; returns all text so far.
  const std::string& read_until(std::string_view end) {
    std::array<char, 4096> piece;
    while (text_.find(end) == std::string::npos) {
      const ssize_t size = ::read(master_, piece.data(), piece.size());
      if (size <= 0) break;
      text_.append(piece.data(), static_cast<std::size_t>(size));
    }
    return text_;
  }
  /// The exit status; -1 when it did not exit.
  int wait() const {
    int state = 0;
    ::waitpid(child_, &state, 0);
    return WIFEXITED(state) ? WEXITSTATUS(state) : -1;
  }

 private:
  int master_ = -1;
  pid_t child_ = -1;
  std::string text_;
};

TEST(Progress, LongWorkCountsItsSecondsOnATerminal) {
  OnATerminal cli({"simulate", "--algorithm", "flash2", "--seq-len", "1000000", "--mask",
                   "window:3,5", "--block-rows", "1", "--block-cols", "1"});
  EXPECT_THAT(cli.read_until("counting"), HasSubstr("\r\x1b[Kcounting"));
  // Stop the program, so that its work takes more than a second on every machine
  cli.send(SIGSTOP);
  std::this_thread::sleep_for(std::chrono::milliseconds(1100));
  cli.send(SIGCONT);
  EXPECT_THAT(cli.read_until("counting, "), HasSubstr("\r\x1b[Kcounting\r\x1b[Kcounting, "));
  const std::string text = cli.read_until("no such text");
  EXPECT_THAT(text, ContainsRegex("counting, [0-9]+ s\r"));
  EXPECT_THAT(text, EndsWith("\r\x1b[K"));
  EXPECT_EQ(cli.wait(), 0);
}

}  // namespace
}  // namespace attnscope::cli
