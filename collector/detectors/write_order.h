// Whether something orders two ranks' writing of a file, and whether both belong to the same save.
#pragma once
#include "collector/detectors/detector.h"
#include "collector/files/written_files.h"

namespace ddpscope::detectors {

enum class WriteOrder : std::uint8_t {
  kOrdered,    // in every run
  kReplaced,   // nothing did, but each replaces the whole file by the same content under a name of its own
  kMaybe,      // only if every mutex orders, or by something that recording does not show
  kUnordered,  // nothing did, or the two overlap in time
};

class WriteOrders {
 public:
  explicit WriteOrders(const Facts& facts) : facts_(facts) {}

  // `first` begins no later than `second`; they are of different ranks.
  WriteOrder between(const files::WrittenFile& first, const files::WrittenFile& second) const;

  // Each had opened its file before the other began its last write. If both had the same inode then it was
  // the same file, whatever the names: an inode that nobody holds open any more is given to the next new
  // file.
  bool held_together(const files::WrittenFile& first, const files::WrittenFile& second) const;

  // Both ranks reduced gradients in between: the second writes what has been trained since, not the same
  // again. What it still does for the reduction before, while the first has saved already, is none.
  bool trained_between(const files::WrittenFile& first, const files::WrittenFile& second) const;

  // The rank's group reduces gradients, and this had been written before it did so for the first time.
  bool before_training(const files::WrittenFile& file) const;

  // What is asked about: all of a writing, by the thread that ended it; its opening.
  static ordering::Span writing(const files::WrittenFile& file);
  static ordering::Span opening(const files::WrittenFile& file);

 private:
  const Facts& facts_;
};

}  // namespace ddpscope::detectors
