// Sorts events into names and contents.
#include "collector/files/objects.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "collector/files/aliases.h"

namespace ddpscope::files {
namespace {

using trace::Operation;

class Sorting {
 public:
  Sorting(const model::Job& job, const SharedNames& names) : job_(job), names_(names) {
    for (Name name = 0; name < names.places.size(); ++name)
      if (names.judged[name]) by_place_.emplace(names.places[name], name);
  }

  std::vector<Object> take() {
    for (const FileEvent& event : names_.events)
      if (comes_by(event)) last_opened_[{event.event.process, event.name}] = event.begin_ns;
    for (std::uint32_t i = 0; i < names_.events.size(); ++i) sort(i);
    std::vector<Object> objects;
    for (auto& [name, object] : of_name_) keep(std::move(object), objects);
    for (auto& [content, object] : of_content_) keep(std::move(object), objects);
    return objects;
  }

 private:
  // Opens it, or makes sure that the folder is there.
  static bool comes_by(const FileEvent& event) {
    bool makes = event.operation == Operation::kMakeDirectory && (!event.error || event.error == EEXIST);
    return makes || (event.operation == Operation::kOpen && !event.error);
  }

  // Inode and generation.
  using Content = std::tuple<std::string_view, std::uint64_t, std::uint64_t, std::uint32_t>;
  static Inode inode_of(const Content& content) {
    return {std::get<0>(content), std::get<1>(content), std::get<2>(content)};
  }
  struct Ended {
    std::uint32_t by;  // event
    std::vector<Content> contents;
  };
  using OpeningId = std::pair<std::uint32_t, std::uint32_t>;  // process and number
  struct Opened {
    std::uint32_t event;
    Content content;
    bool inherited;
    bool stdio, written = false;
  };

  const FileEvent& event(std::uint32_t index) const { return names_.events[index]; }

  Name judged(Name name) const { return name != kNoName && names_.judged[name] ? name : kNoName; }

  void sort(std::uint32_t index) {
    const FileEvent& at = event(index);
    bool two_names = at.operation == Operation::kRename || at.operation == Operation::kLink;
    if (!two_names && judged(at.name) == kNoName) return;
    switch (at.operation) {
      case Operation::kOpen:
        return open(index);
      case Operation::kRename:
      case Operation::kLink:
        return rename(index);
      case Operation::kUnlink:
      case Operation::kRemoveDirectory:
        return remove(index);
      case Operation::kMakeDirectory:
        if (!at.error) add_to_name(at.name, AccessKind::kMake, index);
        return;
      case Operation::kStat:
      case Operation::kAccess:
        if (is_miss(at)) add_to_name(at.name, AccessKind::kVain, index);
        return;
      case Operation::kOpenDirectory:
        if (at.error == 0 || at.error == ENOENT)
          add_to_name(at.name, at.error ? AccessKind::kVain : AccessKind::kList, index);
        return;
      case Operation::kTruncate:
        if (!at.opening) return truncate_by_name(index);
        return transfer(index);
      case Operation::kRead:
      case Operation::kWrite:
      case Operation::kMap:
      case Operation::kClose:
        return transfer(index);
      default:
        return;
    }
  }

  Content content(Name name, std::uint64_t device, std::uint64_t inode) {
    auto [storage, where, number] = inode_at(names_.places[name], device, inode);
    // A file that is told by its place keeps what it had before it was renamed.
    auto known = inode_of_.find(name);
    if (!number && known != inode_of_.end()) return known->second;
    return {storage, where, number, generation_[{storage, where, number}]};
  }

  // By this event: of what the name means, or has meant without its being seen how that ended, what `ends`.
  template <class Ends>
  void end_contents(Name name, std::uint32_t by, Ends&& ends) {
    Ended& ended = ended_[name] = {by, {}};
    auto end = [&](const Content& content) {
      if (!ends(content)) return;
      std::uint32_t& now = generation_[inode_of(content)];
      if (now == std::get<3>(content)) ++now;
      ended.contents.push_back(content);
    };
    if (auto known = inode_of_.find(name); known != inode_of_.end()) end(known->second);
    inode_of_.erase(name);
    for (const Content& content : overtaken_[name]) end(content);
    overtaken_.erase(name);
  }

