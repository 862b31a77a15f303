// What several runs that record into one folder, one a rank or one a host, agree on.
#pragma once
#include <filesystem>
#include <string>

namespace ddpscope::commands {

// By record locks on the file .lock in the folder, which NFS knows as well: who is the last to end sums up
// and removes it, and one at a time looks for hangs. Where there are no such locks every run takes itself for
// the only one.
class FolderUse {
 public:
  explicit FolderUse(const std::filesystem::path& folder);
  ~FolderUse();
  FolderUse(const FolderUse&) = delete;
  FolderUse& operator=(const FolderUse&) = delete;

  static bool is_in_use(const std::filesystem::path& folder);  // some run records there now

  bool was_first() const { return first_; }  // nobody recorded there when we came
  bool leave();                              // true: nobody else records there any more

  // Whether it is this run that looks for hangs: once it is, until it leaves. Any thread.
  bool takes_watch() const;
  bool is_looked_at() const;  // there is a FolderLook. Any thread.
  // What the one that looks leaves to the next one; empty at first.
  std::string read_note() const;
  void write_note(const std::string& note) const;

 private:
  void give_up();

  std::filesystem::path path_;
  int fd_ = -1;
  bool first_ = true;
};

// Who looks at a job, maybe from another host: as long as it asks, runs on shared storage write back what
// they have recorded (WriteBack).
class FolderLook {
 public:
  explicit FolderLook(const std::filesystem::path& folder);
  ~FolderLook() { stop(); }
  FolderLook(const FolderLook&) = delete;
  FolderLook& operator=(const FolderLook&) = delete;

  void ask();   // again where nobody recorded yet, or others do now; without a run, or its lock, nothing
  void stop();  // asking

 private:
  std::filesystem::path path_;
  int fd_ = -1;
};

}  // namespace ddpscope::commands
