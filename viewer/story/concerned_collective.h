// Which collective a call of the evidence is about.
#pragma once
#include "collector/merged/reader.h"

namespace ddpscope::viewer {

// Of those that a graph's launch runs the first in which ranks differ, else the first. Communicator kNone:
// the event belongs to none. Reads: may wait for the disk.
merged::CollectiveRef collective_of(const merged::Reader& reader, merged::EventPlace place);

}  // namespace ddpscope::viewer