  // inode: 0: whichever it had.
  void end_content(Name name, std::uint32_t by, std::uint64_t inode) {
    end_contents(name, by, [&](const Content& content) { return !inode || inode == std::get<2>(content); });
  }

  // What an opening finds that began before the name was seen to be given to something else, or removed: what
  // that call, which may have begun before it, has ended.
  const Content* find_ended(const FileEvent& opening, const Content& found) const {
    auto ended = ended_.find(opening.name);
    if (ended == ended_.end()) return nullptr;
    const FileEvent& by = event(ended->second.by);
    auto error = job_.clock_error_between(by.event.process, opening.event.process);
    if (opening.begin_ns > by.end_ns + error) return nullptr;
    for (const Content& content : ended->second.contents)
      if (inode_of(content) == inode_of(found)) return &content;
    return nullptr;
  }

  void add_to_name(Name name, AccessKind kind, std::uint32_t index) { add_to_name(name, kind, index, index); }
  void add_to_name(Name name, AccessKind kind, std::uint32_t index, std::uint32_t opening) {
    Object& object = of_name_[name];
    object.content = false;
    object.name = name;
    object.accesses.push_back({kind, index, opening, false});
  }

  void add_to_content(const Opened& opened, AccessKind kind, std::uint32_t index) {
    Object& object = of_content_[opened.content];
    object.content = true;
    object.name = event(opened.event).name;
    object.accesses.push_back({kind, index, opened.event, opened.inherited});
  }

  void open(std::uint32_t index) {
    const FileEvent& at = event(index);
    if (is_miss(at) && at.flags & O_CREAT) return add_to_name(at.name, AccessKind::kVain, index);
    if (is_miss(at)) {
      auto later = last_opened_.find({at.event.process, at.name});
      if (later == last_opened_.end() || later->second < at.begin_ns)
        add_to_name(at.name, AccessKind::kMiss, index);
      return;
    }
    auto call = static_cast<trace::Call>(job_.record(at.event).call);
    bool inherited = call == trace::Call::inherited_descriptor;
    if (at.error || !at.inode) return;
    bool exclusive = at.flags & O_CREAT && at.flags & O_EXCL && !inherited;
    if (exclusive) end_content(at.name, index, 0);
    Opened opened{index, content(at.name, at.device, at.inode), inherited, is_stdio(call)};
    if (const Content* ended = exclusive ? nullptr : find_ended(at, opened.content))
      opened.content = *ended;
    else
      mean(at.name, opened.content);
    if (!inherited) {
      if (at.made != kNoName && at.fresh)
        add_to_name(at.name, AccessKind::kMake, index);
      else if (!(at.flags & O_CREAT))
        add_to_name(at.name, AccessKind::kOpen, index);
      if (at.flags & O_TRUNC) add_to_content(opened, AccessKind::kWrite, index);
    }
    openings_[{at.event.process, at.opening}] = opened;
  }

  // An opening that was held up finds what the name is given only later, by its begin: what it meant until
  // then is not ended yet.
  void mean(Name name, const Content& content) {
    auto known = inode_of_.find(name);
    if (known != inode_of_.end() && known->second != content) overtaken_[name].insert(known->second);
    inode_of_[name] = content;
  }

  static bool is_stdio(trace::Call call) {
    return call == trace::Call::fopen || call == trace::Call::fopen64 || call == trace::Call::freopen ||
           call == trace::Call::freopen64;
  }

  void remove(std::uint32_t index) {
    const FileEvent& at = event(index);
    if (at.error == ENOENT) add_to_name(at.name, AccessKind::kVain, index);
    if (at.error) return;
    if (at.operation == Operation::kUnlink) end_content(at.name, index, at.inode);
    add_to_name(at.name, AccessKind::kRemove, index);
  }

  // The name, and those in the folder that it may be.
  void remove_all(std::uint32_t index) {
    Name name = event(index).name;
    add_to_name(name, AccessKind::kRemove, index);
    for_each_below(by_place_, names_.places[name],
                   [&](Name below) { add_to_name(below, AccessKind::kRemove, index); });
  }

