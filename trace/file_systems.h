// File systems that several hosts may see, by their types in /proc/self/mountinfo.
#pragma once
#include <string_view>

namespace ddpscope::trace {

// The type alone does not say it of FUSE, 9p and virtiofs, by which a host's own files are shown as well:
// there the source does.
constexpr bool is_network_file_system(std::string_view type) {
  if (type == "fuseblk") return false;  // a disk
  for (std::string_view known :
       {"nfs", "lustre", "gpfs", "mmfs", "beegfs", "ceph", "cifs", "smb3", "9p", "fuse", "afs", "wekafs",
        "virtiofs", "ocfs2", "gfs2", "orangefs", "pvfs2", "panfs"})
    if (type.substr(0, known.size()) == known) return true;
  return false;
}

constexpr bool is_fuse(std::string_view type) { return type == "fuse" || type.substr(0, 5) == "fuse."; }

// Whether hosts that name this source of this type mean the same files. One without a name and a colon (a
// tag, a folder of this host, what all mounts of a program are called) may be another one on each.
constexpr bool is_shared(std::string_view type, std::string_view source) {
  if (!is_network_file_system(type)) return false;
  bool any = is_fuse(type) || type == "9p" || type == "virtiofs";
  return !any || (source.substr(0, 1) != "/" && source.find(':') != source.npos);
}

}  // namespace ddpscope::trace
