// One walk for all versions: what differs is in the layout.
#include "injector/python/frames.h"

#include "injector/core/safe_read.h"
#include "injector/python/interpreter.h"

namespace ddpscope::injector::python {
namespace {

// Inlined: with a layout that the compiler knows a frame costs half as much.
inline __attribute__((always_inline)) std::uint64_t instruction_of(const Layout& in, Address frame) {
  if (in.instruction_unit > 0) return static_cast<std::uint64_t>(at<int>(frame, in.frame_instruction));
  return at<std::uint64_t>(frame, in.frame_instruction);
}

inline __attribute__((always_inline)) bool is_entry(const Layout& in, Address frame) {
  return in.frame_owner >= 0 && at<char>(frame, in.frame_owner) >= frame::kOwnedByInterpreter;
}

inline __attribute__((always_inline)) Address code_of(const Layout& in, Address frame) {
  return at<Address>(frame, in.frame_code) & ~static_cast<Address>(in.code_marks);
}

bool is_code_somewhere(Address object) {
  Address type = 0;
  return read_safely(object + object::kType, &type, sizeof(type)) && type == code_type();
}

// What is looked at of a frame ends with its owner, or with its instruction if it has none.
std::size_t frame_bytes(const Layout& in) {
  return in.frame_owner >= 0 ? in.frame_owner + sizeof(char) : in.frame_instruction + sizeof(int);
}

// Line and names tell new code from old code whose memory it got; a name too may have got another's memory.
inline __attribute__((always_inline)) std::uint64_t mix(const Layout& in, std::uint64_t hash,
                                                        const Place& place) {
  std::uint64_t word = place.instruction;
  if (in.instruction_unit > 0) word = place.code + word * 0xD6E8FEB86659FD93u;
  Address file_name = at<Address>(place.code, in.code_file_name);
  word ^= (at<Address>(place.code, in.code_name) + (file_name << 8)) << 16;
  word ^= static_cast<std::uint64_t>(at<std::uint32_t>(place.code, in.code_first_line)) << 40;
  word += at<std::uint64_t>(file_name, string::kLength) << 32;
  hash = (hash ^ word) * 0x9E3779B97F4A7C15u;
  return hash ^ hash >> 32;
}

template <int kColumn>
void walk_own(Address frame, Walk* walk) {
  constexpr Layout in = kLayouts[kColumn];
  const Address type = code_type();
  Place* place = walk->places;
  std::uint64_t hash = walk->hash;
  for (; frame && place != walk->places + Walk::kMaxFrames; frame = at<Address>(frame, in.frame_previous)) {
    if (is_entry(in, frame)) continue;
    Address code = code_of(in, frame);
    if (at<Address>(code, object::kType) != type) break;
    *place = {code, instruction_of(in, frame)};
    hash = mix(in, hash, *place++);
  }
  walk->count = static_cast<int>(place - walk->places);
  walk->hash = hash;
}

constexpr void (*kWalkOwn[])(Address, Walk*) = {walk_own<0>, walk_own<1>, walk_own<2>, walk_own<3>,
                                                walk_own<4>, walk_own<5>, walk_own<6>, walk_own<7>};
static_assert(sizeof(kWalkOwn) / sizeof(kWalkOwn[0]) == kLayoutCount);

}  // namespace

int offset_of(const Place& place) {
  if (layout->instruction_unit > 0) return static_cast<int>(place.instruction) * layout->instruction_unit;
  return static_cast<int>(place.instruction - place.code - layout->code_instructions);
}

Address own_innermost(Address state) {
  Address frame = at<Address>(state, layout->thread_frame);
  return layout->c_frame_frame >= 0 ? at<Address>(frame, layout->c_frame_frame) : frame;
}

void walk_own_frames(Address frame, Walk* walk) { kWalkOwn[layout - kLayouts](frame, walk); }

void walk_other_frames(Address frame, Walk* walk) {
  constexpr std::size_t kMaxBytes = 128;
  const Layout& in = *layout;
  unsigned char copy[kMaxBytes];
  std::size_t bytes = frame_bytes(in);
  while (frame && walk->count < Walk::kMaxFrames && read_safely(frame, copy, bytes)) {
    auto here = reinterpret_cast<Address>(copy);
    if (!is_entry(in, here)) {
      Address code = code_of(in, here);
      if (!is_code_somewhere(code)) return;
      Place& place = walk->places[walk->count++];
      place = {code, instruction_of(in, here)};
      walk->hash = mix(in, walk->hash, place);
    }
    frame = at<Address>(here, in.frame_previous);
  }
}

Standing standing_of(Address state) {
  Standing standing;
  if (!read_innermost(state, &standing.frame) || !standing.frame) return {};
  Address place = standing.frame + layout->frame_instruction;
  return read_safely(place, &standing.instruction, sizeof(standing.instruction)) ? standing : Standing{};
}

}  // namespace ddpscope::injector::python
