#include "app/arguments.h"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <tuple>
#include <utility>

#include "app/files/user_state.h"
#include "app/platform/svg.h"
#include "app/platform/window.h"
#include "app/report/interruption.h"
#include "kernels/recording/build_info.h"
#include "reference/message_text.h"
#include "reference/parse_number.h"

namespace attnscope::app {

std::optional<std::pair<int, int>> parse_size(const std::string& text, int least_width,
                                              int least_height) {
  const std::size_t cross = text.find('x');
  if (cross == std::string::npos) return std::nullopt;
  const auto width = parse_number<int>(std::string_view(text).substr(0, cross));
  const auto height = parse_number<int>(std::string_view(text).substr(cross + 1));
  if (!width || !height) return std::nullopt;
  const auto in_range = [](int size, int least) { return size >= least && size <= kMaxSize; };
  if (!in_range(*width, least_width) || !in_range(*height, least_height)) return std::nullopt;
  return std::pair{*width, *height};
}

namespace {

/// The raw values from CLI11, before they are checked.
struct Raw {
  std::optional<std::string> size;
  std::optional<std::string> theme;
  std::optional<std::string> step;
  std::optional<std::string> state;
  std::optional<std::string> panel;
};

/// Adds a flag that may be given only once.
void add_flag_once(CLI::App& app, const std::string& name, bool& value, const std::string& help) {
  app.add_flag(name, value, help)->multi_option_policy(CLI::MultiOptionPolicy::Throw);
}

std::optional<Index> parse_step(const std::string& text) {
  const auto step = parse_number<Index>(text);
  return step && *step >= 0 ? step : std::nullopt;
}

void add_common_options(CLI::App& app, Arguments& arguments, Raw& raw) {
  CLI::Option* scene =
      app.add_option("--scene", arguments.scene, "A shipped scene by name, or a scene file");
  app.add_option("--lesson", arguments.lesson, "A shipped lesson by name, or a lesson file")
      ->excludes(scene);
  app.add_option("--q", arguments.files.Q,
                 "Your own Q as .npy, [B, H, N, d], [H, N, d] or [N, d]; the scene takes its size");
  app.add_option("--k", arguments.files.K,
                 "Your own K as .npy, [B, H_kv, N_kv, d], or without B and H_kv");
  app.add_option("--v", arguments.files.V,
                 "Your own V as .npy, [B, H_kv, N_kv, d], or without B and H_kv");
  app.add_option("--do", arguments.files.dO, "Your own dO as .npy, with Q's shape");
  app.add_option("--step", raw.step,
                 "Operation under the playhead, counted from 0 as on the screen; in a race: tick "
                 "of its clock; with --lesson: step of the lesson, counted from 1");
  app.add_option("--size", raw.size, "Width and height in pixels, such as 1600x900");
  app.add_option("--theme", raw.theme, "dark, light or contrast");
  constexpr auto kOnce = CLI::MultiOptionPolicy::Throw;
  CLI::Option* on = app.add_flag_callback(
      "--presenter", [&arguments] { arguments.presenter = true; }, "Larger text, fewer panels");
  CLI::Option* off = app.add_flag_callback(
      "--no-presenter", [&arguments] { arguments.presenter = false; },
      "All panels; with neither option, the scene decides");
  on->multi_option_policy(kOnce)->excludes(off);
  off->multi_option_policy(kOnce);
}

bool is_animation(const Arguments& arguments) {
  return !arguments.gif.empty() || !arguments.mp4.empty();
}

/// Reads "A-B", the first and the last operation of an animation.
std::optional<Error> read_range(const std::string& text, Arguments& arguments) {
  const std::size_t dash = text.find('-', 1);
  if (dash != text.npos) {
    arguments.step = parse_step(text.substr(0, dash));
    arguments.last_step = parse_step(text.substr(dash + 1));
  }
  const bool is_range = arguments.step && arguments.last_step;
  if (is_range && *arguments.step <= *arguments.last_step) return std::nullopt;
  return invalid_request(
      "--step '{}': not a range of operations; an animation needs one, such as "
      "0-40",
      printable(text));
}

/// Reads --step, for a lesson, an animation or a run.
std::optional<Error> read_step(const Raw& raw, Arguments& arguments) {
  if (raw.step && !arguments.lesson.empty()) {
    const auto step = parse_step(*raw.step);
    if (!step || *step < 1) {
      return invalid_request("--step '{}': not a step of a lesson; steps are whole numbers from 1",
                             printable(*raw.step));
    }
    arguments.lesson_step = static_cast<std::size_t>(*step - 1);
  } else if (is_animation(arguments)) {
    return read_range(raw.step.value_or(""), arguments);
  } else if (raw.step) {
    arguments.step = parse_step(*raw.step);
    if (!arguments.step) {
      return invalid_request("--step '{}': not a step; operations are whole numbers from 0",
                             printable(*raw.step));
    }
  }
  return std::nullopt;
}

std::optional<Error> check(const Raw& raw, Arguments& arguments) {
  if (raw.size) {
    // A single panel needs less room than the whole screen
    const int least_width = raw.panel ? kLeastPanelWidth : kLeastWidth;
    const int least_height = raw.panel ? kLeastPanelHeight : kLeastHeight;
    const auto size = parse_size(*raw.size, least_width, least_height);
    if (!size) {
      return invalid_request("--size '{}': not a size; use WIDTHxHEIGHT, {} to {} by {} to {}",
                             printable(*raw.size), least_width, kMaxSize, least_height, kMaxSize);
    }
    arguments.size_given = true;
    arguments.width = size->first;
    arguments.height = size->second;
  }
  if (raw.theme) {
    arguments.theme = parse_name<ThemeName>(*raw.theme);
    if (!arguments.theme) {
      return invalid_request("--theme '{}': not a theme; use {}", printable(*raw.theme),
                             alternatives(enum_names(ThemeName{})));
    }
  }
  if (auto error = read_step(raw, arguments)) return error;
  if (raw.panel) {
    arguments.panel = parse_name<Slot>(*raw.panel);
    if (!arguments.panel) {
      return invalid_request("--panel '{}': not a panel; use {}", printable(*raw.panel),
                             alternatives(enum_names(Slot{})));
    }
  }
  if (arguments.render && (arguments.out == "-" || arguments.out.starts_with("--"))) {
    return invalid_request("--out '{}': not a file; give the picture's name",
                           printable(arguments.out));
  }
  if (arguments.run_on_gpu && (is_animation(arguments) || !arguments.lesson.empty())) {
    return invalid_request(
        "--run-on-gpu is for one picture of a scene; leave out --lesson, --gif and --mp4");
  }
  if (is_svg_file(arguments.out) && !arguments.panel) {
    return invalid_request("--out '{}': an SVG shows one panel; add --panel, or name a .png file",
                           printable(arguments.out));
  }
  if (arguments.frames < 0) {
    return invalid_request("--frames {}: negative; use 1 or more, or leave it out",
                           arguments.frames);
  }
  return std::nullopt;
}

/// Adds the options of `attnscope render`; returns the option of the output file.
CLI::Option* add_render_options(CLI::App& render, Arguments& arguments, Raw& raw) {
  add_common_options(render, arguments, raw);
  CLI::Option* const out = render.add_option("--out", arguments.out,
                                             "The PNG file; with --panel, a PNG or SVG file; with "
                                             "--lesson, a folder for pictures of every "
                                             "step");
  render
      .add_option("--panel", raw.panel,
                  "Draw only this panel, without tabs and buttons: memory, scores, online_softmax, "
                  "explain, ledger, timeline or charts")
      ->excludes("--lesson");
  for (auto& [option, file, help] :
       {std::tuple{"--gif", &arguments.gif,
                   "Write the operations of --step A-B as a GIF animation"},
        {"--mp4", &arguments.mp4,
         "Write the operations of --step A-B as an MP4 video; needs the program ffmpeg"}}) {
    render.add_option(option, *file, help)
        ->excludes(out)
        ->excludes("--lesson")
        ->excludes("--panel");
  }
  add_flag_once(render, "--run-on-gpu", arguments.run_on_gpu,
                "Run the real kernel on this machine's GPU first, and show what was measured");
  return out;
}

}  // namespace

Result<Arguments> parse_arguments(int argc, char** argv) {
  Arguments arguments;
  Raw raw;
  CLI::App app{"AttnScope: attention kernels beside a model of the GPU's memory", "attnscope"};
  const std::string version =
      fmt::format("attnscope {} ({})", build_info().version, build_info().commit);
  app.set_version_flag("--version", version, "Print the version and commit, and exit");
  add_common_options(app, arguments, raw);
  app.add_option("--answers", arguments.answers,
                 "Append your answers to lesson questions to this file");
  app.add_option("--frames", arguments.frames, "Exit after this many frames");
  app.add_option("--state", raw.state,
                 "Save window, theme, scene and recent files in this file; \"none\": save nothing");
  add_flag_once(app, "--dump-ui", arguments.dump_ui,
                "Print the widgets' rectangles as JSON on exit");
  add_flag_once(app, "--log-frames", arguments.log_frames,
                "Draw 60 frames a second, also at rest, and print the program's state after each: "
                "works, plays or rests");

  CLI::App* render = app.add_subcommand(
      "render",
      "Draw pictures or an animation to files, without a window: a scene, a panel, a lesson");
  const CLI::Option* out = add_render_options(*render, arguments, raw);

  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    arguments.answer = render->parsed() ? render->help() : app.help();
    return arguments;
  } catch (const CLI::CallForVersion&) {
    arguments.answer = version + "\n";
    return arguments;
  } catch (const CLI::ParseError& error) {
    return invalid_request(std::string(error.what()) + "; see attnscope --help");
  }
  arguments.render = render->parsed();
  if (arguments.render && out->count() == 0 && !is_animation(arguments)) {
    return invalid_request(
        "--out is required, or --gif or --mp4 for an animation; see attnscope "
        "--help");
  }
  arguments.scene_given = app.count("--scene") > 0 || arguments.files.any();
  const bool for_tests = arguments.dump_ui || arguments.log_frames || arguments.frames != 0;
  if (raw.state) {
    if (*raw.state != "none") arguments.state = *raw.state;
  } else if (!arguments.render && !for_tests) {
    arguments.state = user_state_file();
  }
  if (const auto error = check(raw, arguments)) return *error;
  return arguments;
}

int report(const Error& error) {
  print_to_stderr(fmt::format("attnscope: {}\n", words(error, Reader::file)));
  return error.kind == Error::Kind::invalid_request ? kInvalidRequest : kFailed;
}

}  // namespace attnscope::app
