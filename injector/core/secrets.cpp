// By names and by how tokens begin: what looks like nothing is kept, since it tells one run from another.
#include "injector/core/secrets.h"

#include <string.h>
#include <strings.h>

#include <algorithm>
#include <iterator>

namespace ddpscope::injector {
namespace {

constexpr char kMasked[] = "***";

struct Part {
  const char* begin;
  std::size_t bytes;

  bool is(const char* word) const { return strlen(word) == bytes && ends_with(word); }
  bool ends_with(const char* word) const {
    std::size_t length = strlen(word);
    return bytes >= length && strncasecmp(begin + bytes - length, word, length) == 0;
  }
};

bool is_separator(char c) { return c == '_' || c == '-' || c == '.' || c == ':'; }

bool starts_with(const char* text, std::size_t bytes, const char* start) {
  return bytes > strlen(start) && memcmp(text, start, strlen(start)) == 0;
}

// Alone they are no words: numbers of sentences and of layers begin like that, too.
bool is_token(const char* value, std::size_t bytes) {
  constexpr const char* kStarts[] = {"eyJ",         "hf_",    "ghp_",  "gho_",    "ghs_",
                                     "github_pat_", "glpat-", "xoxb-", "xoxp-",   "sk-",
                                     "AKIA",        "ASIA",   "ya29.", "Bearer ", "Basic "};
  constexpr std::size_t kShortest = 16;
  return bytes >= kShortest && std::any_of(std::begin(kStarts), std::end(kStarts), [&](const char* start) {
           return starts_with(value, bytes, start);
         });
}

// Of scheme://user:password@host: where the password lies.
Part password_in(const char* text, std::size_t bytes) {
  const auto* scheme = static_cast<const char*>(memmem(text, bytes, "://", 3));
  if (!scheme) return {};
  const char *begin = scheme + 3, *end = text + bytes;
  const char* path = std::find_if(begin, end, [](char c) { return c == '/' || c == '?' || c == '#'; });
  const char* at = begin;
  for (const char* next = begin; (next = std::find(next, path, '@')) != path; ++next) at = next;
  const char* colon = std::find(begin, at, ':');
  return colon == at ? Part{} : Part{colon + 1, static_cast<std::size_t>(at - colon - 1)};
}

struct Output {
  char* bytes;
  std::size_t room, size = 0;

  void add(const char* text, std::size_t count) {
    count = std::min(count, room - size);
    memcpy(bytes + size, text, count);
    size += count;
  }
  void add_masked() { add(kMasked, strlen(kMasked)); }
};

void add_value(Output& out, const char* value, std::size_t bytes) {
  if (is_token(value, bytes)) return out.add_masked();
  Part password = password_in(value, bytes);
  if (!password.begin) return out.add(value, bytes);
  out.add(value, static_cast<std::size_t>(password.begin - value));
  out.add_masked();
  const char* rest = password.begin + password.bytes;
  out.add(rest, static_cast<std::size_t>(value + bytes - rest));
}

}  // namespace

bool is_secret_name(const char* name, std::size_t bytes) {
  constexpr const char* kSecrets[] = {"token",      "secret",      "password", "passwd", "passphrase",
                                      "credential", "credentials", "jwt",      "apikey", "authorization"};
  constexpr const char* kKinds[] = {"api",  "access",     "secret",  "private",
                                    "auth", "encryption", "account", "license"};
  const char* end = name + bytes;
  Part before{};
  for (const char* at = name; at < end;) {
    const char* next = std::find_if(at, end, is_separator);
    Part part{at, static_cast<std::size_t>(next - at)};
    for (const char* secret : kSecrets)
      if (part.ends_with(secret)) return true;
    for (const char* kind : kKinds)
      if (part.is("key") && before.bytes && before.is(kind)) return true;
    if (part.bytes) before = part;
    at = next + 1;
  }
  return false;
}

std::size_t mask_value(const char* value, std::size_t bytes, char* out, std::size_t room) {
  Output masked{out, room};
  add_value(masked, value, bytes);
  return masked.size;
}

std::size_t ArgumentMask::mask(const char* word, std::size_t bytes, char* out, std::size_t room) {
  Output masked{out, room};
  const char* end = word + bytes;
  const bool is_option = bytes > 1 && word[0] == '-';
  const bool is_secret = next_is_secret_ && !is_option;
  const char* equals = std::find(word, end, '=');
  const auto name_bytes = static_cast<std::size_t>(equals - word);
  const bool names_secret = is_secret_name(word, name_bytes);
  next_is_secret_ = is_option && equals == end && names_secret;
  if (is_secret) {
    masked.add_masked();
  } else if (equals != end && names_secret) {
    masked.add(word, name_bytes + 1);
    masked.add_masked();
  } else if (equals != end) {
    masked.add(word, name_bytes + 1);
    add_value(masked, equals + 1, static_cast<std::size_t>(end - equals - 1));
  } else {
    add_value(masked, word, bytes);
  }
  return masked.size;
}

}  // namespace ddpscope::injector
