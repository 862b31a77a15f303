// Which collective a call of the evidence is about.
#pragma once
#include <string>
#include <vector>

#include "collector/merged/reader.h"

namespace ddpscope::viewer {

// Of those that a graph's launch runs the first in which ranks differ, else the first. Communicator kNone:
// the event belongs to none. Reads: may wait for the disk.
merged::CollectiveRef collective_of(const merged::Reader& reader, merged::EventPlace place);

// When the device of the rank that issued it comes to it; merged::kUnknown if the event belongs to none. May
// wait, too.
std::int64_t device_begin(const merged::Reader& reader, merged::EventPlace place);

// When that collective is over for one rank (of the job); merged::kUnknown if it never is, or that rank has
// no part in it. May wait, too.
std::int64_t device_end(const merged::Reader& reader, std::uint32_t communicator, std::uint64_t sequence,
                        std::int32_t rank);

// What the one at fault did instead, or why it never came, `own` being its collective; empty where that
// evidence tells something else.
std::vector<std::string> odd_text(const findings::Finding& finding, std::size_t evidence,
                                  const merged::CollectiveRef& own);

}  // namespace ddpscope::viewer
