// Whether something orders two ranks' writing of a file, and whether both belong to the same save.
#pragma once
#include <map>
#include <vector>

#include "collector/detectors/detector.h"
#include "collector/files/written_files.h"

namespace ddpscope::detectors {

enum class WriteOrder : std::uint8_t {
  kOrdered,    // between the two the ranks met in a collective that the second one's host waited for
  kMaybe,      // a message came to the second one's rank over TCP in between: from whom is not followed
  kUnordered,  // nothing did, or the two overlap in time
};

class WriteOrders {
 public:
  explicit WriteOrders(const Facts& facts);

  // `first` begins no later than `second`; they are of different ranks.
  WriteOrder between(const files::WrittenFile& first, const files::WrittenFile& second) const;

  // Each had opened its file before the other began its last write. If both had the same inode then it was
  // the same file, whatever the names: an inode that nobody holds open any more is given to the next new
  // file.
  bool held_together(const files::WrittenFile& first, const files::WrittenFile& second) const;

  // Gradients were reduced in between: the second writes what has been trained since, not the same again.
  bool trained_between(std::int64_t end_ns, const files::WrittenFile& second) const;

 private:
  struct Span {
    std::int64_t begin_ns, end_ns;
  };
  bool met_between(const files::WrittenFile& first, const files::WrittenFile& second) const;
  const std::vector<Span>& messages_to(std::int32_t rank) const;

  const Facts& facts_;
  std::map<std::int32_t, std::vector<std::int64_t>> reductions_ns_;
  mutable std::map<std::int32_t, std::vector<Span>> messages_;  // read when first asked for
};

}  // namespace ddpscope::detectors
