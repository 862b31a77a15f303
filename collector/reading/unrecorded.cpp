// Names of folders: HOST.PID.START.ERROR.RUN.unrecorded, where a host's name may have dots.
#include "collector/reading/unrecorded.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "collector/reading/generations.h"

namespace ddpscope::reading {
namespace {

namespace fs = std::filesystem;
using model::Unrecorded;

constexpr char kNoRun[] = "0";

// Takes ".NUMBER" from the end.
template <class Number>
bool take_number(std::string_view& name, Number& number) {
  std::size_t dot = name.rfind('.');
  if (dot == std::string_view::npos) return false;
  const char* end = name.data() + name.size();
  auto [stop, error] = std::from_chars(name.data() + dot + 1, end, number);
  bool whole = error == std::errc{} && stop == end;
  name = name.substr(0, dot);
  return whole;
}

std::optional<Unrecorded> parse(std::string_view name) {
  if (!name.ends_with(trace::kUnrecordedSuffix)) return std::nullopt;
  name.remove_suffix(sizeof(trace::kUnrecordedSuffix) - 1);
  Unrecorded process{};
  std::size_t dot = name.rfind('.');
  if (dot == std::string_view::npos) return std::nullopt;
  process.run = name.substr(dot + 1);
  name = name.substr(0, dot);
  if (!take_number(name, process.error) || !take_number(name, process.start_time) ||
      !take_number(name, process.pid) || name.empty())
    return std::nullopt;
  process.host = name;
  return process;
}

}  // namespace

std::vector<Unrecorded> find_unrecorded(const fs::path& folder) {
  std::vector<Unrecorded> found;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error))
    if (auto process = parse(it->path().filename().string())) found.push_back(std::move(*process));
  std::sort(found.begin(), found.end());
  return found;
}

std::vector<Unrecorded> find_unrecorded(const fs::path& folder,
                                        const std::vector<model::Process>& processes) {
  std::set<std::string_view> runs;
  for (const model::Process& process : processes) {
    std::string_view run = run_of(process);
    runs.insert(run.empty() ? std::string_view(kNoRun) : run);
  }
  std::vector<Unrecorded> found = find_unrecorded(folder);
  std::erase_if(found, [&](const Unrecorded& process) { return !runs.contains(process.run); });
  return found;
}

}  // namespace ddpscope::reading
