#include "app/platform/ffmpeg.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "reference/files/file_writer.h"
#include "reference/message_text.h"

namespace attnscope::app {

namespace fs = std::filesystem;

namespace {

std::string text_of(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

/// Reads raw pictures and writes an MP4 that every player can play: even sides, 4:2:0. Standard
/// output cannot seek, so the file is fragmented.
std::vector<std::string> command_line(int width, int height, int frames_per_second) {
  return {"ffmpeg",      "-hide_banner",
          "-loglevel",   "error",
          "-f",          "rawvideo",
          "-pix_fmt",    "rgb24",
          "-video_size", fmt::format("{}x{}", width, height),
          "-framerate",  fmt::format("{}", frames_per_second),
          "-i",          "pipe:0",
          "-vf",         "crop=trunc(iw/2)*2:trunc(ih/2)*2",
          "-pix_fmt",    "yuv420p",
          "-movflags",   "frag_keyframe+empty_moov",
          "-f",          "mp4",
          "pipe:1"};
}

}  // namespace

Result<std::unique_ptr<FfmpegWriter>> FfmpegWriter::open(const fs::path& path, int width,
                                                         int height, int frames_per_second) {
  auto writer = std::unique_ptr<FfmpegWriter>(new FfmpegWriter(path));
  if (auto error = writer->start(width, height, frames_per_second)) return *std::move(error);
  return writer;
}

std::optional<Error> FfmpegWriter::start(int width, int height, int frames_per_second) {
  std::error_code error;
  fs::path folder = fs::temp_directory_path(error);
  if (error) folder = "/tmp";
  for (TemporaryFile* const file : {&video_, &log_}) {
    if (const int reason = file->create(folder / "animation")) {
      return cannot_write(folder / "animation", reason);
    }
  }
  // Writing to a socket, unlike a pipe, need not raise a signal when ffmpeg has ended
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return failed("cannot start ffmpeg: {}", std::strerror(errno));
  }
  pictures_ = ends[0];

  std::vector<std::string> words = command_line(width, height, frames_per_second);
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDIN_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, video_.descriptor(), STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, log_.descriptor(), STDERR_FILENO);
  const int reason =
      ::posix_spawnp(&child_, "ffmpeg", &actions, nullptr, arguments.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  if (reason == 0) return std::nullopt;
  child_ = -1;
  if (reason == ENOENT) {
    return unavailable(
        "--mp4 needs the program ffmpeg, which is not on PATH; install it, or use --gif");
  }
  return failed("cannot start ffmpeg: {}", std::strerror(reason));
}

FfmpegWriter::~FfmpegWriter() {
  close_and_wait();
}

int FfmpegWriter::close_and_wait() {
  if (pictures_ >= 0) ::close(pictures_);
  pictures_ = -1;
  if (child_ < 0) return -1;
  int state = 0;
  while (::waitpid(child_, &state, 0) < 0) {
    if (errno != EINTR) break;
  }
  child_ = -1;
  return WIFEXITED(state) ? WEXITSTATUS(state) : -1;
}

void FfmpegWriter::add(const Image& image) {
  std::size_t sent = 0;
  while (sent < image.rgb.size()) {
    const ssize_t bytes =
        ::send(pictures_, image.rgb.data() + sent, image.rgb.size() - sent, MSG_NOSIGNAL);
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes <= 0) return;  // ffmpeg has ended; finish() returns its message
    sent += static_cast<std::size_t>(bytes);
  }
}

std::optional<Error> FfmpegWriter::finish() {
  const int status = close_and_wait();
  const std::string video = text_of(video_.name());
  if (status == 0 && !video.empty()) return write_file(path_, video);
  const std::string log = text_of(log_.name());
  const std::string reason = one_line(log.substr(0, log.find('\n')));
  return failed("ffmpeg could not make {}: {}", printable(path_.string()),
                reason.empty() ? fmt::format("exit status {}", status) : reason);
}

}  // namespace attnscope::app
