// Each error once, with the first processes that met it.
#include "collector/model/unrecorded.h"

#include <fmt/format.h>

#include <cstring>
#include <map>

namespace ddpscope::model {

std::vector<std::string> to_sentences(const std::vector<Unrecorded>& unrecorded) {
  constexpr std::size_t kNamed = 8;
  std::map<std::int32_t, std::vector<const Unrecorded*>> by_error;
  for (const Unrecorded& process : unrecorded) by_error[process.error].push_back(&process);
  std::vector<std::string> sentences;
  for (const auto& [error, processes] : by_error) {
    std::string names;
    for (std::size_t i = 0; i < processes.size() && i < kNamed; ++i)
      names += fmt::format("{}{}:{}", i ? ", " : "", processes[i]->host, processes[i]->pid);
    if (processes.size() > kNamed) names += ", ...";
    sentences.push_back(fmt::format("{} process{} could not make a trace file: {} ({})", processes.size(),
                                    processes.size() == 1 ? "" : "es", std::strerror(error), names));
  }
  return sentences;
}

}  // namespace ddpscope::model
