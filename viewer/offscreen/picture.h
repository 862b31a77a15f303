// A picture of the viewer, and how fast it draws: without a display.
#pragma once
#include "viewer/app/app.h"
#include "viewer/offscreen/gl_context.h"

namespace ddpscope::viewer {

// Draws until nothing moves and nothing is missing any more. Errors: no EGL, OpenGL too old.
Result<Image> picture_of(App& app, int width, int height);

// Opening time and frame times at fixed zooms, in JSON. `open_ms`: what opening the trace took.
Result<std::string> bench(App& app, int width, int height, double open_ms);

}  // namespace ddpscope::viewer
