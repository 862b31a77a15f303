// What must not lie in a trace: passwords, tokens and keys on command lines and in the environment.
#pragma once
#include <cstddef>

namespace ddpscope::injector {

// Whether a name, of a variable or an option, means a secret: one of its parts (HF_TOKEN, --db-password,
// PGPASSWORD) ends with a word for one, or two are a kind of key (api_key, ACCESS_KEY_ID, private-key).
bool is_secret_name(const char* name, std::size_t bytes);

// Text of at most `room` bytes with each secret replaced by "***"; what does not fit is left out. Returns its
// length. Replaced are, of a value, all of it if it begins like a token (a JSON web token, hf_, ghp_, sk-,
// AKIA,
// ...), and the password in an address (scheme://user:password@host).
std::size_t mask_value(const char* value, std::size_t bytes, char* out, std::size_t room);

// The words of a command line, one after the other.
class ArgumentMask {
 public:
  // Likewise of a word: also the value behind the = of an option, or of a variable, that is_secret_name(),
  // and the word that follows such an option.
  std::size_t mask(const char* word, std::size_t bytes, char* out, std::size_t room);

 private:
  bool next_is_secret_ = false;
};

}  // namespace ddpscope::injector
