// The requests of PyTorch's TCPStore, as a small language.
#include "injector/streams/store_requests.h"

#include <cstring>

namespace ddpscope::injector {
namespace {

using enum StoreOperation;

// What follows the byte of an operation. K: a key. V: a value. N: how often the rest is repeated. #: a
// number; with 0 an add is a get. 4: four bytes. !: here it is known what is asked of the key.
struct Request {
  StoreOperation operation;
  const char* parts;
};

constexpr Request kUntil2_1[] = {
    {kSet, "K!V"},  {kCompareSet, "K!VV"}, {kGet, "K!"},   {kAdd, "K#!"},   {kCheck, "NK!"},
    {kWait, "NK!"}, {kCountKeys, "!"},     {kWatch, "K!"}, {kRemove, "K!"}, {kAppend, "K!V"},
    {kGet, "NK!"},  {kSet, "NK!V"},        {kUnknown, ""},  // a wait is given up
};
constexpr Request kSince2_1[] = {
    {kUnknown, "4"},  // the magic number
    {kSet, "K!V"},    {kCompareSet, "K!VV"}, {kGet, "K!"},      {kAdd, "K#!"},
    {kCheck, "NK!"},  {kWait, "NK!"},        {kCountKeys, "!"}, {kRemove, "K!"},
    {kAppend, "K!V"}, {kGet, "NK!"},         {kSet, "NK!V"},    {kUnknown, ""},  // a wait is given up
    {kUnknown, "4"},  // the server is to show that it lives
    {kPush, "K!V"},   {kPop, "K!"},          {kLength, "K!"},
};

constexpr unsigned char kMagic[] = {0, 0xCE, 0xF7, 0x85, 0x3C};  // sent in one piece
constexpr std::uint64_t kLongestKey = 8192;                      // as the server has it
constexpr std::uint64_t kMostKeys = 128 * 1024;

bool is_text(const unsigned char* data, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; ++i)
    if (data[i] < 0x20 || data[i] > 0x7E) return false;
  return bytes > 0;
}

}  // namespace

void StoreRequests::begin() {
  *this = {};
  state_ = State::kFresh;
}

bool StoreRequests::lose(Event& event) {
  bool known = state_ == State::kKnown;
  *this = {};
  event = {nullptr, 0, kUnknown, false};
  return known;
}

// As long as nothing but its likeness says that this is a store, a request must name a key.
bool StoreRequests::choose(unsigned char number) {
  constexpr std::size_t kUntil = sizeof(kUntil2_1) / sizeof(Request);
  constexpr std::size_t kSince = sizeof(kSince2_1) / sizeof(Request);
  if (number >= (since_2_1_ ? kSince : kUntil)) return false;
  const Request& request = since_2_1_ ? kSince2_1[number] : kUntil2_1[number];
  if (state_ != State::kKnown && request.parts[0] != 'K' && request.parts[0] != 'N') return false;
  operation_ = request.operation;
  part_ = request.parts;
  again_ = part_;
  keys_ = 1;
  with_key_ = false;
  return true;
}

void StoreRequests::next_repetition() {
  part_ = keys_ > 1 ? again_ : nullptr;
  --keys_;
}

// True: all eight bytes are there.
bool StoreRequests::take_number(const unsigned char*& data, std::size_t& bytes) {
  for (; bytes && digits_ < 8; ++data, --bytes) number_ |= std::uint64_t{*data} << 8 * digits_++;
  return digits_ == 8;
}

bool StoreRequests::use_number() {
  std::uint64_t number = number_;
  number_ = digits_ = 0;
  switch (*part_) {
    case 'N':
      keys_ = number;
      part_ = number ? part_ + 1 : nullptr;
      again_ = part_;
      return number <= kMostKeys && (number || state_ == State::kKnown);
    case '#':
      if (!number) operation_ = kGet;
      ++part_;
      return true;
    default:
      left_ = number;
      counted_ = true;
      return *part_ != 'K' || (number <= kLongestKey && (number || state_ == State::kKnown));
  }
}

// A key whose bytes come in several sends has no name here.
bool StoreRequests::take_part(const unsigned char*& data, std::size_t& bytes, Event& event) {
  std::size_t taken = left_ < bytes ? static_cast<std::size_t>(left_) : bytes;
  bool whole_key = *part_ == 'K' && !in_pieces_ && taken == left_ && taken;
  event = {reinterpret_cast<const char*>(data), taken, operation_, true};
  data += taken;
  bytes -= taken;
  left_ -= taken;
  in_pieces_ = left_ && (in_pieces_ || taken);
  if (left_) return false;
  if (*part_ == 'K') with_key_ = whole_key;
  counted_ = false;
  ++part_;
  return whole_key;
}

bool StoreRequests::read(const unsigned char*& data, std::size_t& bytes, Event& event) {
  if (state_ == State::kFresh && bytes) {
    since_2_1_ = bytes >= sizeof(kMagic) && std::memcmp(data, kMagic, sizeof(kMagic)) == 0;
    state_ = since_2_1_ ? State::kKnown : State::kLikely;
  }
  while (state_ != State::kNoStore) {
    if (!part_) {
      if (!bytes) return false;
      if (!choose(*data)) return lose(event);
      ++data;
      --bytes;
    } else if (!*part_) {
      next_repetition();
      if (!part_) return false;
    } else if (*part_ == '!') {
      ++part_;
      event = {nullptr, 0, operation_, with_key_};
      if (state_ == State::kKnown) return true;
    } else if (*part_ == '4' && !counted_) {
      left_ = 4;
      counted_ = true;
    } else if (!counted_) {
      if (!take_number(data, bytes)) return false;
      if (!use_number()) return lose(event);
      if (!part_) return false;
    } else if (take_part(data, bytes, event)) {
      if (state_ != State::kKnown && !is_text(data - event.bytes, event.bytes)) return lose(event);
      state_ = State::kKnown;
      return true;
    } else if (counted_) {
      return false;
    }
  }
  return false;
}

}  // namespace ddpscope::injector
