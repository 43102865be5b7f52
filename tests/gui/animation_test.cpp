/// Animations: the encoder, and `attnscope render --gif` and `--mp4`.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <random>

#include "app/platform/gif_writer.h"
#include "tests/gui/picture.h"
#include "tests/gui/process.h"

namespace attnscope::app {
namespace {

using testing::HasSubstr;

/// Noise in colours that GIF keeps exactly: at most 255, one in each class of the palette.
Image noise(int width, int height, unsigned seed, unsigned colors) {
  std::minstd_rand random(seed);
  Image image{width, height, {}};
  for (int n = 0; n < width * height; ++n) {
    const unsigned color = static_cast<unsigned>(random()) % colors;
    for (const unsigned channel : {color % 8 * 32, color / 8 % 8 * 32, color / 64 * 32}) {
      image.rgb.push_back(static_cast<std::uint8_t>(channel));
    }
  }
  return image;
}

std::vector<std::uint32_t> colors_of(const Image& image) {
  std::vector<std::uint32_t> colors;
  for (std::size_t n = 0; n < image.rgb.size(); n += 3) {
    colors.push_back(
        static_cast<std::uint32_t>(image.rgb[n] << 16 | image.rgb[n + 1] << 8 | image.rgb[n + 2]));
  }
  return colors;
}

/// The pictures of an animation, as another program reads them.
std::vector<Picture> frames_of(const std::filesystem::path& gif, const ScratchFolder& folder) {
  const std::string stem = folder / "frame";
  const Finished done = run(
      {"bash", "-c", fmt::format("convert {} -coalesce -depth 8 {}-%03d.png", gif.string(), stem)});
  EXPECT_EQ(done.status, 0) << done.errors;
  std::vector<Picture> frames;
  while (std::filesystem::exists(fmt::format("{}-{:03}.png", stem, frames.size()))) {
    frames.push_back(read_picture(fmt::format("{}-{:03}.png", stem, frames.size())));
  }
  return frames;
}

TEST(GifWriter, PicturesOfFewColoursAreKeptExactly) {
  const ScratchFolder folder;
  // Noise fills the table of codes many times; the second picture repeats most of the first
  std::vector<Image> images{noise(301, 203, 1, 255), noise(301, 203, 1, 255),
                            noise(301, 203, 1, 255), noise(301, 203, 2, 3)};
  for (int n = 0; n < 900; ++n) images[1].rgb[static_cast<std::size_t>(n)] ^= 0x20;
  GifWriter gif = GifWriter::open(folder / "out.gif", 301, 203, 20).value();
  for (const Image& image : images) gif.add(image);
  ASSERT_FALSE(gif.finish());
  const std::vector<Picture> frames = frames_of(folder / "out.gif", folder);
  ASSERT_EQ(frames.size(), images.size());
  for (std::size_t n = 0; n < images.size(); ++n) {
    EXPECT_EQ(frames[n].pixels, colors_of(images[n])) << "picture " << n;
  }
}

TEST(GifWriter, ManyColoursAreApproximatedClosely) {
  Image image{512, 64, {}};
  for (int n = 0; n < 512 * 64; ++n) {
    image.rgb.push_back(static_cast<std::uint8_t>(n % 256));
    image.rgb.push_back(static_cast<std::uint8_t>(n / 512 * 4));
    image.rgb.push_back(static_cast<std::uint8_t>(128));
  }
  const std::vector<bool> all(image.rgb.size() / 3, true);
  const IndexedPicture picture = with_palette(image, all);
  for (std::size_t n = 0; n < all.size(); ++n) {
    ASSERT_LT(picture.pixels[n], 255);
    for (std::size_t channel = 0; channel < 3; ++channel) {
      const int near = picture.palette[picture.pixels[n] * std::size_t{3} + channel];
      ASSERT_LE(std::abs(near - image.rgb[3 * n + channel]), 40) << "pixel " << n;
    }
  }
}

TEST(RenderAnimation, TheGifShowsTheOperationsOfTheRange) {
  const ScratchFolder folder;
  const std::string gif = folder / "out.gif";
  const Finished finished = run({ATTNSCOPE_PROGRAM, "render", "--scene", "flash1-64", "--step",
                                 "10-13", "--size", "960x540", "--gif", gif});
  ASSERT_EQ(finished.status, 0) << finished.errors;
  const std::vector<Picture> frames = frames_of(gif, folder);
  ASSERT_EQ(frames.size(), 4U);
  const Rect all{{0, 0}, {960, 540}};
  for (const std::size_t n : {0U, 3U}) {
    const std::string png = folder / "step.png";
    ASSERT_EQ(run({ATTNSCOPE_PROGRAM, "render", "--scene", "flash1-64", "--step",
                   std::to_string(10 + n), "--size", "960x540", "--out", png})
                  .status,
              0);
    const Picture exact = read_picture(png);
    int far = 0;
    for (std::size_t p = 0; p < exact.pixels.size(); ++p) {
      for (const int shift : {0, 8, 16}) {
        const int a = static_cast<int>(exact.pixels[p] >> shift & 0xFF);
        const int b = static_cast<int>(frames[n].pixels[p] >> shift & 0xFF);
        far += std::abs(a - b) > 40 ? 1 : 0;
      }
    }
    EXPECT_LT(far, 960 * 540 / 200) << "frame " << n;
  }
  EXPECT_GT(count_different(frames[0], frames[3], all), 500);
}

TEST(RenderAnimation, FfmpegGetsEveryPicture) {
  const ScratchFolder folder;
  // In place of ffmpeg, a program that counts the bytes that it receives
  const std::string program = folder / "ffmpeg";
  ASSERT_EQ(
      run({"bash", "-c",
           fmt::format("printf '#!/bin/sh\\nwc -c\\n' > {} && chmod +x {}", program, program)})
          .status,
      0);
  const std::string path = fmt::format("PATH={}:{}", folder.path().string(), std::getenv("PATH"));
  const std::string mp4 = folder / "out.mp4";
  const Finished finished = run({ATTNSCOPE_PROGRAM, "render", "--scene", "flash1-64", "--step",
                                 "0-2", "--size", "960x540", "--mp4", mp4},
                                {path});
  ASSERT_EQ(finished.status, 0) << finished.errors;
  EXPECT_THAT(read_file(mp4), HasSubstr(std::to_string(960 * 540 * 3 * 3)));
}

TEST(RenderAnimation, AFailureOfFfmpegIsReportedInItsWords) {
  const ScratchFolder folder;
  const std::string program = folder / "ffmpeg";
  ASSERT_EQ(
      run({"bash", "-c",
           fmt::format("printf '#!/bin/sh\\necho no encoder >&2\\nexit 1\\n' > {} && chmod +x {}",
                       program, program)})
          .status,
      0);
  const std::string path = fmt::format("PATH={}:{}", folder.path().string(), std::getenv("PATH"));
  const Finished finished = run({ATTNSCOPE_PROGRAM, "render", "--step", "0-1", "--size", "960x540",
                                 "--mp4", folder / "out.mp4"},
                                {path});
  EXPECT_EQ(finished.status, 1);
  EXPECT_THAT(finished.errors, HasSubstr("no encoder"));
  EXPECT_EQ(std::ranges::count(finished.errors, '\n'), 1) << finished.errors;
  EXPECT_FALSE(std::filesystem::exists(folder / "out.mp4"));
}

TEST(RenderAnimation, WithoutFfmpegOneLineSaysSo) {
  const ScratchFolder folder;
  const Finished finished =
      run({ATTNSCOPE_PROGRAM, "render", "--step", "0-1", "--mp4", folder / "out.mp4"},
          {"PATH=/no/such/folder"});
  EXPECT_EQ(finished.status, 1);
  EXPECT_THAT(finished.errors, HasSubstr("ffmpeg, which is not on PATH"));
  EXPECT_EQ(std::ranges::count(finished.errors, '\n'), 1) << finished.errors;
}

TEST(RenderAnimation, BadRangesAndFilesGetOneLineAndStatusTwo) {
  const ScratchFolder folder;
  const std::string gif = folder / "out.gif";
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases{
      {{"--gif", gif}, "an animation needs one"},
      {{"--gif", gif, "--step", "5"}, "an animation needs one"},
      {{"--gif", gif, "--step", "9-5"}, "an animation needs one"},
      {{"--gif", gif, "--step", "0-100000"}, "the last operation is"},
      {{"--gif", "/no/such/folder/x.gif", "--step", "0-1"}, "--gif '/no/such/folder/x.gif'"},
      {{"--gif", gif, "--out", folder / "x.png", "--step", "0-1"}, "--out"},
      {{"--out", folder / "x.png", "--step", "0-1"}, "--step '0-1'"}};
  for (const auto& [words, part] : cases) {
    std::vector<std::string> all{ATTNSCOPE_PROGRAM, "render"};
    all.insert(all.end(), words.begin(), words.end());
    const Finished finished = run(all);
    EXPECT_EQ(finished.status, 2) << part << finished.errors;
    EXPECT_THAT(finished.errors, HasSubstr(part));
    EXPECT_EQ(std::ranges::count(finished.errors, '\n'), 1) << finished.errors;
  }
  EXPECT_FALSE(std::filesystem::exists(gif));
}

}  // namespace
}  // namespace attnscope::app
