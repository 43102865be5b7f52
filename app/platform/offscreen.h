/// An OpenGL 3.3 core context through EGL, without any window or X server, for pictures made on a
/// server and for tests.
#pragma once

#include <memory>

#include "app/platform/framebuffer.h"
#include "reference/result.h"

namespace attnscope::app {

class OffscreenContext {
 public:
  /// Tries the EGL devices (NVIDIA), Mesa's surfaceless platform and the default display, in that
  /// order. Unavailable, with the result of each, when none provides an OpenGL 3.3 core context.
  static Result<std::unique_ptr<OffscreenContext>> create(int width, int height);
  ~OffscreenContext();
  OffscreenContext(const OffscreenContext&) = delete;
  OffscreenContext& operator=(const OffscreenContext&) = delete;

  /// Begins a frame of Dear ImGui with this surface's size and a fixed time step; subsequent
  /// drawing goes to the framebuffer.
  void begin_frame();
  Image read_pixels();

 private:
  OffscreenContext(int width, int height, void* display, void* context);

  int width_, height_;
  void* display_;  ///< EGLDisplay
  void* context_;  ///< EGLContext
  std::unique_ptr<Framebuffer> framebuffer_;
};

}  // namespace attnscope::app
