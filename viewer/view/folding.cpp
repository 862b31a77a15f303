// Bars that are too narrow become runs.
#include "viewer/view/folding.h"

#include <algorithm>

namespace ddpscope::viewer {

bool Folder::joins_last(const Bar& bar) const {
  if (bars_.size() == first_) return false;
  const Bar& last = bars_.back();
  bool narrow = bar.right - bar.left < kLeastBarPx && !bar.open;
  bool last_narrow = (last.folded || last.right - last.left < kLeastBarPx) && !last.open;
  return narrow && last_narrow && bar.left - last.right < 1;
}

void Folder::add(const Bar& bar) {
  Bar own = bar;
  if (own.open) own.right = std::max(own.right, own.left + kLeastOpenPx);
  float covered = (own.right - own.left) * own.filled;
  if (!joins_last(own)) {
    bars_.push_back(own);
    of_kind_ = covered;
    return;
  }
  Bar& last = bars_.back();
  float before = (last.right - last.left) * last.filled;
  last.right = std::max(last.right, own.right);
  last.count += own.count;
  last.severity = std::max(last.severity, own.severity);
  last.folded = true;
  float width = last.right - last.left;
  last.filled = width > 0 ? std::min(1.0f, (before + covered) / width) : 1;
  if (own.kind == last.kind) {
    of_kind_ += covered;
  } else if (covered > of_kind_) {
    last.kind = own.kind;
    of_kind_ = covered;
  }
}

}  // namespace ddpscope::viewer
