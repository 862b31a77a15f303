// Which colour a batch's chip has.
#include "viewer/story/batch_colours.h"

#include <algorithm>

namespace ddpscope::viewer {

void number_contents(std::vector<FileLine>& lines) {
  std::vector<StoryAccess*> all;
  for (FileLine& line : lines)
    for (StoryAccess& access : line.accesses) all.push_back(&access);
  std::stable_sort(all.begin(), all.end(),
                   [](const StoryAccess* a, const StoryAccess* b) { return a->begin_ns < b->begin_ns; });
  std::map<std::uint64_t, std::uint32_t> numbers;
  for (StoryAccess* access : all)
    access->content =
        numbers.try_emplace(access->digest, static_cast<std::uint32_t>(numbers.size())).first->second;
}

std::map<std::uint32_t, std::size_t> colours_of_batches(const std::vector<FileLine>& lines, TimeSpan shown,
                                                        std::size_t colours) {
  std::map<std::uint32_t, std::size_t> given;
  for (const FileLine& line : lines)
    for (std::size_t i = 0; i < line.accesses.size(); ++i) {
      // A batch is what the rank works on until the next comes.
      std::int64_t end_ns = i + 1 < line.accesses.size() ? line.accesses[i + 1].begin_ns : shown.to_ns;
      if (end_ns >= shown.from_ns && line.accesses[i].begin_ns <= shown.to_ns)
        given[line.accesses[i].content] = colours;
    }
  std::vector<bool> taken(colours, false);
  std::vector<std::uint32_t> others;
  for (auto& [content, colour] : given) {
    std::size_t own = content % colours;
    if (taken[own])
      others.push_back(content);
    else
      taken[own] = true, colour = own;
  }
  for (std::uint32_t content : others) {
    auto free = std::find(taken.begin(), taken.end(), false);
    if (free == taken.end()) {
      given.erase(content);
      continue;
    }
    *free = true, given[content] = static_cast<std::size_t>(free - taken.begin());
  }
  return given;
}

}  // namespace ddpscope::viewer
