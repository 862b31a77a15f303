// Bars that are too narrow become runs.
#include "viewer/view/folding.h"

#include <algorithm>

namespace ddpscope::viewer {

bool Folder::joins_last(const Bar& bar) const {
  if (bars_.size() == first_) return false;
  const Bar& last = bars_.back();
  bool narrow = bar.width() < kLeastBarPx && !bar.open;
  bool last_narrow = (last.folded || last.width() < kLeastBarPx) && !last.open;
  return narrow && last_narrow && bar.left - last.right < 1;
}

void Folder::add(Bar own) {
  if (own.open) own.right = std::max(own.right, own.left + kLeastOpenPx);
  if (!own.folded) own.covered = own.width();
  if (!joins_last(own)) {
    bars_.push_back(own);
    of_kind_ = own.covered;
    return;
  }
  Bar& last = bars_.back();
  last.right = std::max(last.right, own.right);
  last.count += own.count;
  last.severity = std::max(last.severity, own.severity);
  last.folded = true;
  last.covered += own.covered;
  if (own.kind == last.kind) {
    of_kind_ += own.covered;
  } else if (own.covered > of_kind_) {
    last.kind = own.kind;
    of_kind_ = own.covered;
  }
}

}  // namespace ddpscope::viewer
