// What tells a wait by looking again and again: nothing else in between, and changes meanwhile.
#pragma once
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "collector/files/shared_names.h"
#include "collector/model/job.h"
#include "collector/ordering/graph.h"

namespace ddpscope::ordering {

// Whether a thread that waits by looking at files does it in between, too: it looks at others, or closes one.
bool goes_with_waiting(const files::FileEvent& event);

// What is no waiting: a thread computes, takes part in a collective, or hears from others by other means.
class OtherWork {
 public:
  explicit OtherWork(const model::Job& job) : job_(job) {}
  // Whether the thread begins any. The first question about a process goes through its trace.
  bool any_between(ThreadId thread, std::int64_t from_ns, std::int64_t to_ns);
  // Whether it opens any file, also of its own.
  bool opens_between(ThreadId thread, std::int64_t from_ns, std::int64_t to_ns);

 private:
  using Times = std::vector<std::int64_t>;  // ascending
  struct Work {
    Times any, opens;
  };
  using ByThread = std::map<std::uint16_t, Work>;
  ByThread work_of(std::uint32_t process) const;
  const Work& work_of(ThreadId thread);

  const model::Job& job_;
  std::map<std::uint32_t, ByThread> work_;  // by process
};

// Changes of files, as processes other than the one that waits make them.
class Changes {
 public:
  explicit Changes(const model::Job& job) : job_(job) {}

  // In the order of begin: an event, if it changes the content of its file.
  void note_content(const files::FileEvent& event);
  // Likewise, if it changes what is told of the name: opens it for writing, or gives it another file.
  void note_state(const files::FileEvent& event);

  // Of the folder, which an entry came to or went from.
  void note_entry(files::Name folder, const files::FileEvent& event);

  // That ended after the one and, as far as clocks tell, before the other.
  bool any_between(ThreadId waiting, files::Name name, std::int64_t from_ns, std::int64_t to_ns) const;
  // Of each thread the last one that had ended by then.
  std::vector<const files::FileEvent*> latest_before(ThreadId waiting, files::Name name,
                                                     std::int64_t ns) const;

 private:
  using ByThread = std::map<ThreadId, std::vector<const files::FileEvent*>>;  // by begin
  void note(files::Name name, const files::FileEvent& event);
  const files::FileEvent* latest(const std::vector<const files::FileEvent*>& changes,
                                 std::int64_t until_ns) const;

  const model::Job& job_;
  std::map<files::Name, ByThread> of_name_;
  std::set<std::pair<std::uint32_t, std::uint32_t>> wrote_;  // processes and their openings
};

}  // namespace ddpscope::ordering