  void rename(std::uint32_t index) {
    const FileEvent& at = event(index);
    Name name = judged(at.name), target = judged(at.target);
    bool moves = at.operation == Operation::kRename && name != kNoName;
    if (moves && at.error == ENOENT) add_to_name(name, AccessKind::kVain, index);
    if (at.error) return;
    if (moves) remove_all(index);
    if (target == kNoName) return;
    // A link is made only where nothing has the name: it takes nothing's place, and none can be lost by that.
    if (at.operation == Operation::kRename) add_to_name(target, AccessKind::kPut, index);
    auto source = inode_of_.find(name);
    Content moved{};
    bool known = source != inode_of_.end();
    if (known) moved = source->second;
    if (moves && known) inode_of_.erase(source);
    end_contents(target, index, [&](const Content& content) { return !known || content != moved; });
    if (known) inode_of_[target] = moved;
    if (at.fresh) add_to_name(target, AccessKind::kMake, index);
  }

  void truncate_by_name(std::uint32_t index) {
    const FileEvent& at = event(index);
    auto known = inode_of_.find(at.name);
    if (!at.error && known != inode_of_.end())
      add_to_content({index, known->second, false, false}, AccessKind::kWrite, index);
  }

  void transfer(std::uint32_t index) {
    const FileEvent& at = event(index);
    auto opened = openings_.find({at.event.process, at.opening});
    if (opened == openings_.end()) return;
    bool flushes = opened->second.stdio && opened->second.written;
    switch (at.operation) {
      case Operation::kWrite:
        if (!std::exchange(opened->second.written, true)) put(opened->second, index);
        [[fallthrough]];
      case Operation::kTruncate:
        return add_to_content(opened->second, AccessKind::kWrite, index);
      case Operation::kRead:
        if (at.bytes || at.part)
          add_to_content(opened->second, at.bytes ? AccessKind::kRead : AccessKind::kEnd, index);
        return;
      case Operation::kClose:  // stdio writes when it closes, at the latest
        if (flushes) add_to_content(opened->second, AccessKind::kWrite, index);
        return;
      default:
        return map(opened->second, index);
    }
  }

  // Not what others add to as well, nor what stands for a lock.
  void put(const Opened& opened, std::uint32_t index) {
    const FileEvent& at = event(opened.event);
    bool own = at.flags & O_CREAT && !(at.flags & O_APPEND) && !opened.inherited;
    if (own && !names_.locked.contains({at.device, at.inode}))
      add_to_name(at.name, AccessKind::kPut, index, opened.event);
  }

  void map(const Opened& opened, std::uint32_t index) {
    add_to_content(opened, AccessKind::kMap, index);
    if (shares_writes(event(index).flags & 0xFFFF, event(index).flags >> 16))
      of_content_[opened.content].shared_memory = true;
  }

  void keep(Object object, std::vector<Object>& kept) const {
    std::set<std::int32_t> ranks;
    bool changed = false;
    for (const Access& access : object.accesses) {
      ranks.insert(event(access.event).rank);
      changed = changed || changes(access.kind) || access.kind == AccessKind::kRemove || object.shared_memory;
    }
    if (ranks.size() > 1 && changed) kept.push_back(std::move(object));
  }

  const model::Job& job_;
  const SharedNames& names_;
  std::map<std::string_view, Name> by_place_;
  std::map<Name, Object> of_name_;
  std::map<Content, Object> of_content_;
  std::map<Name, Content> inode_of_;             // what each name means at the time
  std::map<Name, std::set<Content>> overtaken_;  // what it meant before, and may still
  std::map<Name, Ended> ended_;                  // by the last event that ended some
  std::map<Inode, std::uint32_t> generation_;
  std::map<OpeningId, Opened> openings_;
  std::map<std::pair<std::uint32_t, Name>, std::int64_t> last_opened_;  // by process
};

}  // namespace

std::vector<Object> find_objects(const model::Job& job, const SharedNames& names) {
  return Sorting(job, names).take();
}

}  // namespace ddpscope::files
