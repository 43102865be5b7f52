#include "app/platform/offscreen.h"

#include <EGL/egl.h>
#include <EGL/eglext.h>
#include <fmt/core.h>
#include <imgui.h>

#include <array>
#include <string>
#include <vector>

namespace attnscope::app {

namespace {

struct Candidate {
  std::string name;
  EGLDisplay display;
};

/// Every display that might work without a window system, in order of preference.
std::vector<Candidate> candidate_displays() {
  std::vector<Candidate> candidates;
  const auto get_platform_display = reinterpret_cast<PFNEGLGETPLATFORMDISPLAYEXTPROC>(
      eglGetProcAddress("eglGetPlatformDisplayEXT"));
  const auto query_devices =
      reinterpret_cast<PFNEGLQUERYDEVICESEXTPROC>(eglGetProcAddress("eglQueryDevicesEXT"));
  if (get_platform_display != nullptr && query_devices != nullptr) {
    std::array<EGLDeviceEXT, 16> devices{};
    EGLint count = 0;
    if (query_devices(static_cast<EGLint>(devices.size()), devices.data(), &count) == EGL_TRUE) {
      for (EGLint n = 0; n < count; ++n) {
        candidates.push_back({fmt::format("EGL device {}", n),
                              get_platform_display(EGL_PLATFORM_DEVICE_EXT,
                                                   devices[static_cast<std::size_t>(n)], nullptr)});
      }
    }
  }
  if (get_platform_display != nullptr) {
    candidates.push_back(
        {"surfaceless Mesa",
         get_platform_display(EGL_PLATFORM_SURFACELESS_MESA,
                              reinterpret_cast<void*>(EGL_DEFAULT_DISPLAY), nullptr)});
  }
  candidates.push_back({"default display", eglGetDisplay(EGL_DEFAULT_DISPLAY)});
  return candidates;
}

/// A current OpenGL 3.3 core context on the display, or the step that failed.
Result<EGLContext> make_context(EGLDisplay display) {
  if (display == EGL_NO_DISPLAY) return unavailable("no display");
  if (eglInitialize(display, nullptr, nullptr) != EGL_TRUE) return unavailable("not initialised");
  if (eglBindAPI(EGL_OPENGL_API) != EGL_TRUE) return unavailable("no desktop OpenGL");

  const std::array<EGLint, 5> config_attributes{EGL_SURFACE_TYPE, 0, EGL_RENDERABLE_TYPE,
                                                EGL_OPENGL_BIT, EGL_NONE};
  EGLConfig config = nullptr;
  EGLint count = 0;
  eglChooseConfig(display, config_attributes.data(), &config, 1, &count);
  if (count == 0) config = nullptr;  // EGL_KHR_no_config_context

  const std::array<EGLint, 7> context_attributes{EGL_CONTEXT_MAJOR_VERSION,
                                                 3,
                                                 EGL_CONTEXT_MINOR_VERSION,
                                                 3,
                                                 EGL_CONTEXT_OPENGL_PROFILE_MASK,
                                                 EGL_CONTEXT_OPENGL_CORE_PROFILE_BIT,
                                                 EGL_NONE};
  const EGLContext context =
      eglCreateContext(display, config, EGL_NO_CONTEXT, context_attributes.data());
  if (context == EGL_NO_CONTEXT) return unavailable("no OpenGL 3.3 core context");
  if (eglMakeCurrent(display, EGL_NO_SURFACE, EGL_NO_SURFACE, context) != EGL_TRUE) {
    eglDestroyContext(display, context);
    return unavailable("the context needs a surface");
  }
  return context;
}

}  // namespace

Result<std::unique_ptr<OffscreenContext>> OffscreenContext::create(int width, int height) {
  std::string answers;
  for (const Candidate& candidate : candidate_displays()) {
    const Result<EGLContext> context = make_context(candidate.display);
    if (!context) {
      answers += fmt::format("; {}: {}", candidate.name, context.error().message);
      if (candidate.display != EGL_NO_DISPLAY) eglTerminate(candidate.display);
      continue;
    }
    std::unique_ptr<OffscreenContext> offscreen(
        new OffscreenContext(width, height, candidate.display, context.value()));
    if (offscreen->framebuffer_->is_complete()) return offscreen;
    return unavailable("the OpenGL driver cannot create a {}x{} framebuffer", width, height);
  }
  return unavailable("no OpenGL 3.3 without a window (EGL)" + answers);
}

OffscreenContext::OffscreenContext(int width, int height, void* display, void* context)
    : width_(width),
      height_(height),
      display_(display),
      context_(context),
      framebuffer_(std::make_unique<Framebuffer>(width, height)) {}

OffscreenContext::~OffscreenContext() {
  framebuffer_.reset();
  eglMakeCurrent(display_, EGL_NO_SURFACE, EGL_NO_SURFACE, EGL_NO_CONTEXT);
  eglDestroyContext(display_, context_);
  eglTerminate(display_);
}

void OffscreenContext::begin_frame() {
  ImGuiIO& io = ImGui::GetIO();
  io.DisplaySize = {static_cast<float>(width_), static_cast<float>(height_)};
  io.DeltaTime = 1.0f / 60.0f;
  framebuffer_->bind();
}

Image OffscreenContext::read_pixels() {
  return framebuffer_->read_pixels();
}

}  // namespace attnscope::app
