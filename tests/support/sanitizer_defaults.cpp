// Defaults of the sanitizers for programs that draw: their OpenGL driver and fonts come from
// third-party libraries, and findings in them are not ours to fix. Linked only under the sanitizer
// presets.

/// Memory that Mesa and fontconfig keep until the process ends. A leak counts as theirs only if one
/// of these libraries is on its stack.
extern "C" const char* __lsan_default_suppressions() {
  return "leak:libEGL_mesa.so\n"
         "leak:libGLX_mesa.so\n"
         "leak:_dri.so\n"
         "leak:libgallium\n"
         "leak:libLLVM\n"
         "leak:libfontconfig.so\n";
}

/// Mesa's own threads synchronise in code that is not instrumented.
extern "C" const char* __tsan_default_suppressions() {
  return "called_from_lib:libEGL_mesa.so\n"
         "called_from_lib:swrast_dri.so\n"
         "called_from_lib:libgallium\n"
         "called_from_lib:libLLVM\n"
         "race:swrast_dri.so\n"
         "race:libEGL_mesa.so\n";
}

/// Keeps libraries loaded until the program ends. EGL unloads the driver with its display: a report
/// could then no longer name the library, and what its variables referred to would be a leak.
extern "C" __attribute__((visibility("default"))) int dlclose(void* /*handle*/) {
  return 0;
}
