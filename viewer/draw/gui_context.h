// Dear ImGui's context, of which a process has one at a time.
#pragma once
#include <imgui.h>

namespace ddpscope::viewer {

class GuiContext {
 public:
  GuiContext() {
    ImGui::CreateContext();
    ImGui::GetIO().IniFilename = nullptr;  // nothing is left behind in the current folder
  }
  GuiContext(const GuiContext&) = delete;
  ~GuiContext() { ImGui::DestroyContext(); }
};

}  // namespace ddpscope::viewer
