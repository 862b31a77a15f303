// The schema that every file carries, made from the tables.
#include "trace/schema.h"

namespace ddpscope::trace {

#define F(type, field, format) #field ":" #type ":" #format " "
extern const char kSchemaText[] =
#define DDPSCOPE_PAYLOAD(name, sentence, ...) "payload " #name " " __VA_ARGS__ "\n"
#include "trace/payloads.def"
#undef DDPSCOPE_PAYLOAD
#define DDPSCOPE_CALL(number, symbol, operation, payload, budget, since, sentence) \
  "call " #number " " #symbol " " #payload " " #budget "\n"
#include "trace/calls.def"
#undef DDPSCOPE_CALL
    ;
#undef F
extern const std::size_t kSchemaBytes = sizeof(kSchemaText) - 1;

}  // namespace ddpscope::trace
