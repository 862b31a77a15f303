// Tables in the order of their numbers, so that equal processes give equal bytes.
#include "collector/merged/process_tables.h"

#include <algorithm>

namespace ddpscope::merged {
namespace {

template <class Map>
std::vector<std::uint32_t> sorted_keys(const Map& map) {
  std::vector<std::uint32_t> keys;
  for (const auto& [key, value] : map) keys.push_back(key);
  std::sort(keys.begin(), keys.end());
  return keys;
}

template <class Map, class Put>
void put_map(const Map& map, ByteWriter& out, Put&& put) {
  out.put_short(map.size());
  for (std::uint32_t key : sorted_keys(map)) {
    out.put_short(key);
    put(map.at(key));
  }
}

template <class Map, class Get>
void get_map(Map& map, ByteReader& in, Get&& get) {
  for (std::size_t left = in.get_count(2); left > 0 && in.ok(); --left) {
    auto key = static_cast<std::uint32_t>(in.get_short());
    map[key] = get();
  }
}

}  // namespace

void ProcessTables::put(ByteWriter& out) const {
  auto put_text = [&](const std::string& text) { out.put_text(text); };
  out.put_text(schema_);
  put_map(strings_, out, put_text);
  put_map(stacks_, out, [&](const std::vector<std::string>& frames) {
    out.put_short(frames.size());
    for (const std::string& frame : frames) out.put_text(frame);
  });
  put_map(openings_, out, put_text);
  put_map(communicators_, out, [&](const std::pair<std::uint32_t, std::uint32_t>& member) {
    out.put_short(member.first);
    out.put_short(member.second);
  });
}

std::unique_ptr<ProcessTables> ProcessTables::get(std::span<const unsigned char> bytes) {
  auto tables = std::make_unique<ProcessTables>();
  ByteReader in(bytes);
  auto get_text = [&] { return in.get_text(); };
  tables->schema_ = in.get_text();
  get_map(tables->strings_, in, get_text);
  get_map(tables->stacks_, in, [&] {
    std::vector<std::string> frames(in.get_count(1));
    for (std::string& frame : frames) frame = in.get_text();
    return frames;
  });
  get_map(tables->openings_, in, get_text);
  get_map(tables->communicators_, in, [&] {
    auto row = static_cast<std::uint32_t>(in.get_short());
    return std::pair(row, static_cast<std::uint32_t>(in.get_short()));
  });
  return in.ok() ? std::move(tables) : nullptr;
}

std::string_view ProcessTables::string(std::uint32_t id) const {
  auto found = strings_.find(id);
  return found == strings_.end() ? std::string_view() : found->second;
}

const std::vector<std::string>& ProcessTables::stack(std::uint32_t id) const {
  static const std::vector<std::string> kNothing;
  auto found = stacks_.find(id);
  return found == stacks_.end() ? kNothing : found->second;
}

std::string_view ProcessTables::path_of(std::uint32_t file) const {
  auto found = openings_.find(file);
  return found == openings_.end() ? std::string_view() : found->second;
}

std::optional<std::pair<std::uint32_t, std::uint32_t>> ProcessTables::communicator(
    std::uint32_t number) const {
  auto found = communicators_.find(number);
  if (found == communicators_.end()) return std::nullopt;
  return found->second;
}

}  // namespace ddpscope::merged
