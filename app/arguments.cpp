#include "app/arguments.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <utility>

namespace attnscope::app {

namespace {

constexpr int kMinSize = 320;
constexpr int kMaxSize = 16384;

/// "1600x900" as two numbers in range, or nothing.
std::optional<std::pair<int, int>> parse_size(const std::string& text) {
  int width = 0;
  int height = 0;
  const char* end = text.data() + text.size();
  const auto first = std::from_chars(text.data(), end, width);
  if (first.ec != std::errc{} || first.ptr == end || *first.ptr != 'x') return std::nullopt;
  const auto second = std::from_chars(first.ptr + 1, end, height);
  if (second.ec != std::errc{} || second.ptr != end) return std::nullopt;
  const auto in_range = [](int size) { return size >= kMinSize && size <= kMaxSize; };
  if (!in_range(width) || !in_range(height)) return std::nullopt;
  return std::pair{width, height};
}

/// What CLI11 fills in before it is checked.
struct Raw {
  std::string size;
  std::string theme;
  std::optional<Index> step;
};

void add_common_options(CLI::App& app, Arguments& arguments, Raw& raw) {
  app.add_option("--scene", arguments.scene, "A shipped scene by name, or a scene file");
  app.add_option("--step", raw.step, "Operation under the playhead, counted from 0");
  app.add_option("--size", raw.size, "Width and height in pixels, such as 1600x900");
  app.add_option("--theme", raw.theme, "dark, light or contrast");
  app.add_flag("--presenter", arguments.presenter, "Larger text, fewer panels");
}

std::optional<Error> check(const Raw& raw, Arguments& arguments) {
  if (!raw.size.empty()) {
    const auto size = parse_size(raw.size);
    if (!size) {
      return invalid_request(fmt::format("--size {}: not a size; use WIDTHxHEIGHT, each {} to {}",
                                         raw.size, kMinSize, kMaxSize));
    }
    arguments.width = size->first;
    arguments.height = size->second;
    arguments.size_given = true;
  }
  if (!raw.theme.empty()) {
    arguments.theme = parse_theme(raw.theme);
    if (!arguments.theme) {
      return invalid_request(
          fmt::format("--theme {}: not a theme; use dark, light or contrast", raw.theme));
    }
  }
  if (raw.step && *raw.step < 0) {
    return invalid_request(fmt::format("--step {}: negative; operations count from 0", *raw.step));
  }
  arguments.step = raw.step;
  if (arguments.frames < 0) {
    return invalid_request(
        fmt::format("--frames {}: negative; use 1 or more, or leave it out", arguments.frames));
  }
  return std::nullopt;
}

}  // namespace

Result<Arguments> parse_arguments(int argc, char** argv) {
  Arguments arguments;
  Raw raw;
  CLI::App app{"AttnScope: attention kernels beside a model of the GPU's memory", "attnscope"};
  add_common_options(app, arguments, raw);
  app.add_option("--frames", arguments.frames, "End after this many frames");
  app.add_flag("--bench", arguments.bench, "Play as fast as possible, print frame times");
  app.add_flag("--dump-ui", arguments.dump_ui, "Print the widgets' rectangles as JSON at the end");

  CLI::App* render = app.add_subcommand("render", "Draw one picture into a PNG file, no window");
  add_common_options(*render, arguments, raw);
  render->add_option("--out", arguments.out, "The PNG file")->required();
  render->add_flag("--run-on-gpu", arguments.run_on_gpu,
                   "Run the real kernel on this machine's GPU first, and show what was measured");

  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    arguments.help_text = render->parsed() ? render->help() : app.help();
    return arguments;
  } catch (const CLI::ParseError& error) {
    return invalid_request(std::string(error.what()) + "; see attnscope --help");
  }
  arguments.render = render->parsed();
  if (const auto error = check(raw, arguments)) return *error;
  return arguments;
}

}  // namespace attnscope::app
